"""The data of a run over arriving features: the examples without their columns, and the stream of columns."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.labels import distinct_labels, sort_labels
from thresher.core.losses import Loss, get_loss
from thresher.core.memory import show_size
from thresher.errors import DataError, SettingsError
from thresher.run import RunOptions
from thresher.sources.arrays import DenseSource, RowLabels, row_in_memory
from thresher.sources.base import Source
from thresher.substitution.arriving.feature_stream import FeatureStream
from thresher.substitution.arriving.format_readers import MatrixReader, StoreReader
from thresher.substitution.settings import SubstitutionSettings
from thresher.working_set.calibration import numbered_parts
from thresher.working_set.dataset import Examples, Reader
from thresher.working_set.targets import TargetCollector


class StreamData(NamedTuple):
    """The examples and the stream; ``keep`` holds the rows to use of a column of ``column_rows`` rows (None: all)."""

    examples: Examples
    stream: FeatureStream
    column_rows: int
    keep: NDArray[np.int64] | None


def read_features(
    data: FeatureStream | Source,
    settings: SubstitutionSettings,
    options: RunOptions,
    pool: _native.ThreadPool,
    memory: int | None,
    y: Any,
    sample_weight: Any,
) -> StreamData:
    """Encode the labels of a stream, or read the rows of a source and make a stream of its columns."""
    loss = get_loss(settings.loss)
    if isinstance(data, FeatureStream):
        labels = _stream_labels(data, y, sample_weight)
        parts = (options.calibrate or settings.chooses) and loss.task != "real"
        examples = _label_examples(labels, data, loss, options, want_parts=parts)
        return StreamData(examples, data, labels.n, labels.order)
    room = None if memory is None else lambda rows: memory - 5 * rows * settings.k
    reader = Reader(
        data,
        loss,
        pool,
        options.watch,
        multilabel=options.multilabel,
        may_be_numbers=options.may_be_numbers,
        room=room,
        batch_rows=options.batch_rows,
        want_parts=(options.calibrate or settings.chooses) and loss.task != "real",
        on_batch=lambda batch, cursor: options.watch.show(phase="reading", **data.counts_at(cursor)),
    )
    examples = reader.read(options.class_weight)
    if examples.store is None:
        # Besides the columns: the kept ones, a block, and what reading takes, a fourth of the memory at most.
        kept = examples.rows * (5 * settings.k + 64)
        raise SettingsError(
            f"{data.describe()}: its columns take about {show_size(reader.needed)} and the {settings.k} kept ones "
            f"{show_size(kept)}, but memory leaves {show_size(memory or 0)} for them. Pass about "
            f"{show_size((reader.needed + kept) * 3 // 2)} of `memory`, or the columns one by one, as a FeatureStream"
        )
    return StreamData(examples, _column_stream(data, examples, pool), examples.rows, None)


def _stream_labels(stream: FeatureStream, y: Any, sample_weight: Any) -> RowLabels:
    y = stream.labels if y is None else y
    if y is None:
        raise DataError("a stream of features has no labels: pass y.")
    rows = y.shape[0] if hasattr(y, "shape") else len(y)
    if stream.rows is not None and stream.rows != rows:
        raise DataError(f"y has {rows} entries, and columns {stream.rows}: they must be as many.")
    return RowLabels(rows, y, sample_weight)


def _label_examples(
    labels: RowLabels, stream: FeatureStream, loss: Loss, options: RunOptions, *, want_parts: bool
) -> Examples:
    """Examples with targets and weights only."""
    batch = labels.batch()
    where = partial(row_in_memory, batch)
    known = None
    if options.multilabel:
        sets = labels.sets
        known = sort_labels(distinct_labels(batch, where) if sets is None else range(sets.columns))
    collector = TargetCollector(loss, known, multilabel=options.multilabel, may_be_numbers=options.may_be_numbers)
    collector.add(batch, where)
    y, weight, classes = collector.encode(stream.describe(), options.class_weight)
    parts = numbered_parts(len(weight)) if want_parts else None
    return Examples(None, y, weight, classes, skipped=0, parts=parts)


def _column_stream(source: Source, examples: Examples, pool: _native.ThreadPool) -> FeatureStream:
    """The columns of a source. Constant columns are skipped: rows may leave out all other values of a feature."""
    if type(source) is DenseSource:
        x = source.x if source.order is None else source.x[source.order]
        return FeatureStream(MatrixReader(np.asarray(x), None), on_error="constant")
    assert isinstance(examples.store, _native.ColumnStore)
    return FeatureStream(StoreReader(examples.store, pool, source.describe()), on_error="constant")
