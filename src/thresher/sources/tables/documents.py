"""Texts as rows of n-grams: a column of a table, members of JSON lines, or a folder of files for each class."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from thresher.errors import DataError, SettingsError
from thresher.sources.base import Source
from thresher.sources.endings import format_by_name
from thresher.sources.files.paths import PathLike, find_parts
from thresher.sources.tables.infer import Guesser
from thresher.sources.tables.ngram_encoder import FOLDER_LABELS, Counts, Range, TextForm, ngram_range, stop_words
from thresher.sources.tables.schema import Schema, Where, find_column
from thresher.sources.tables.table_encoder import Labels
from thresher.sources.text.parse_errors import OnError

_FORMATS = ("csv", "jsonl", "parquet")


def scan_text(
    paths: PathLike | Iterable[PathLike],
    *,
    text: Where | None = None,
    target: Where | None = None,
    weight: Where | None = None,
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
    """Read texts as rows of word and character n-grams; no vocabulary is ever built.

    Parameters
    ----------
    paths : path, glob, folder, or several of these
        Separated text, JSON lines, Parquet or Arrow files; or a folder that holds one folder for each class, with a
        file for each text.
    text : column
        Which column (or member of the objects) holds the text; by name, or by position from 0.
    target, weight : column, optional
        What is to be predicted, and the importance of a row.
    words : int, "1-2" or (1, 2)
        Word n-grams of so many words. Single words if neither this nor ``chars`` is given.
    chars : int, "3-5" or (3, 5), optional
        Character n-grams of so many characters; white space of several characters counts as one blank.
    within_words : bool
        Only character n-grams inside of words, with a blank before and behind each.
    pattern : str, optional
        A regular expression for words. Without it a word is two or more letters, digits or ``_`` in a row, as for
        ``(?u)\\b\\w\\w+\\b``, which is much faster than a pattern.
    lower : bool
        Take capital letters for small ones, as `str.lower` does.
    stop : words, or path of a file with one a line, optional
        Words to leave out, before n-grams are formed.
    counts : {"binary", "count", "log"}
        The value of an n-gram: 1, how often it occurs in the row, or 1 + ln of that. It stands in a row once.
    unit : bool
        Scale rows to length one.
    names, header, delimiter, quote, nulls
        How separated text is written, see `thresher.scan_csv`.
    format : {"csv", "jsonl", "parquet"}, optional
        Say it instead of having it guessed from the name.
    on_error : {"stop", "skip"}
        What to do about a malformed row: raise `DataError`, or count it and go on.

    Examples
    --------
    >>> source = th.scan_text("reviews.jsonl", text="body", target="stars", words="1-2")    # doctest: +SKIP
    """
    if words is None and chars is None:
        words = 1
    ngrams: dict[str, Any] = {
        "words": ngram_range(words, "words"),
        "chars": ngram_range(chars, "chars"),
        "within_words": within_words,
        "pattern": pattern,
        "lower": lower,
        "stop": stop_words(stop),
        "counts": counts,
        "unit": unit,
    }
    from thresher.sources.tables.class_folders import ClassFolders, class_files

    if text is None:
        found = class_files(paths)
        if found is None:
            raise SettingsError("say which column holds the text: text= (--text)")
        if target is not None or weight is not None:
            raise SettingsError("a folder for each class says the labels: pass no target or weight")
        return ClassFolders(found, TextForm(text="text", labels=FOLDER_LABELS, **ngrams), on_error)
    parts = find_parts(paths)
    kind = format or format_by_name(os.path.basename(parts[0].path)) or "csv"
    if kind not in _FORMATS:
        raise SettingsError(f"texts stand in files of the format {', '.join(_FORMATS)}, not {kind!r}")
    said = {"names": names, "header": header, "delimiter": delimiter, "quote": quote or None, "nulls": nulls}
    schema = Schema.of({"quote": None} if quote == "" else None, said)

    def form(called: list[str], sample: Any | None) -> TextForm:
        name = parts[0].name
        column = find_column(text, called, name, "text")
        labels = [None if w is None else find_column(w, called, name, "labels") for w in (target, weight)]
        is_text = labels[0] is not None and Guesser(sample, name).target_is_text(labels[0])
        if column in labels:
            raise DataError(f"{name}: the column {column!r} is said to be two things. Say one.")
        return TextForm(text=column, labels=Labels(labels[0], is_text, labels[1]), **ngrams)

    if kind == "jsonl":
        from thresher.sources.tables.jsonl import JsonSource, json_layout

        return JsonSource(tuple(parts), on_error, form=form(*json_layout(parts)))
    if kind == "parquet":
        from thresher.sources.tables.arrow_readers import arrow_layout
        from thresher.sources.tables.parquet import ArrowFileSource

        return ArrowFileSource(parts=tuple(parts), form=form(*arrow_layout(parts)), on_error=on_error)
    from thresher.sources.tables.csv import CsvSource, csv_layout

    dialect, called, sample = csv_layout(parts, schema)
    return CsvSource(tuple(parts), on_error, form=form(called, sample), dialect=dialect)
