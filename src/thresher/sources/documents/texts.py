"""Texts in memory, as rows of n-grams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from thresher.errors import DataError, SettingsError, SpaceError
from thresher.sources.base import Source
from thresher.sources.dataframes import TableSource, encoder_like
from thresher.sources.documents.ngram_encoder import NgramEncoder, ngram_settings
from thresher.sources.tables.arrow_columns import binary_array

#: The name of the column that holds the texts.
_COLUMN = "text"


def texts_source(
    texts: Any, y: Any = None, weight: Any = None, *, like: Mapping[str, Any] | None = None, **options: Any
) -> Source:
    """Make a source from a list, a 1d array or a series of strings.

    Parameters
    ----------
    texts : list, array or series of str
        One text per row; a missing one has no words.
    y, weight : array-like, optional
        Targets and sample weights.
    like : mapping, optional
        The recipe of a model (`Source.reading`), whose n-grams to use.
    options
        The options of `thresher.scan_text` for n-grams.
    """
    import pyarrow as pa

    if options.pop("text", None) is not None:
        raise SettingsError("text names a column of a table, but the data is a list of texts: leave it out")
    encoder = NgramEncoder(text=_COLUMN, **ngram_settings(**options)) if like is None else encoder_like(like, options)
    if not isinstance(encoder, NgramEncoder):
        raise SpaceError("the model's features are columns of a table, but the data is a list of texts.")
    table = pa.table({_COLUMN: _as_arrow(texts)})
    return TableSource(table, y, weight, encoder=replace(encoder, text=_COLUMN))


def _as_arrow(texts: Any) -> Any:
    """The texts as an Arrow array of bytes."""
    if type(texts).__module__.split(".")[0] == "pyarrow":
        return texts
    found: list[bytes | None] = []
    for i, text in enumerate(texts):
        missing = text is None or (isinstance(text, float) and text != text) or type(text).__name__ == "NAType"
        if not (missing or isinstance(text, str)):
            raise DataError(f"text {i} (counted from 0) is of type {type(text).__name__}. Pass strings.")
        found.append(None if missing else text.encode("utf-8", "surrogatepass"))
    return binary_array(found)
