"""The memory plan of the Feature Generating Machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from thresher.core.memory import PlanReport, parse_size, show_size
from thresher.errors import SettingsError
from thresher.fgm.settings import FGMSettings
from thresher.run import RunOptions
from thresher.sources.base import Source
from thresher.working_set.memory_plan import WorkingSetPlan, rows_in_plan

#: The most features that a worker parses at a time; bytes of each, in all copies on their way to other workers.
MOST_STEP, STEP_BYTES = 1 << 19, 60
#: Bytes for engines that run together if there is no memory limit.
SEARCHED = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FGMPlan(WorkingSetPlan):
    """Divides the memory among columns, solvers, rows and buffers.

    Attributes
    ----------
    blocks : int
        The expected number of blocks of each problem.
    k : int
        The most elements of an answer.
    """

    blocks: int
    k: int

    @classmethod
    def of(cls, settings: FGMSettings, memory: str | int | None, outputs: int = 1) -> Self:
        """The plan for this number of outputs; 1 gives a lower bound while it is unknown."""
        allowed = 0 if memory is None else parse_size(memory)
        blocks = -(-settings.k // settings.proposed(outputs))
        return cls(memory=allowed, outputs=outputs, blocks=blocks, k=settings.k, block=cls.block_of(allowed))

    @property
    def row_bytes(self) -> int:
        """Bytes of a row besides its features: weight, targets, slopes, and the solver's products with every block."""
        return 8 + 32 * self.outputs + self.scan_bytes + self.product_bytes

    @property
    def scan_bytes(self) -> int:
        """Bytes of a row while columns are read for several outputs at once, at most four."""
        return 8 * min(4, self.outputs) if self.outputs > 1 else 0

    @property
    def product_bytes(self) -> int:
        """Bytes of a row's products with the weights, the extrapolation point and the gradient."""
        return 24 * self.outputs * self.blocks

    def check(self, rows: int) -> None:
        """Raise if this many rows leave less memory to their columns than they need themselves."""
        needed = rows * self.row_bytes
        if self.memory and 2 * needed > self.available:
            advised = (2 * needed + self.buffers) * 16 // 15
            raise SettingsError(
                f"{rows} rows and {self.blocks} blocks need {show_size(needed)} besides the columns, and reading needs "
                f"{show_size(self.buffers)}; set `memory` to about {show_size(advised)}, or propose more features per "
                "iteration (`B`)"
            )

    def columns(self, rows: int) -> int:
        """Bytes for the columns of this many rows, or for sums over them: three quarters of what the rows leave."""
        return max(0, self.available - rows * self.row_bytes) // 4 * 3

    def selected(self, rows: int) -> int:
        """Bytes for the solvers' copies of proposed columns: the last quarter."""
        return self.columns(rows) // 3

    def engines(self, rows: int) -> int:
        """The number of engines whose columns and products `selected` holds, of elements that are proposed once."""
        # A column takes at most 4 bytes a row: one that fewer than a quarter of the rows have is held as sparse.
        each = rows * (4 * self.outputs * self.k + self.row_bytes + 16 * self.outputs)  # residuals, together and by row
        return max(1, (self.selected(rows) if self.memory else SEARCHED) // each)

    @property
    def step_entries(self) -> int:
        """The features that a worker parses at a time, before it sends them to the others."""
        return min(MOST_STEP, max(1, self.memory // 512)) if self.memory else MOST_STEP

    def worker_bytes(self, rows: int) -> int:
        """Bytes of a worker besides its columns: the residuals and weights of the rows, and entries on their way."""
        return rows * (8 + 8 * self.outputs + self.scan_bytes) + STEP_BYTES * self.step_entries

    def share(self, rows: int) -> int:
        """Bytes for the columns of a worker."""
        return max(0, self.available - self.worker_bytes(rows))

    def check_selected(self, rows: int, taken: int) -> None:
        """Raise if the proposed columns exceed `selected`."""
        if self.memory and taken > self.selected(rows):
            raise SettingsError(
                f"the columns proposed so far need {show_size(taken)}, but `memory={show_size(self.memory)}` leaves "
                f"{show_size(self.selected(rows))} for them; increase `memory`, or decrease `k`"
            )

    def to_dict(self, rows: int, columns: int, selected: int) -> dict[str, int]:
        """Bytes by purpose, for files and reports; ``columns`` is the peak while columns are built."""
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
    if options.workers > 1:
        parts += [("columns", plan.share(rows), f"at most, in each of {options.workers} workers of as much memory")]
    else:
        parts += [("columns", plan.columns(rows), "at most; if they take more, every iteration reads the data again")]
    parts += [
        ("selected", plan.selected(rows), f"at most, for the {settings.k} selected features"),
        ("slack", plan.slack, "overhead of the allocator"),
        ("total", plan.memory, "allowed"),
    ]
    return PlanReport(plan.limits, parts, [])
