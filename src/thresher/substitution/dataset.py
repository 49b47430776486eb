"""What a run over arriving features begins with: labels, and the stream of columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.losses import get_loss
from thresher.core.memory import show_size
from thresher.errors import DataError, SettingsError
from thresher.run import RunOptions
from thresher.sources.arrays import DenseSource
from thresher.sources.base import Source
from thresher.sources.registry import as_source
from thresher.substitution.arriving.feature_stream import FeatureStream
from thresher.substitution.arriving.format_readers import MatrixColumns, StoreColumns
from thresher.substitution.settings import SubstitutionSettings
from thresher.working_set.dataset import Examples, Reader


class StreamData(NamedTuple):
    """Labels and columns: ``long`` is how long columns are, ``keep`` which of their rows count (None: all)."""

    examples: Examples
    stream: FeatureStream
    long: int
    keep: NDArray[np.int64] | None


def read_features(
    data: FeatureStream | Source,
    settings: SubstitutionSettings,
    options: RunOptions,
    team: _native.Team,
    memory: int | None,
    y: Any,
    sample_weight: Any,
) -> StreamData:
    """Labels of either; the rows of a source, whose columns then arrive."""
    source = data if isinstance(data, Source) else _labels_of(data, y, sample_weight)
    room = None if memory is None else lambda rows: memory - 5 * rows * settings.k
    reader = Reader(
        source, get_loss(settings.loss), team, multilabel=options.multilabel, room=room, batch_rows=options.batch_rows
    )
    examples = reader.read(options.class_weight)
    if examples.store is None:
        raise SettingsError(
            f"{source.describe()}: its columns do not fit into {show_size(memory or 0)}. Give more memory, or hand "
            "them over one by one, as a stream of features"
        )
    if isinstance(data, FeatureStream):
        assert isinstance(source, DenseSource)
        return StreamData(examples, data, source.n, source.order)
    return StreamData(examples, _stream_of(data, examples, team), examples.rows, None)


def _labels_of(stream: FeatureStream, y: Any, sample_weight: Any) -> Source:
    """Rows with labels and nothing else."""
    y = stream.labels if y is None else y
    if y is None:
        raise DataError("a stream of features has no labels: pass y.")
    rows = y.shape[0] if hasattr(y, "shape") else len(y)
    if stream.rows is not None and stream.rows != rows:
        raise DataError(f"y has {rows} entries, and columns {stream.rows}: they must be as many.")
    return as_source(np.zeros((rows, 1), np.float32), y, weight=sample_weight)


def _stream_of(source: Source, examples: Examples, team: _native.Team) -> FeatureStream:
    """The columns of a source. Rows may leave one constant by no mistake: it is passed over."""
    if isinstance(source, DenseSource):
        x = source.x if source.order is None else source.x[source.order]
        return FeatureStream(MatrixColumns(np.asarray(x), None), on_error="constant")
    assert isinstance(examples.store, _native.ColumnStore)
    return FeatureStream(StoreColumns(examples.store, team, source.describe()), on_error="constant")
