"""Texts among the other columns of a table: each of their words is a feature ``column=word``.

The rows of the other columns and those of each text are encoded on their own, and joined row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.sources.documents.ngram_encoder import NgramEncoder


def rows_with_words(
    texts: Sequence[str],
    arrays: Mapping[str, Any],
    n: int,
    other_columns: Callable[[int], dict[str, Any]],
    *,
    want_names: bool,
    **options: Any,
) -> dict[str, Any]:
    """Encode the first ``n`` rows of texts and of the other columns, with the output of `TableEncoder.rows`.

    Parameters
    ----------
    texts : sequence of str
        The columns of the texts.
    other_columns : callable
        Encodes some of the first rows of the other columns, and the labels.
    """
    without_labels = {**options, "labels_optional": True}
    parts = []
    for text in texts:
        found = NgramEncoder(text=text, prefix=f"{text}=").rows(arrays, n, want_names=want_names, **without_labels)
        parts.append(found)
        n = found["consumed"]  # fewer, if the texts are long
    first = other_columns(n)
    return joined([first, *parts], first["consumed"], stop=not options.get("skip", False))


def joined(parts: Sequence[dict[str, Any]], consumed: int, *, stop: bool) -> dict[str, Any]:
    """Join encoded rows side by side; labels are those of the first part.

    A row with a fault in any part is left out; with ``stop``, so are the rows after it.
    """
    # The row of the first fault is not consumed, if that ends the batch.
    faults = [fault for part in parts for fault in part["faults"] if fault[1] < consumed + stop]
    lines = reduce(np.intersect1d, [part["line"] for part in parts])
    lines = lines[lines < consumed]
    chosen = [np.searchsorted(part["line"], lines) for part in parts]
    indptr, places = _side_by_side([part["indptr"] for part in parts], chosen)
    keys = np.empty(indptr[-1], np.uint64)
    plain = all(part["values"] is None for part in parts)
    values = None if plain else np.ones(len(keys), np.float32)
    named = all(part["names"] is not None for part in parts)
    names = np.empty(len(keys), np.uint64) if named else None
    starts, first_prefix, prefixes = 0, 0, []
    for part, (source, target) in zip(parts, places, strict=True):
        keys[target] = part["keys"][source]
        if values is not None and part["values"] is not None:
            values[target] = part["values"][source]
        if names is not None:
            # The start of a name is in the low bits of its word, its prefix in the high ones.
            names[target] = part["names"][source] + np.uint64(starts) + (np.uint64(first_prefix) << np.uint64(44))
            starts += len(part["text"])
        first_prefix += len(part["prefixes"])
        prefixes += part["prefixes"]
    first, at = parts[0], chosen[0]
    skipped = 0 if stop else consumed - len(lines)
    taken = {name: None if first[name] is None else first[name][at] for name in ("y", "weight", "id", "qid")}
    if named:
        taken["text"] = np.concatenate([part["text"] for part in parts])
    return {
        **first,
        **taken,
        "indptr": indptr,
        "keys": keys,
        "values": values,
        "names": names,
        "prefixes": prefixes,
        "line": lines,
        "consumed": consumed,
        "faults": sorted(faults, key=lambda fault: fault[1]),
        "skipped": skipped,
    }


def _side_by_side(
    indptrs: Sequence[NDArray[np.int64]], chosen: Sequence[NDArray[np.intp]]
) -> tuple[NDArray[np.int64], list[tuple[NDArray[np.int64], NDArray[np.int64]]]]:
    """The starts of joined rows, and for each part the places that its features come from and go to."""
    lengths = [np.diff(indptr)[rows] for indptr, rows in zip(indptrs, chosen, strict=True)]
    joined = np.concatenate([[0], np.cumsum(np.sum(lengths, axis=0))]).astype(np.int64)
    begin, places = joined[:-1].copy(), []
    for indptr, rows, length in zip(indptrs, chosen, lengths, strict=True):
        within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        places.append((np.repeat(indptr[rows], length) + within, np.repeat(begin, length) + within))
        begin += length
    return joined, places
