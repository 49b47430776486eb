"""One split: candidates from one half of the rows, and their mirror statistics from both."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch
from thresher.core.labels import known_targets, listed
from thresher.errors import DataError, SettingsError
from thresher.refit import ColumnReader, Columns
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.transforms import holdout
from thresher.trust.counted_units import Units
from thresher.trust.memory_plan import Room
from thresher.trust.mirror import mirror_statistics
from thresher.trust.wald import fit_half, whitened

Floats = NDArray[np.float64]

#: A half has at least this many rows for each candidate.
ROWS_PER_CANDIDATE = 10
#: The distance of the seeds of two splits.
_SEEDS_APART = 1_000_003


class Halves(NamedTuple):
    """The rows that candidates come from, and the others."""

    first: Source
    second: Source

    @classmethod
    def of(cls, source: Source, seed: int, number: int) -> Halves:
        """The halves of a split, by a salted hash of each row: copies of a row are in one half."""
        second, first = holdout.hold_out(source, 0.5, seed=seed + number * _SEEDS_APART, split=holdout.Split.HALVES)
        return cls(first, second)


class Split(NamedTuple):
    """The result of a split.

    Attributes
    ----------
    candidates : Selection
        The features that the method found in the first half.
    units : array of shape (units,)
        The units of the candidates, in order (`Units`).
    mirror : array of shape (units,)
        Their mirror statistics.
    rows, seen : tuple of two int
        The rows of each half that were fitted, and all rows of the half.
    ridged : int
        The candidates that have a ridge in one of the fits.
    taken : int
        The bytes of the larger fit.
    """

    candidates: Selection
    units: NDArray[np.uint64]
    mirror: Floats
    rows: tuple[int, int] = (0, 0)
    seen: tuple[int, int] = (0, 0)
    ridged: int = 0
    taken: int = 0


def columns_of(selection: Selection, source: Source, room: Room) -> tuple[Columns, int]:
    """The columns of the selected features, of all rows or of a sample that fits; and the number of all rows."""
    reader = ColumnReader(selection.keys, len(selection.intercept), room.columns)
    rows, seen = selection.adapt(source), 0
    for batch, cursor in rows.batches(keys=selection.keys):
        if len(batch):
            seen += len(batch)
            reader.add(batch, _targets(selection, batch, partial(rows.where, cursor, batch)))
    return reader.read(), seen


def _targets(selection: Selection, batch: Batch, where: Callable[[int], str]) -> Floats:
    try:
        return known_targets(batch, selection.classes, selection.loss, where, multilabel=selection.multilabel)
    except DataError as error:
        if selection.classes is None:
            raise
        raise DataError(
            f"{str(error).rstrip('.')}, in one half of the rows. `fdr` needs rows of every class in both halves: leave "
            "out rare classes, or set another `random_state`."
        ) from None


def outputs_of(selection: Selection, rows: Columns) -> Floats:
    """The targets of each output, (rows, outputs): 0 and 1 for classes."""
    if selection.classes is None:
        return rows.y[:, None]
    if selection.loss.task == "classes":
        return np.asarray(rows.y[:, None] == np.arange(len(selection.classes)), np.float64)
    return (rows.y.reshape(rows.rows, -1) > 0).astype(np.float64)


def mirror_of(
    candidates: Selection, halves: tuple[Source, Source], room: Room, units: Units
) -> tuple[Split, tuple[Columns, Columns] | None]:
    """Fit the candidates on both halves; also the columns of both, if they fit into the room together."""
    ids, unit_of = np.unique(units.of(candidates.keys), return_inverse=True)
    if not len(candidates):
        return Split(candidates, ids, np.empty(0)), None
    room.check(len(candidates))
    members = np.split(np.argsort(unit_of, kind="stable"), np.cumsum(np.bincount(unit_of))[:-1])
    kept: list[Columns] = []
    fits, sizes, seen, taken = [], [], [], 0
    for half in halves:
        rows, every = columns_of(candidates, half, room)
        _check_rows(len(candidates), rows.rows, every)
        targets = outputs_of(candidates, rows)
        _check_classes(candidates, targets, half)
        linear = candidates.classes is None
        fits.append(fit_half(rows, targets, linear=linear, groups=members if units.grouped else None))
        sizes.append(rows.rows)
        seen.append(every)
        taken = max(taken, room.taken(rows, len(candidates.intercept)))
        if rows.rows == every and room.holds(rows, len(candidates.intercept)):
            kept.append(rows)
        del rows, targets
    mirror = mirror_statistics(*whitened(*fits), unit_of)
    ridged = int((fits[0].ridged | fits[1].ridged).sum())
    found = Split(candidates, ids, mirror, (sizes[0], sizes[1]), (seen[0], seen[1]), ridged, taken)
    return found, (kept[0], kept[1]) if len(kept) == 2 else None


def _check_rows(candidates: int, rows: int, every: int) -> None:
    most = rows // ROWS_PER_CANDIDATE
    if candidates <= most:
        return
    of = f"{rows} rows" + (f" of {every} fit into the memory" if rows < every else "")
    advice = f"pass `k={most}`" if most else "use more data"
    raise SettingsError(
        f"`fdr` needs {ROWS_PER_CANDIDATE} rows of a half for each candidate; there are {candidates} candidates and "
        f"{of}: {advice}{', or more `memory`' if rows < every else ''}"
    )


def _check_classes(candidates: Selection, targets: Floats, half: Source) -> None:
    if candidates.classes is None:
        return
    constant = np.flatnonzero(np.ptp(targets, axis=0) == 0)
    if not len(constant):
        return
    label = constant[0] if targets.shape[1] > 1 else int(targets[0, 0] == 0)
    raise DataError(
        f"{half.describe()}: a half of the rows has none, or nothing but rows, of the class "
        f"{listed([candidates.classes[label]])}. `fdr` needs rows of every class in both halves: leave out rare "
        "classes, or set another `random_state`."
    )
