"""The memory plan of a run over a stream of features."""

from __future__ import annotations

from dataclasses import dataclass

from thresher.core.memory import PlanReport, ReadLimits, parse_size, show_size
from thresher.errors import SettingsError
from thresher.run import RunOptions
from thresher.sources.base import Source
from thresher.substitution.arriving.feature_stream import FeatureStream, block_for
from thresher.substitution.settings import SubstitutionSettings
from thresher.working_set.memory_plan import WorkingSetPlan, rows_in_plan


@dataclass(frozen=True)
class StreamPlan:
    """The memory of the kept columns, of one block, and of all columns of a source that was read by rows.

    Parameters
    ----------
    rows, outputs : int
        The numbers of rows and of outputs.
    columns : int
        Bytes of the column store of a source.
    sparse : bool
        Whether columns arrive without their zeros.
    memory : int, optional
        The limit in bytes.
    reading : int
        Bytes for reading the rows of files: text, batches, and overhead.
    """

    settings: SubstitutionSettings
    rows: int
    outputs: int
    columns: int
    sparse: bool
    memory: int | None
    reading: int = 0

    def block(self, stream: FeatureStream) -> int:
        """The columns of a block: as many as fit beside the k kept ones."""
        return self.fitting(stream.block_for(self.rows))

    def fitting(self, block: int) -> int:
        """At most ``block`` columns, as many as fit; SettingsError if not even one does."""
        if self.memory is None:
            return block
        held = self.kept + self.columns + self.reading
        if self.memory - held < self.column:
            raise SettingsError(
                f"{self.settings.k} columns of {self.rows} rows take {show_size(held)}"
                f"{', with what reading needs' if self.reading else ''}: allow at least "
                f"{show_size(held + self.column)} of memory, or keep fewer features"
            )
        return min(block, (self.memory - held) // self.column)

    @property
    def kept(self) -> int:
        """Bytes of the k columns, their inner products, and the vectors over the rows."""
        rows, outputs, k = self.rows, self.outputs, self.settings.k
        sets = outputs if self.settings.per_class else 1
        # A sparse column is kept twice, with and without its zeros: at most a fourth more.
        return sets * (5 * rows * k + 8 * k**2) + 8 * rows * (2 + 5 * outputs)

    @property
    def column(self) -> int:
        """Bytes of a column of the block, as it is read and as it is used, and of its inner products."""
        each = 12 if self.sparse else 8  # a sparse value has its row beside it
        return each * self.rows + 16 * self.settings.k

    def parts(self, block: int) -> dict[str, int]:
        """All parts in bytes."""
        parts = {"kept": self.kept, "block": block * self.column}
        if self.columns:
            parts["columns"] = self.columns
        if self.reading:
            parts["reading"] = self.reading
        return {"memory": self.memory or 0, **parts, "total": sum(parts.values())}


def reading_plan(data: Source | FeatureStream, memory: int | None) -> WorkingSetPlan | None:
    """The plan for reading rows from files; None for other data."""
    if not isinstance(data, Source) or not data.parses_files:
        return None
    return WorkingSetPlan(memory=memory or 0, outputs=1, block=WorkingSetPlan.block_of(memory or 0))


def plan_of_fit(settings: SubstitutionSettings, options: RunOptions, source: Source) -> PlanReport:
    """The plan of a fit over a source, as a report."""
    memory = None if options.memory is None else parse_size(options.memory)
    rows, counted = rows_in_plan(source)
    reading = reading_plan(source, memory)
    buffers = 0 if reading is None else reading.buffers + reading.slack
    plan = StreamPlan(settings, rows=rows, outputs=1, columns=0, sparse=False, memory=memory, reading=buffers)
    block = plan.fitting(block_for(rows))
    parts = [
        ("kept", plan.kept, f"{settings.k} columns, their inner products, targets and derivatives {counted}"),
        ("block", block * plan.column, f"{block} columns at a time {counted}"),
    ]
    if reading is not None:
        parts.append(("reading", buffers, f"blocks of {show_size(reading.block)}, their batches, and overhead"))
    if memory is not None:
        parts.append(("total", memory, "allowed"))
    held = "all columns of these rows too; a FeatureStream, a .npy or a Parquet file is read column by column"
    return PlanReport(ReadLimits() if reading is None else reading.limits, parts, [("columns", held)])
