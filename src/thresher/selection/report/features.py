"""The table of features: every column of the selection, row by row, as far as a budget of bytes goes."""

from __future__ import annotations

from typing import Any

import numpy as np

from thresher.selection.report.json_values import as_script, name_of, short, shorts
from thresher.selection.selection import Selection

#: The bytes of the table within the file, which has at most 3 MB.
BUDGET = 1_700_000
#: Integers up to this one are exact in JavaScript.
_EXACT = 1 << 53


def feature_table(selection: Selection, budget: int = BUDGET) -> dict[str, Any]:
    """The features as rows of ``fields``, strongest first; ``total`` counts those that do not fit into the budget, too.

    ``weight`` is a list where there are several outputs, in the order of ``outputs``.
    """
    several = selection.weights.ndim == 2
    columns: dict[str, list[Any]] = {"name": selection.names}
    columns["weight"] = (
        [shorts(column) for column in selection.weights.T.tolist()] if several else shorts(selection.weights.tolist())
    )
    if selection.scales is not None:
        own = selection.standardized_weights
        columns["standardized"] = shorts((own if own.ndim == 1 else np.linalg.norm(own, axis=0)).tolist())
    if selection.bounds.any():
        columns["bound"] = shorts(selection.bounds.tolist(), 4)
    if selection.q_values is not None:
        columns["q_value"] = shorts(selection.q_values.tolist(), 4)
    if (frequencies := _frequencies(selection)) is not None:
        columns["frequency"] = frequencies
    if selection.counts.any():
        columns["count"] = selection.counts.tolist()
    columns["key"] = [key if key < _EXACT else str(key) for key in selection.keys.tolist()]
    rows, used = [], 0
    for row in zip(*columns.values(), strict=True):
        used += len(as_script(row).encode()) + 1
        if used > budget:
            break
        rows.append(list(row))
    outputs = [name_of(label) for label in (selection.labels or range(len(selection.weights)))] if several else []
    return {
        "fields": list(columns),
        "rows": rows,
        "total": len(selection),
        "outputs": outputs,
        "positive": None if several or selection.classes is None else name_of(selection.labels[1]),
        "negative": None if several or selection.classes is None else name_of(selection.labels[0]),
        "bound_is": "standard error" if _standard_errors(selection) else "error bound",
        "functions": selection.space.random_features is not None,
    }


def _standard_errors(selection: Selection) -> bool:
    return bool(selection.settings.get("truncation") == "adaptive") or selection.settings.get("method") != "mission"


def _frequencies(selection: Selection) -> list[Any] | None:
    """The share of the samples in which each feature was selected, if the fit was repeated on samples."""
    return None if selection.frequencies is None else [short(found, 4) for found in selection.frequencies.tolist()]
