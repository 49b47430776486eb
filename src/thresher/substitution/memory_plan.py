"""The memory plan of a run over a stream of features."""

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
    """The memory of the kept columns, of one block, and of all columns of a source that was read by rows.

    Parameters
    ----------
    sparse : bool
        Whether columns arrive without their zeros.
    memory : int, optional
        The limit in bytes.
    """

    settings: SubstitutionSettings
    examples: Examples
    sparse: bool
    memory: int | None

    def block(self, stream: FeatureStream) -> int:
        """The columns of a block: as many as fit beside the k kept ones."""
        rows = self.examples.rows
        if self.memory is None:
            return stream.block_for(rows)
        held = self.kept + self.columns
        if self.memory - held < self.column:
            raise SettingsError(
                f"{self.settings.k} columns of {rows} rows take {show_size(held)}: allow at least "
                f"{show_size(held + self.column)} of memory, or keep fewer features"
            )
        return min(stream.block_for(rows), (self.memory - held) // self.column)

    @property
    def kept(self) -> int:
        """Bytes of the k columns, their inner products, and the vectors over the rows."""
        rows, outputs, k = self.examples.rows, len(self.examples.y), self.settings.k
        sets = outputs if self.settings.per_class else 1
        # A sparse column is kept twice, with and without its zeros: at most a fourth more.
        return sets * (5 * rows * k + 8 * k**2) + 8 * rows * (2 + 5 * outputs)

    @property
    def column(self) -> int:
        """Bytes of a column of the block, as it is read and as it is used, and of its inner products."""
        each = 12 if self.sparse else 8  # a sparse value has its row beside it
        return each * self.examples.rows + 16 * self.settings.k

    @property
    def columns(self) -> int:
        """Bytes of the column store of a source."""
        store = self.examples.store
        return store.bytes if isinstance(store, _native.ColumnStore) else 0

    def parts(self, block: int) -> dict[str, int]:
        """All parts in bytes."""
        parts = {"kept": self.kept, "block": block * self.column}
        if self.columns:
            parts["columns"] = self.columns
        return {"memory": self.memory or 0, **parts, "total": sum(parts.values())}
