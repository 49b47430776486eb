"""Where the memory of a run over arriving features goes."""

from __future__ import annotations

from dataclasses import dataclass

from thresher import _native
from thresher.core.memory import show_size
from thresher.errors import SettingsError
from thresher.substitution.arriving.feature_stream import FeatureStream
from thresher.substitution.settings import SubstitutionSettings
from thresher.working_set.dataset import Examples


@dataclass(frozen=True)
class StreamPlan:
    """What is held: the columns that are kept, a block of newcomers, and of a source all its columns.

    Parameters
    ----------
    sparse : bool
        Whether newcomers come without their zeros.
    memory : int, optional
        What may be held, in bytes.
    """

    settings: SubstitutionSettings
    examples: Examples
    sparse: bool
    memory: int | None

    def block(self, stream: FeatureStream) -> int:
        """Columns of a block: what memory is left for, besides the k that are kept."""
        rows = self.examples.rows
        if self.memory is None:
            return stream.block_for(rows)
        held = self.kept + self.columns
        if self.memory - held < self.newcomer:
            raise SettingsError(
                f"{self.settings.k} columns of {rows} rows take {show_size(held)}: give at least "
                f"{show_size(held + self.newcomer)} of memory, or keep fewer features"
            )
        return min(stream.block_for(rows), (self.memory - held) // self.newcomer)

    @property
    def kept(self) -> int:
        """The k columns, their products, and what there is of every row."""
        rows, outputs, k = self.examples.rows, len(self.examples.y), self.settings.k
        sets = outputs if self.settings.per_class else 1
        # A column of few numbers is held twice, whole and without its zeros: a fourth more at most.
        return sets * (5 * rows * k + 8 * k**2) + 8 * rows * (2 + 5 * outputs)

    @property
    def newcomer(self) -> int:
        """A column of a block as it is read, and as it is used; its products."""
        each = 12 if self.sparse else 8  # a number has its row beside it
        return each * self.examples.rows + 16 * self.settings.k

    @property
    def columns(self) -> int:
        """Of rows that were read, and are columns now."""
        store = self.examples.store
        return store.bytes if isinstance(store, _native.ColumnStore) else 0

    def parts(self, block: int) -> dict[str, int]:
        """All of it, in bytes."""
        parts = {"kept": self.kept, "block": block * self.newcomer}
        if self.columns:
            parts["columns"] = self.columns
        return {"memory": self.memory or 0, **parts, "total": sum(parts.values())}
