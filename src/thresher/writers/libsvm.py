"""Writes LIBSVM text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thresher.core.batch import Batch
from thresher.errors import SettingsError
from thresher.sources.base import Source
from thresher.writers.text_lines import label_texts, value_texts, write_lines
from thresher.writers.write_report import WriteReport

_KEYS_ONLY = "features have their 64-bit keys as indices: LIBSVM text has no names"


def write_libsvm(source: Source, file: Any) -> WriteReport:
    """Write ``label [qid:n] key:value …``. The format has no sample weights and no text labels."""
    return write_lines(source, file, _lines, want_names=False)


def _lines(source: Source, batch: Batch, report: WriteReport) -> Iterator[str]:
    if batch.weight is not None and (batch.weight != 1).any():
        raise SettingsError("LIBSVM text has no sample weights: write VW text")
    if batch.y is not None and batch.y.dtype == object and any(isinstance(label, str) for label in batch.y):
        raise SettingsError("LIBSVM text has no text labels: write VW text, Parquet or a .thc file")
    if source.space.kind != "index" or source.space.products is not None:
        report.losses[_KEYS_ONLY] += batch.nnz
    keys, values, labels = batch.keys.tolist(), value_texts(batch), label_texts(batch)
    for i in range(len(batch)):
        begin, end = int(batch.indptr[i]), int(batch.indptr[i + 1])
        qid = "" if batch.qid is None or batch.qid[i] < 0 else f" qid:{batch.qid[i]}"
        if begin == end and not labels[i] and not qid:
            raise SettingsError(
                f"row {report.rows + i + 1} has neither label nor features, which LIBSVM text cannot hold. Drop "
                "it, or write VW text"
            )
        features = "".join(f" {keys[j]}:{values[j]}" for j in range(begin, end))
        yield f"{labels[i]}{qid}{features}\n"
