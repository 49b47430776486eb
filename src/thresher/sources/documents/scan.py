"""Reads texts as rows of n-grams: from a column of a table, or from a folder of files for each class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from thresher.display import quoted
from thresher.errors import DataError, SettingsError
from thresher.sources.base import OnError, Source
from thresher.sources.documents.ngram_encoder import FOLDER_LABELS, Counts, NgramEncoder, Range, ngram_settings
from thresher.sources.files.paths import PathLike, find_parts
from thresher.sources.registry import TABLES, format_by_name, is_paths
from thresher.sources.tables.infer import TypeGuesser, guess_text
from thresher.sources.tables.open_table import table_layout, table_source
from thresher.sources.tables.schema import ColumnRef, Schema, find_column
from thresher.sources.tables.table_encoder import Labels


def scan_text(
    paths: PathLike | Iterable[PathLike],
    y: Any = None,
    *,
    text: ColumnRef | None = None,
    target: ColumnRef | None = None,
    weight: ColumnRef | None = None,
    words: Range = None,
    chars: Range = None,
    within_words: bool = False,
    pattern: str | None = None,
    lower: bool = True,
    stop: Iterable[str] | PathLike | None = None,
    counts: Counts = "binary",
    unit: bool = False,
    names: Iterable[str] | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    nulls: Iterable[str] | None = None,
    format: str | None = None,
    on_error: OnError = "stop",
) -> Source:
    """Read texts as rows of word and character n-grams; no vocabulary is built.

    Parameters
    ----------
    paths : path, glob, folder, or several of these
        Delimited text, JSON lines, Parquet or Arrow files; or a folder with one folder per class, which holds one
        file per text. Or the texts themselves: a 1d array or a series of strings, or a list of them together with
        ``y``.
    y : array-like, optional
        The labels of texts in memory; files contain theirs.
    text : column, optional
        The column (or the member of the JSON objects) of the text, by name or by position from 0. The default is the
        only column of long and mostly distinct strings: on average at least 30 characters, three or more words in at
        least half of the first rows, and nine in ten of them distinct.
    target, weight : column, optional
        The column of the targets, and the column of the sample weights.
    words : int, "1-2" or (1, 2)
        The lengths of word n-grams. The default is single words if ``chars`` is not given either.
    chars : int, "3-5" or (3, 5), optional
        The lengths of character n-grams; a run of white space counts as one blank.
    within_words : bool
        Only character n-grams inside words, each word with a blank before and after it.
    pattern : str, optional
        A regular expression for words. The default is two or more letters, digits or ``_``, as in
        ``(?u)\\b\\w\\w+\\b``, and much faster than a pattern.
    lower : bool
        Convert to lower case, like `str.lower`.
    stop : words, or path of a file with one word per line, optional
        Words to drop before n-grams are formed.
    counts : {"binary", "count", "log"}
        The value of an n-gram: 1, the number of its occurrences in the row, or 1 + ln of that number.
    unit : bool
        Scale rows to unit length.
    names, header, delimiter, quote, nulls
        The dialect of delimited text, see `thresher.scan_csv`.
    format : {"csv", "jsonl", "parquet"}, optional
        The format. The default follows from the file name.
    on_error : {"stop", "skip"}
        Whether a malformed row raises `DataError` or is counted and skipped.

    Examples
    --------
    >>> source = th.scan_text("reviews.jsonl", text="body", target="stars", words="1-2")    # doctest: +SKIP
    """
    options: dict[str, Any] = {
        "words": words,
        "chars": chars,
        "within_words": within_words,
        "pattern": pattern,
        "lower": lower,
        "stop": stop,
        "counts": counts,
        "unit": unit,
    }
    if y is not None or not is_paths(paths):
        from thresher.sources.documents.texts import texts_source

        return texts_source(paths, y, text=text, **options)
    ngrams = ngram_settings(**options)
    from thresher.sources.documents.class_folders import ClassFolders, class_files

    if text is None and (found := class_files(paths)) is not None:
        if target is not None or weight is not None:
            raise SettingsError("the folders are the labels of their files: pass no `target` or `weight`")
        return ClassFolders(found, NgramEncoder(text="text", labels=FOLDER_LABELS, **ngrams), on_error)
    parts = find_parts(paths)
    kind = format or format_by_name(parts[0].file_name) or "csv"
    if kind not in TABLES:
        raise SettingsError(f"texts are read from files of the formats {', '.join(TABLES)}, got {kind!r}")
    given = {"names": names, "header": header, "delimiter": delimiter, "quote": quote or None, "nulls": nulls}
    schema = Schema.of({"quote": None} if quote == "" else None, given)

    def encoder(columns: list[str], sample: Any | None) -> NgramEncoder:
        name = parts[0].name
        labels = [None if ref is None else find_column(ref, columns, name, "labels") for ref in (target, weight)]
        if text is None:
            column = guess_text([column for column in columns if column not in labels], sample, name)
        else:
            column = find_column(text, columns, name, "text")
        is_text = labels[0] is not None and TypeGuesser(sample, name).target_is_text(labels[0])
        if column in labels:
            raise DataError(f"{name}: the column {quoted(column)} is named twice, for different uses. Name it once.")
        return NgramEncoder(text=column, labels=Labels(labels[0], is_text, labels[1]), **ngrams)

    layout = table_layout(kind, parts, schema)
    return table_source(kind, parts, encoder(layout.names, layout.sample), layout.dialect, on_error)
