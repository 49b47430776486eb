"""Helpers of the writers of text formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from thresher.core.batch import Batch
from thresher.sources.base import Source
from thresher.writers.write_report import WriteReport


def write_lines(
    source: Source, file: Any, lines: Callable[[Source, Batch, WriteReport], Iterator[str]], *, want_names: bool
) -> WriteReport:
    """Write the lines that ``lines`` makes of each batch."""
    report = WriteReport()
    for batch, _ in source.batches(want_names=want_names, want_labels=False):
        file.write("".join(lines(source, batch, report)).encode("utf-8", "surrogateescape"))
        report.rows += len(batch)
    return report


def value_texts(batch: Batch) -> list[str]:
    """The values in the fewest digits that read back as the same number."""
    if batch.values is None:
        return ["1"] * batch.nnz
    return [text.removesuffix(".0") for text in batch.values.astype(np.float32).astype(str).tolist()]


def label_texts(batch: Batch) -> list[str]:
    """The labels of each row, separated by commas; an empty string for none."""
    if batch.y is None:
        return [""] * len(batch)
    shown = ["" if label != label else f"{label:.17g}" if isinstance(label, float) else str(label) for label in batch.y]
    if batch.y_indptr is None:
        return shown
    return [",".join(shown[a:b]) for a, b in zip(batch.y_indptr, batch.y_indptr[1:], strict=False)]
