"""The memory plan of Sparse Random Features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from thresher.core.memory import PlanReport, parse_size, show_size
from thresher.errors import SettingsError
from thresher.run import RunOptions
from thresher.sources.base import Source
from thresher.sparse_rf.feature_columns import BYTES_PER_FEATURE
from thresher.sparse_rf.settings import SparseRFSettings
from thresher.working_set.memory_plan import WorkingSetPlan, rows_in_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseRFPlan(WorkingSetPlan):
    """Divides the memory among rows, columns, their products and buffers.

    Targets, margins, slopes and some slack come first. Of the rest, an eighth is for computing features, a quarter for
    the products of kept features, and five eighths for rows and columns. Rows that need more than half of those five
    eighths are read again whenever they are needed. Columns that do not fit are recomputed.

    Attributes
    ----------
    draws : int
        Features drawn per iteration.
    chooses : bool
        Whether ``lam="auto"``: all outputs are then fitted together.
    """

    draws: int
    chooses: bool = False

    @classmethod
    def of(cls, settings: SparseRFSettings, memory: str | int | None, outputs: int = 1) -> Self:
        """The plan for this number of outputs; 1 gives a lower bound while it is unknown."""
        allowed = 0 if memory is None else parse_size(memory)
        chooses, block = settings.auto_lam, cls.block_of(allowed)
        return cls(memory=allowed, outputs=outputs, block=block, draws=settings.drawn, chooses=chooses)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row besides its inputs: weights, and per output the targets, margins, slopes and shares.

        The l2 fits hold another target, weight, margin, slope and share of each output; one of them fits in the slack.
        """
        return 24 + 88 * self.outputs + (40 * (self.outputs - 1) if self.chooses else 0)

    def free(self, rows: int) -> int:
        """Bytes that this many rows leave."""
        return max(0, self.available - rows * self.row_bytes)

    def making(self, rows: int) -> int:
        """Bytes for computing features."""
        return self.free(rows) // 8

    def products(self, rows: int) -> int:
        """Bytes for the products of kept features with each other."""
        return self.free(rows) // 4

    def most_refitted(self, rows: int) -> int:
        """The most features of an l2 fit.

        It holds their products in up to four copies, and eight numbers of each feature and output. The l1 problems
        hold theirs at the same time, so it may take a third of that share.
        """
        room = self.products(rows)
        return min(math.isqrt(room // (8 * 18)), room // (8 * 72 * self.outputs))

    def inputs(self, rows: int) -> int:
        """Bytes for the rows; larger data is read again whenever it is needed."""
        return self.free(rows) * 5 // 16

    def columns(self, rows: int, inputs: int) -> int:
        """Bytes for columns, besides ``inputs`` bytes of rows."""
        return max(0, self.free(rows) * 5 // 8 - inputs)

    @property
    def worker_rows(self) -> int:
        """Bytes for the rows of a worker; more of them are read again whenever they are needed."""
        return self.available // 2

    @property
    def worker_making(self) -> int:
        """Bytes for computing features in a worker, besides its rows and what it sends."""
        return self.available // 8

    def check(self, rows: int) -> None:
        """Raise if this many rows leave too little memory for computing the features of an iteration."""
        making = 8 * BYTES_PER_FEATURE * self.draws  # the share of `making` is an eighth
        if self.memory and 8 * self.making(rows) < making:
            needed = (rows * self.row_bytes + self.buffers + making) * 16 // 15
            raise SettingsError(
                f"{rows} rows need {show_size(rows * self.row_bytes)}, reading {show_size(self.buffers)} and computing "
                f"{self.draws} features {show_size(making)}; set `memory` to about {show_size(needed + needed // 8)}, "
                "or draw fewer features per iteration (`draws`)"
            )

    def check_kept(self, rows: int, kept: int, products: int) -> None:
        """Raise if the kept features exceed their share of the memory."""
        if not self.memory:
            return
        making = BYTES_PER_FEATURE * (kept + self.draws)
        if products > self.products(rows) or making > self.making(rows):
            raise SettingsError(
                f"the {kept} features kept so far need {show_size(products)} for their products and "
                f"{show_size(making)} to be computed, but `memory={show_size(self.memory)}` leaves "
                f"{show_size(self.products(rows))} and {show_size(self.making(rows))}; increase `memory`, or keep "
                "fewer features with a larger `lam` or a smaller `k`"
            )


def plan_of_fit(settings: SparseRFSettings, options: RunOptions, source: Source) -> PlanReport:
    """The plan of a fit over a source, for people to read."""
    plan = SparseRFPlan.of(settings, options.memory)
    rows, counted = rows_in_plan(source)
    parts = [
        ("rows", rows * plan.row_bytes, f"weights, targets, margins and slopes {counted}"),
        ("buffers", plan.buffers, f"blocks of {show_size(plan.block)} and their batches"),
    ]
    if not plan.memory:
        held = "4 bytes for each row and random feature, since there is no memory limit; the rows come on top"
        return PlanReport(plan.limits, parts, [("columns", held)])
    plan.check(rows)
    parts += [
        ("slack", plan.slack, "overhead of the allocator"),
        ("making", plan.making(rows), f"at most, for computing random features, {plan.draws} at a time"),
        ("products", plan.products(rows), "at most, products of the features kept"),
        ("inputs", plan.inputs(rows), "at most; rows that do not fit are read again"),
        ("columns", plan.columns(rows, plan.inputs(rows)), "at least; columns that do not fit are recomputed"),
        ("total", plan.memory, "allowed"),
    ]
    return PlanReport(plan.limits, parts, [])
