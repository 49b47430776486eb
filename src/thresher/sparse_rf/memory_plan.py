"""Where the memory of Sparse Random Features goes, settled once the rows are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from thresher.core.memory import PlanReport, parse_size, show_size
from thresher.errors import SettingsError
from thresher.run import RunOptions
from thresher.sources.base import Source
from thresher.sparse_rf.feature_columns import STRIPE
from thresher.sparse_rf.settings import SparseRFSettings
from thresher.working_set.memory_plan import WorkingSetPlan, rows_in_plan

#: What one function at a time takes to be made: a stripe of it, twice.
_MADE = 8 * STRIPE


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseRFPlan(WorkingSetPlan):
    """Bytes by what they are for.

    What targets, margins, slopes and a little slack leave is divided: an eighth for making functions, a quarter for
    the products of those kept, and the rest for the rows and for columns. Rows that take more than half of the rest are
    read again whenever they are needed; columns that do not fit are made again.

    Attributes
    ----------
    draws : int
        Functions drawn at a time.
    """

    draws: int

    @classmethod
    def of(cls, settings: SparseRFSettings, memory: str | int | None, outputs: int = 1) -> Self:
        """Plan for a number of outputs, at least one."""
        allowed = 0 if memory is None else parse_size(memory)
        return cls(memory=allowed, outputs=outputs, block=cls.block_of(allowed), draws=settings.draws)

    @property
    def row_bytes(self) -> int:
        """What a row takes besides its inputs: weights, and for each output its targets, margins, slopes, shares."""
        return 24 + 88 * self.outputs

    def free(self, rows: int) -> int:
        """What so many rows leave."""
        return max(0, self.left - rows * self.row_bytes)

    def making(self, rows: int) -> int:
        """For making functions."""
        return self.free(rows) // 8

    def products(self, rows: int) -> int:
        """For the products of the functions kept, with each other."""
        return self.free(rows) // 4

    def inputs(self, rows: int) -> int:
        """For the rows: more than that, and they are read again."""
        return self.free(rows) * 5 // 16

    def columns(self, rows: int, inputs: int) -> int:
        """For columns, beside rows that take so much."""
        return max(0, self.free(rows) * 5 // 8 - inputs)

    def check(self, rows: int) -> None:
        """Raise where so many rows leave less than the functions of a round take to be made."""
        if self.memory and self.making(rows) < _MADE * self.draws:
            needed = (rows * self.row_bytes + self.buffers + 8 * _MADE * self.draws) * 16 // 15
            raise SettingsError(
                f"{rows} rows take {show_size(rows * self.row_bytes)}, reading {show_size(self.buffers)} and "
                f"{self.draws} functions at a time {show_size(8 * _MADE * self.draws)}: give about "
                f"{show_size(needed + needed // 8)} of memory, or draw fewer at a time (draws)"
            )

    def check_kept(self, rows: int, kept: int, products: int) -> None:
        """Raise where the functions kept so far take more than they may."""
        if not self.memory:
            return
        making = _MADE * (kept + self.draws)
        if products > self.products(rows) or making > self.making(rows):
            raise SettingsError(
                f"the {kept} functions kept so far take {show_size(products)} for their products and "
                f"{show_size(making)} to be made, and {show_size(self.products(rows))} and "
                f"{show_size(self.making(rows))} of the memory = {show_size(self.memory)} are for that: give more, or "
                "keep fewer (a larger lam, or k)"
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
        ("making", plan.making(rows), f"at most, for making random features, {plan.draws} at a time"),
        ("products", plan.products(rows), "at most, products of the features kept"),
        ("inputs", plan.inputs(rows), "at most; rows that take more are read again"),
        ("columns", plan.columns(rows, plan.inputs(rows)), "at least; columns that take more are made again"),
        ("total", plan.memory, "allowed"),
    ]
    return PlanReport(plan.limits, parts, [])
