"""The memory plan of the Feature Generating Machine, settled as far as the data's shape is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from thresher.core.memory import PlanReport, parse_size, show_size
from thresher.errors import SettingsError
from thresher.fgm.settings import FGMSettings
from thresher.run import RunOptions
from thresher.sources.base import Source
from thresher.working_set.memory_plan import WorkingSetPlan, rows_in_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class FGMPlan(WorkingSetPlan):
    """Bytes by what they are for.

    Attributes
    ----------
    blocks : int
        Blocks that each problem comes to.
    """

    blocks: int

    @classmethod
    def of(cls, settings: FGMSettings, memory: str | int | None, outputs: int = 1) -> Self:
        """For so many outputs; one is the least there can be."""
        allowed = 0 if memory is None else parse_size(memory)
        blocks = -(-settings.k // settings.proposed(outputs))
        return cls(memory=allowed, outputs=outputs, blocks=blocks, block=cls.block_of(allowed))

    @property
    def row_bytes(self) -> int:
        """What a row takes besides its features: weight, targets, slopes, and the solver's products of every block."""
        return 8 + 32 * self.outputs + self.product_bytes

    @property
    def product_bytes(self) -> int:
        """The part of the products: with the weights, the point and the gradient."""
        return 24 * self.outputs * self.blocks

    def check(self, rows: int) -> None:
        """Raise where so many rows leave their columns less than they take themselves."""
        needed = rows * self.row_bytes
        if self.memory and 2 * needed > self.left:
            advised = (2 * needed + self.buffers) * 16 // 15
            raise SettingsError(
                f"{rows} rows and {self.blocks} blocks take {show_size(needed)} besides the columns, and reading "
                f"{show_size(self.buffers)}: give about {show_size(advised)} of memory, or propose more features at a "
                "time (B)"
            )

    def columns(self, rows: int) -> int:
        """For the columns of so many rows, or for sums over them: three quarters of what these leave."""
        return max(0, self.left - rows * self.row_bytes) // 4 * 3

    def selected(self, rows: int) -> int:
        """For the solvers' own copies of the columns that were proposed: the last quarter."""
        return self.columns(rows) // 3

    def check_selected(self, rows: int, taken: int) -> None:
        """Raise where the proposed columns take more than that."""
        if self.memory and taken > self.selected(rows):
            raise SettingsError(
                f"the columns proposed so far take {show_size(taken)}, and {show_size(self.selected(rows))} of the "
                f"memory = {show_size(self.memory)} are for them: give more, or ask for fewer features"
            )

    def to_dict(self, rows: int, columns: int, selected: int) -> dict[str, int]:
        """For files and reports: what is held of each, columns while they are made."""
        parts = {
            "columns": columns,
            "selected": selected,
            "rows": rows * (self.row_bytes - self.product_bytes),
            "products": rows * self.product_bytes,
            "buffers": self.buffers,
            "slack": self.slack,
        }
        return {"memory": self.memory, **parts, "total": sum(parts.values())}


def plan_of_fit(settings: FGMSettings, options: RunOptions, source: Source) -> PlanReport:
    """The plan of a fit over a source, for people to read."""
    plan = FGMPlan.of(settings, options.memory)
    rows, counted = rows_in_plan(source)
    parts = [
        ("rows", rows * (plan.row_bytes - plan.product_bytes), f"weights, targets and slopes {counted}"),
        ("products", rows * plan.product_bytes, f"products of {plan.blocks} blocks {counted}"),
        ("buffers", plan.buffers, f"blocks of {show_size(plan.block)} and their batches"),
    ]
    if not plan.memory:
        return PlanReport(plan.limits, parts, [("columns", "what they take, since there is no memory limit")])
    plan.check(rows)
    parts += [
        ("columns", plan.columns(rows), "at most; if they take more, every iteration reads the data again"),
        ("selected", plan.selected(rows), f"at most, for the {settings.k} selected features"),
        ("slack", plan.slack, "overhead of the allocator"),
        ("total", plan.memory, "allowed"),
    ]
    return PlanReport(plan.limits, parts, [])
