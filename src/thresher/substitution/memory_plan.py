"""Where the memory of a run over arriving features goes."""

from __future__ import annotations

from dataclasses import dataclass

from thresher.core.memory import PlanReport, ReadLimits, parse_size, show_size
from thresher.errors import SettingsError
from thresher.run import RunOptions
from thresher.sources.base import Source
from thresher.substitution.arriving.feature_stream import FeatureStream, block_for
from thresher.substitution.settings import SubstitutionSettings
from thresher.working_set.memory_plan import rows_in_plan


@dataclass(frozen=True)
class StreamPlan:
    """What is held: the columns that are kept, a block of newcomers, and of a source all its columns.

    Parameters
    ----------
    rows, outputs : int
        Rows of the data, and problems that are solved.
    columns : int
        Bytes of the columns of a source, which are all held.
    sparse : bool
        Whether new columns come without their zeros.
    memory : int, optional
        What may be held, in bytes.
    """

    settings: SubstitutionSettings
    rows: int
    outputs: int
    columns: int
    sparse: bool
    memory: int | None

    def block(self, stream: FeatureStream) -> int:
        """Columns of a block: what memory is left for, besides the k that are kept."""
        return self.fitting(stream.block_for(self.rows))

    def fitting(self, block: int) -> int:
        """As many of the columns of a block as fit; raise if none does."""
        if self.memory is None:
            return block
        held = self.kept + self.columns
        if self.memory - held < self.newcomer:
            raise SettingsError(
                f"{self.settings.k} columns of {self.rows} rows take {show_size(held)}: give at least "
                f"{show_size(held + self.newcomer)} of memory, or keep fewer features"
            )
        return min(block, (self.memory - held) // self.newcomer)

    @property
    def kept(self) -> int:
        """The k columns, their products, and what there is of every row."""
        rows, outputs, k = self.rows, self.outputs, self.settings.k
        sets = outputs if self.settings.per_class else 1
        # A column of few numbers is held twice, whole and without its zeros: a fourth more at most.
        return sets * (5 * rows * k + 8 * k**2) + 8 * rows * (2 + 5 * outputs)

    @property
    def newcomer(self) -> int:
        """A column of a block as it is read, and as it is used; its products."""
        each = 12 if self.sparse else 8  # a number has its row beside it
        return each * self.rows + 16 * self.settings.k

    def parts(self, block: int) -> dict[str, int]:
        """All of it, in bytes."""
        parts = {"kept": self.kept, "block": block * self.newcomer}
        if self.columns:
            parts["columns"] = self.columns
        return {"memory": self.memory or 0, **parts, "total": sum(parts.values())}


def plan_of_fit(settings: SubstitutionSettings, options: RunOptions, source: Source) -> PlanReport:
    """The plan of a fit over a source, for people to read."""
    memory = None if options.memory is None else parse_size(options.memory)
    rows, counted = rows_in_plan(source)
    plan = StreamPlan(settings, rows=rows, outputs=1, columns=0, sparse=False, memory=memory)
    block = plan.fitting(block_for(rows))
    parts = [
        ("kept", plan.kept, f"{settings.k} columns, their products, targets and slopes {counted}"),
        ("block", block * plan.newcomer, f"{block} columns at a time {counted}"),
    ]
    if memory is not None:
        parts.append(("total", memory, "allowed"))
    held = "all columns of these rows are held too; a FeatureStream, a .npy or a Parquet file is read column by column"
    return PlanReport(ReadLimits(), parts, [("columns", held)])
