"""Writes Parquet: one row per row, with its features as lists of keys, names and values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch
from thresher.core.optional import need
from thresher.sources.base import Source
from thresher.writers.write_report import WriteReport

#: About the number of features of a row group.
_GROUP_FEATURES = 1 << 20
_NOT_UTF8 = "names are not valid UTF-8: their invalid bytes are written as \\xNN"


def write_parquet(source: Source, file: Any) -> WriteReport:
    """Write the columns ``label``, ``weight``, ``qid``, ``keys``, ``names`` and ``values``; null for absent entries.

    Labels are numbers or text (or lists of them, with several labels per row), keys unsigned 64-bit integers, values
    single-precision floats. Everything in a batch is written, except the line numbers.
    """
    pa, pq = need("pyarrow", "arrow"), need("pyarrow.parquet", "arrow")
    report, writer = WriteReport(), None
    waiting: list[Any] = []
    features = 0
    about = {"thresher": json.dumps({"space": source.space.to_dict(), "multilabel": source.multilabel})}
    try:
        for batch, _ in source.batches(want_names=not source.space.invertible, want_labels=False):
            if writer is None:
                schema = _schema(pa, batch).with_metadata(about)
                writer = pq.ParquetWriter(file, schema, compression="zstd")
            waiting.append(_record(pa, schema, source, batch, report))
            features += batch.nnz
            report.rows += len(batch)
            if features >= _GROUP_FEATURES:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting, features = [], 0
        if writer is None:
            schema = _schema(pa, None).with_metadata(about)
            writer = pq.ParquetWriter(file, schema, compression="zstd")
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))
    finally:
        if writer is not None:
            writer.close()
    return report


def _schema(pa: Any, batch: Batch | None) -> Any:
    words = batch is not None and batch.y is not None and batch.y.dtype == object
    label = pa.string() if words else pa.float64()
    if batch is not None and batch.y_indptr is not None:
        label = pa.list_(label)
    columns = [("label", label), ("weight", pa.float32()), ("qid", pa.int64()), ("keys", pa.list_(pa.uint64()))]
    return pa.schema([*columns, ("names", pa.list_(pa.string())), ("values", pa.list_(pa.float32()))])


def _record(pa: Any, schema: Any, source: Source, batch: Batch, report: WriteReport) -> Any:
    values = np.ones(batch.nnz, np.float32) if batch.values is None else batch.values
    names = _names(pa, source, batch, report)
    columns = [
        _labels(pa, batch, schema.field("label").type),
        pa.array(np.ones(len(batch), np.float32) if batch.weight is None else batch.weight),
        pa.nulls(len(batch), pa.int64()) if batch.qid is None else pa.array(batch.qid, mask=batch.qid < 0),
        *(_lists(pa, batch.indptr, entries) for entries in (pa.array(batch.keys), names, pa.array(values))),
    ]
    return pa.record_batch(columns, schema=schema)


def _labels(pa: Any, batch: Batch, kind: Any) -> Any:
    if batch.y is None:
        return pa.nulls(len(batch), kind)
    inner = kind if batch.y_indptr is None else kind.value_type
    labels = [None if label != label else label for label in batch.y.tolist()]
    found = pa.array(labels, inner)
    return found if batch.y_indptr is None else _lists(pa, batch.y_indptr, found)


def _lists(pa: Any, indptr: NDArray[np.int64], entries: Any) -> Any:
    return pa.ListArray.from_arrays(pa.array(indptr.astype(np.int32)), entries)


def _names(pa: Any, source: Source, batch: Batch, report: WriteReport) -> Any:
    if batch.names is None:
        keys, inverse = np.unique(batch.keys, return_inverse=True)
        return pa.array(source.space.decode(keys), pa.string()).take(pa.array(inverse))
    _, first, inverse = np.unique(batch.names.words, return_index=True, return_inverse=True)
    names = []
    for j in first.tolist():
        try:
            names.append(batch.names[j].decode("utf-8"))
        except UnicodeDecodeError:
            names.append(batch.names[j].decode("utf-8", "backslashreplace"))
            report.losses[_NOT_UTF8] += int((batch.names.words == batch.names.words[j]).sum())
    return pa.array(names, pa.string()).take(pa.array(inverse.reshape(-1)))
