"""The texts and sequences of a few rows, read again from the places where they were seen."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch, Cursor
from thresher.errors import ThresherError
from thresher.selection.report.json_values import name_of
from thresher.selection.report.marks import marked_sequence, marked_text
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.documents.ngram_encoder import NgramEncoder
from thresher.sources.tables.recipes import encoder_of

log = logging.getLogger(__name__)

#: The most rows that are read again at a time.
_ROWS = 256

#: The positions in the selection of the features of a row of a batch, and their values.
Features = Callable[[Batch, int], tuple[NDArray[np.intp], NDArray[np.float64]]]


class Row(Protocol):
    """A row that was seen: its number, its features, and where to read it again."""

    @property
    def number(self) -> int: ...
    @property
    def output(self) -> int: ...
    @property
    def positions(self) -> NDArray[np.intp]: ...
    @property
    def values(self) -> NDArray[np.float64]: ...
    @property
    def before(self) -> Cursor | None: ...
    @property
    def row(self) -> int: ...


def read_texts(
    selection: Selection, source: Source, rows: Collection[Row], features: Features
) -> dict[int, list[dict[str, Any]]]:
    """The texts of rows by their numbers: the pieces of each, with the selected features marked.

    Each batch of one of the rows is read once more, for every column of texts. A text is only taken from a row that has
    the features of the one that was seen: data may have changed since.

    Parameters
    ----------
    selection : Selection
    source : Source
        The source that the rows were read from.
    rows : collection of Row
    features : callable
        The features of a row of a batch.
    """
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    try:
        named = selection.adapt(source).with_texts()
        for prefix, texts in named.items():
            encoder = _encoder(selection, prefix)
            title = name_of(prefix[:-1]) if prefix else ""
            for row, text in _rows_again(texts, rows, features, selection.input_keys):
                added = _added(selection, row, prefix)
                kmers = selection.space.kmers
                pieces = marked_text(text, added, encoder) if kmers is None else marked_sequence(text, added, kmers)
                found[row.number].append({"title": title, "letters": kmers is not None, "pieces": pieces})
    except (ThresherError, OSError) as error:
        log.info("the report leaves out the texts of examples, which cannot be read again: %s", error)
    return dict(found)


def _rows_again(
    texts: Source, rows: Collection[Row], features: Features, keys: NDArray[np.uint64] | None
) -> list[tuple[Row, str]]:
    """The text of each row, in one reading of each batch that has one of them."""
    together: dict[Cursor, dict[int, Row]] = defaultdict(dict)
    for row in rows:
        if row.before is not None:
            together[row.before][row.row] = row
    found = []
    for before, wanted in together.items():
        at, last = 0, max(wanted)
        for batch, _ in texts.batches(min(_ROWS, last + 1), start=before, keys=keys):
            for row in (wanted[i] for i in range(at, at + len(batch)) if i in wanted):
                positions, values = features(batch, row.row - at)
                same = np.array_equal(positions, row.positions) and np.array_equal(values, row.values)
                if same and batch.id is not None and (text := str(batch.id[row.row - at])):
                    found.append((row, text))
            at += len(batch)
            if at > last:
                break
    return found


def _added(selection: Selection, row: Row, prefix: str) -> Mapping[str, float]:
    """What each feature of a row that is made from one column of texts adds to the score, by its name in the text."""
    weights = selection.weights if selection.weights.ndim == 1 else selection.weights[row.output]
    added: dict[str, float] = defaultdict(float)
    for position, value in zip(row.positions.tolist(), row.values.tolist(), strict=True):
        name = selection.names[position]
        if name.startswith(prefix):
            added[name[len(prefix) :]] += float(weights[position]) * value
    return added


def _encoder(selection: Selection, prefix: str) -> NgramEncoder:
    """How the texts were read: as words beside other columns, or as the recipe of the model says."""
    reading = selection.provenance.get("reading")
    if not prefix and reading is not None:
        encoder = encoder_of(reading)
        if isinstance(encoder, NgramEncoder):
            return encoder
    return NgramEncoder(text="text", prefix=prefix)
