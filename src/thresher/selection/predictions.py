"""Predictions as a table, with identifiers of their rows."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.memory import Watch
from thresher.errors import SettingsError
from thresher.selection.coverage import Coverage, show_share
from thresher.selection.selection import Output, Selection

log = logging.getLogger(__name__)

#: The identifiers of rows, besides a column of the data.
IDS = ("file", "line", "record")


def prediction_tables(
    selection: Selection,
    data: Any,
    output: Output,
    ids: Sequence[str],
    id_column: str | None,
    reading: Mapping[str, Any],
    watch: Watch | None = None,
) -> Iterator[dict[str, list[Any]]]:
    """Yield the columns of the predictions, batch by batch: identifiers first, then one prediction or several.

    ``watch`` receives the progress. At the end the share of the rows that hold a selected feature is logged,
    unless all do, as a warning if none does: every prediction is then the same.
    """
    if unknown := [name for name in ids if name not in IDS]:
        raise SettingsError(
            f"`ids` must be some of {', '.join(IDS)}, got {unknown[0]!r}: name a column of the data as `id_column`"
        )
    if "record" in ids and id_column is not None:
        raise SettingsError("rows have the name of a record or a column to identify them, not both")
    if output == "probability":
        selection.check_probabilities()
    source = selection.source(data, reading, watch)
    if "record" in ids or id_column is not None:
        source = source.with_ids(id_column)
    coverage = Coverage(selection, source)
    for batch, cursor in source.batches(keys=selection.input_keys, want_labels=False):
        if not len(batch):
            continue
        coverage.add(batch)
        columns: dict[str, list[Any]] = {}
        for name in ids:
            if name == "file":
                columns[name] = source.row_files(cursor, batch)
            else:
                found = batch.line if name == "line" else batch.id
                columns[name] = [] if found is None else found.tolist()
        if id_column is not None and batch.id is not None:
            columns[id_column] = batch.id.tolist()
        yield columns | _outputs(selection, output, selection.margins(batch))
    share = coverage.share
    if share == 0:
        log.warning(
            "%s: %s, so every prediction is the intercept alone. Check that the data has the features that the model "
            "was learned from, read in the same way.",
            source.describe(),
            show_share(share),
        )
    elif share is not None and share < 1:
        log.info("%s: %s", source.describe(), show_share(share))


def prediction_table(
    selection: Selection,
    data: Any,
    output: Output,
    ids: Sequence[str],
    id_column: str | None,
    reading: Mapping[str, Any],
) -> dict[str, list[Any]]:
    """The columns of the predictions of all rows."""
    table: dict[str, list[Any]] = {}
    for some in prediction_tables(selection, data, output, ids, id_column, reading):
        for name, values in some.items():
            table.setdefault(name, []).extend(values)
    return table


def _outputs(selection: Selection, output: Output, margins: NDArray[np.float64]) -> dict[str, list[Any]]:
    """The columns of predictions: one, or one for each class."""
    if output == "prediction":
        values = selection.decide(margins)
    else:
        values = selection.probabilities(margins) if output == "probability" else margins
    if values.ndim == 2 and len(selection.intercept) == 1:
        values = values[:, -1]  # of the second of two classes
    if values.ndim == 1:
        return {output: values.tolist()}
    return {f"{output}_{label}": column.tolist() for label, column in zip(selection.labels, values.T, strict=True)}
