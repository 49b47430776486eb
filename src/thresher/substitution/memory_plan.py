"""The memory plan of a run over a stream of features."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from thresher.core.memory import PlanReport, ReadLimits, parse_size, show_size
from thresher.errors import SettingsError
from thresher.run import RunOptions
from thresher.sources.base import Source
from thresher.substitution.arriving.feature_stream import FeatureStream, block_for
from thresher.substitution.settings import SubstitutionSettings
from thresher.working_set.memory_plan import WorkingSetPlan, rows_in_plan

#: Bytes of a value of a kept column: 4, and 4 of its copy in the answer. Grafting's solver has one more.
#: Alpha-investing has an orthogonal basis, twice while it grows, and a least-squares problem at the end.
_BASELINE_VALUE, _VALUES = 9, {"grafting": 13, "alpha-investing": 41}
#: Bytes of a pair of columns in the curvature matrix of grafting, its copy in a model and its factor.
_CURVATURE = 20


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
    features : int, optional
        The number of features, if it is known: no more are kept.
    """

    settings: SubstitutionSettings
    rows: int
    outputs: int
    columns: int
    sparse: bool
    memory: int | None
    reading: int = 0
    features: int | None = None

    @property
    def k(self) -> int:
        """The most features that are kept."""
        return self.settings.k if self.features is None else min(self.settings.k, self.features)

    def block(self, stream: FeatureStream) -> int:
        """The columns of a block: as many as fit beside the k kept ones."""
        return self.fitting(stream.block_for(self.rows))

    def fitting(self, block: int) -> int:
        """At most ``block`` columns, as many as fit; SettingsError if not even one does."""
        held = self.kept + self.columns + self.reading
        if self.memory is None:
            if held > (there := machine_memory()):
                raise SettingsError(
                    f"{self.k} columns of {self.rows} rows take {show_size(held)}, and this machine has "
                    f"{show_size(there)} of free memory: keep fewer features (`k`)"
                )
            return block
        if self.memory - held < self.column:
            raise SettingsError(
                f"{self.k} columns of {self.rows} rows take {show_size(held)}"
                f"{', with what reading needs' if self.reading else ''}: allow at least "
                f"{show_size(held + self.column)} of memory, or keep fewer features"
            )
        # Baselines may keep more than k columns: they share what is left with the block.
        left = self.memory - held if self.settings.method == "os" else (self.memory - held) // 2
        return max(1, min(block, left // self.column))

    @property
    def kept(self) -> int:
        """Bytes of the k columns, their inner products, and the vectors over the rows."""
        rows, outputs, k = self.rows, self.outputs, self.k
        vectors = 8 * rows * (2 + 5 * outputs)
        if self.settings.method != "os":  # each output has features of its own, and one more arrives
            value, pair = self._baseline_bytes
            return outputs * (value * rows * (k + 1) + pair * (k + 1) ** 2) + vectors
        sets = outputs if self.settings.per_class else 1
        # A sparse column is kept twice, with and without its zeros: at most a fourth more. If arrivals share steps, it
        # is kept once, and inner products are not kept; the final fit has the columns with their zeros beside them.
        shared = self.settings.candidates()[0].arrivals != 1
        columns = 9 * rows * k if shared else 5 * rows * k + 8 * k**2
        return sets * columns + vectors

    @property
    def _baseline_bytes(self) -> tuple[int, int]:
        """The bytes of a value of a kept column, and of a pair of columns."""
        method = self.settings.method
        return _VALUES.get(method, _BASELINE_VALUE), _CURVATURE if method == "grafting" else 0

    def most_kept(self, block: int) -> int | None:
        """The most features that a baseline may keep for an output before the end; None: no limit."""
        if self.memory is None:
            return None
        value, pair = self._baseline_bytes
        room = (self.memory - self.columns - self.reading - block * self.column - 16 * self.rows) // self.outputs
        room -= 40 * self.rows
        line = value * self.rows
        return int(2 * room / (line + math.sqrt(line**2 + 4 * pair * max(0, room))))

    @property
    def column(self) -> int:
        """Bytes of a column of the block, as it is read and as it is used, and of its inner products."""
        each = 12 if self.sparse else 8  # a sparse value has its row beside it
        return each * self.rows + 16 * self.k

    def of_worker(self, capacity: int, exchange: int) -> int:
        """Bytes of a worker of Asy-OS in another process: its columns, vectors over the rows, and an exchange."""
        held = 5 * self.rows * capacity + 8 * capacity**2
        return held + 8 * self.rows * (2 + 8 * self.outputs) + self.exchanged(exchange)

    def exchanged(self, exchange: int) -> int:
        """Bytes that an exchange of a worker sends and receives."""
        return self.rows * (4 * exchange + 16 * self.outputs)

    def parts(self, block: int) -> dict[str, int]:
        """All parts in bytes."""
        parts = {"kept": self.kept, "block": block * self.column}
        if self.columns:
            parts["columns"] = self.columns
        if self.reading:
            parts["reading"] = self.reading
        return {"memory": self.memory or 0, **parts, "total": sum(parts.values())}


def machine_memory() -> int:
    """The bytes of memory that this machine can give now; where the system does not say, no limit."""
    try:
        with open("/proc/meminfo") as file:
            available = next((line for line in file if line.startswith("MemAvailable:")), None)
        if available is not None:
            return 1024 * int(available.split()[1])
    except (OSError, ValueError, IndexError):
        pass  # not Linux
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 2**63


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
