"""The comparison of selections as text that fits 80 columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thresher.display import cut, visible
from thresher.report.text import GAP, Columns, aligned
from thresher.selection.compare import Compared, Comparison, PairComparison

#: The width of a line; and the least and the most characters of a name.
_WIDTH, _LEAST_NAME, _MOST_NAME = 80, 12, 48
#: What stands where a selection does not have a feature, or a number does not exist.
_NONE = "-"


def comparison_lines(comparison: Comparison, top: int) -> Iterator[str]:
    """The selections, their agreement in pairs, and the ``top`` features by their best rank."""
    yield from map(_legend, comparison.selections)
    yield ""
    yield from aligned(_pairs(comparison.pairs))
    by_k, left_out = _by_k(comparison)
    if by_k:
        yield ""
        yield from aligned(by_k)
    if left_out:
        yield f"({left_out} pairs more: see --format json)"
    shown = min(top, len(comparison.names))
    if shown:
        yield ""
        yield from _features(comparison, shown)
    if shown < len(comparison.names):
        yield f"… and {len(comparison.names) - shown} more"


def _legend(one: Compared) -> str:
    """A selection in a line: ``A  monday.thr: 100 features by mission, 20,000 rows of clicks.vw``."""
    named = "" if one.path is None else f"{_end(one.path, 36)}: "
    method = "" if one.method is None else f" by {one.method}"
    rows = "" if one.rows is None else f", {one.rows:,} rows"
    data = "" if one.data is None else f"{' of' if rows else ','} {visible(one.data)}"
    return cut(f"{one.label}  {named}{one.features} features{method}{rows}{data}", _WIDTH)


def _end(path: str, most: int) -> str:
    """The end of a path, which has the name of the file."""
    return path if len(path) <= most else f"…{path[1 - most :]}"


def _pairs(pairs: tuple[PairComparison, ...]) -> Columns:
    return [
        ("pair", [" ".join(pair.labels) for pair in pairs]),
        ("common", [str(pair.common) for pair in pairs]),
        ("only 1st", [str(pair.only[0]) for pair in pairs]),
        ("only 2nd", [str(pair.only[1]) for pair in pairs]),
        ("Jaccard", [f"{pair.jaccard:.3f}" for pair in pairs]),
        ("rank correlation", [_NONE if (r := pair.rank_correlation) is None else f"{r:.3f}" for pair in pairs]),
        ("sign changes", [_NONE if pair.sign_changes is None else str(pair.sign_changes) for pair in pairs]),
    ]


def _by_k(comparison: Comparison) -> tuple[Columns, int]:
    """Jaccard by k, a column for each pair that fits, and the number of pairs that do not."""
    sizes = sorted({k for pair in comparison.pairs for k in pair.jaccard_by_k})
    if not sizes:
        return [], 0
    first = ("Jaccard of the first", [str(k) for k in sizes])
    fit = (_WIDTH - len(first[0])) // (5 + GAP)
    columns = [
        (" ".join(pair.labels), [f"{pair.jaccard_by_k[k]:.3f}" if k in pair.jaccard_by_k else _NONE for k in sizes])
        for pair in comparison.pairs
    ]
    return [first, *columns[:fit]], max(0, len(columns) - fit)


def _features(comparison: Comparison, shown: int) -> list[str]:
    every, few = comparison.selections, len(comparison.selections) == 2
    ranks = [
        (f"rank {one.label}", [str(r) if r else _NONE for r in row[:shown]])
        for one, row in zip(every, comparison.ranks, strict=True)
    ]
    weights = [
        (f"weight {one.label}", [_NONE if np.isnan(w) else f"{w:.4g}" for w in row[:shown]])
        for one, row in zip(every, comparison.weights, strict=True)
    ]
    changed = ["changed" if c else "" for c in comparison.sign_changed[:shown]]
    signs = [("sign", changed)] if any(changed) else []
    columns = [*ranks, *(weights if few else []), *signs]
    while (used := sum(max(map(len, [name, *cells])) + GAP for name, cells in columns)) > _WIDTH - _LEAST_NAME:
        columns.pop()  # of many selections, the last
    names = [cut(visible(name), min(_MOST_NAME, _WIDTH - used)) for name in comparison.names[:shown]]
    return aligned([("name", names), *columns])
