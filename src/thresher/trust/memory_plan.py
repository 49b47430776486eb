"""The memory that the fits of the candidates may use, once the method has found them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from thresher.core.memory import DEFAULT_MEMORY, PlanReport, parse_size, show_size
from thresher.errors import SettingsError
from thresher.methods import MethodSpec
from thresher.refit import Columns, column_bytes
from thresher.run import RunOptions
from thresher.trust.settings import ErrorControl
from thresher.trust.wald import MATRICES


def matrix_bytes(candidates: int) -> int:
    """The bytes of the matrices of candidates and an intercept."""
    return 8 * MATRICES * (candidates + 1) ** 2


class Room(NamedTuple):
    """The room of the fits of the candidates.

    Attributes
    ----------
    allowed : int or None
        Bytes; None: no limit. Half of them is for the columns of the candidates, a third for their k x k matrices.
    """

    allowed: int | None

    @classmethod
    def of(cls, spec: MethodSpec, options: RunOptions) -> Room:
        """The room of a fit: the memory of the method, which has ended by then."""
        memory = DEFAULT_MEMORY if options.memory is None and spec.online else options.memory
        return cls(None if memory is None else parse_size(memory))

    @property
    def columns(self) -> int:
        """Bytes of the columns of a half: of more rows than fit, a sample is read."""
        return 1 << 62 if self.allowed is None else self.allowed // 2

    @property
    def both(self) -> Room:
        """The room of each half, if the columns of both are there at once, as in the final fit."""
        return Room(None if self.allowed is None else self.allowed // 2)

    def holds(self, half: Columns, outputs: int) -> bool:
        """Whether the columns of a half may stay for the final fit."""
        return column_bytes(len(half.columns), half.rows, outputs) <= self.both.columns

    @staticmethod
    def taken(half: Columns, outputs: int) -> int:
        """The bytes of the fit of a half."""
        return column_bytes(len(half.columns), half.rows, outputs) + matrix_bytes(half.width)

    def check(self, candidates: int) -> None:
        """Raise if the matrices of the candidates do not fit."""
        if self.allowed is None:
            return
        most = int(np.sqrt(self.allowed / 3 / (8 * MATRICES))) - 1
        if candidates > most:
            raise SettingsError(
                f"`fdr` fits all {candidates} candidates at once, which takes more than the memory: pass `k={most}`, "
                "or more `memory`"
            )


def with_tests(
    report: PlanReport, control: ErrorControl | None, spec: MethodSpec, settings: Any, options: RunOptions
) -> PlanReport:
    """The plan of a fit with what its error control needs; raises if the candidates are too many for the memory."""
    if control is None:
        return report
    room = Room.of(spec, options)
    room.check(settings.k)
    matrices = show_size(matrix_bytes(settings.k))
    columns = "what they take" if room.allowed is None else f"up to {show_size(room.columns)}"
    note = (
        f"after each of {control.splits} fits of a half of the rows, its memory holds the columns of the candidates "
        f"({columns}; of more rows than fit, a sample) and, for {settings.k} features, {matrices} of matrices"
    )
    return report._replace(notes=[*report.notes, ("fdr", note)])
