"""Anything that holds examples as a `Source`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from thresher.core.kmers import Kmers
from thresher.core.memory import ReadLimits
from thresher.errors import DataError, SettingsError
from thresher.sources.base import Source
from thresher.sources.cache.cached import DEFAULT_SIZE, cached
from thresher.sources.endings import format_by_name
from thresher.sources.files.paths import Part, PathLike, Stream, find_parts
from thresher.sources.recipes import TABLE_FORMATS, TABLE_OPTIONS, TEXT_OPTIONS, scan_like, scan_table_or_text
from thresher.sources.sequences.fasta import OPTIONS as SEQUENCE_OPTIONS
from thresher.sources.sequences.fasta import SequenceSource, scan_fasta
from thresher.sources.tables.schema import find_column
from thresher.sources.text.libsvm import scan_libsvm
from thresher.sources.text.line_source import LineSource
from thresher.sources.text.parse_errors import OnError
from thresher.sources.text.vw import scan_vw

FORMATS = ("libsvm", "vw", "fasta", *TABLE_FORMATS, "cache")
_TABLE_OPTIONS = frozenset({*TABLE_OPTIONS, *TEXT_OPTIONS})
_FILE_OPTIONS = ("format", "on_error", "multilabel")


def scan(
    paths: PathLike | Iterable[PathLike],
    *,
    format: str | None = None,
    on_error: OnError = "stop",
    multilabel: bool = False,
    cache: str | os.PathLike[str] | bool | None = None,
    cache_size: str | int = DEFAULT_SIZE,
    **sequences: Any,
) -> Source:
    """Read files in the format their name or, failing that, their first line shows.

    Parameters
    ----------
    paths : path, glob, folder, "-" for standard input, or several of these
    format : {"libsvm", "vw", "fasta", "csv", "jsonl", "parquet", "cache"}, optional
        Say it instead of having it guessed; needed for standard input. ``fasta`` is FASTQ too, ``csv`` any separated
        text, ``parquet`` Arrow IPC too, ``cache`` a file of parsed rows.
    on_error : {"stop", "skip"}
        What to do about a malformed line.
    multilabel : bool
        LIBSVM rows start with several labels.
    cache : path or True, optional
        Keep the parsed rows in this folder (True: the user's cache folder), so that later passes and runs read
        them from there; see `thresher.cached`.
    cache_size : str or int
        What the files in that folder may take together.
    sequences
        ``kmer``, ``canonical``, ``fragments`` and the other options of `thresher.scan_fasta`, for FASTA and FASTQ;
        ``target``, ``numeric``, ``schema`` and the others of `thresher.scan_csv`, for tables; ``text``, ``words`` and
        the others of `thresher.scan_text`, for texts.
    """
    source = _scan(paths, format, on_error, multilabel, None, sequences)
    return source if cache is None or cache is False else cached(source, cache, size=cache_size)


def _scan(
    paths: PathLike | Iterable[PathLike],
    format: str | None,
    on_error: OnError,
    multilabel: bool,
    like: Kmers | Mapping[str, Any] | None,
    options: dict[str, Any],
) -> Source:
    """`scan`; files are read ``like`` these k-mers, or as this recipe says, where nothing else is said."""
    if unknown := [name for name in options if name not in SEQUENCE_OPTIONS and name not in _TABLE_OPTIONS]:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}")
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    given |= {name: False for name in ("header", "lower") if options.get(name) is False}
    if isinstance(like, Mapping) and not given and (source := scan_like(paths, like, format, on_error)) is not None:
        return source
    texts = format is None and "text" not in given and all(name in TEXT_OPTIONS for name in given)
    if texts and (folders := _class_folders(paths)) is not None:
        return folders(on_error=on_error, **given)
    parts = find_parts(paths)
    kind = format or _guess(parts[0].path, given)
    files = [part.path for part in parts]
    if multilabel and kind != "libsvm" and kind in FORMATS:
        raise SettingsError("multilabel is for LIBSVM files: rows of other files have one label")
    if kind in TABLE_FORMATS:
        return scan_table_or_text(files, kind, on_error, given)
    if "target" in given or "weight" in given:
        raise SettingsError("a file or source brings its own labels and weights: pass no y, weight or target")
    if kind in ("fasta", "fastq"):
        if others := [name for name in given if name not in SEQUENCE_OPTIONS]:
            raise SettingsError(f"{', '.join(others)}: for tables and texts only")
        similar = like.reading() if isinstance(like, Kmers) else {}
        return scan_fasta(files, on_error=on_error, **{**similar, **given})
    if given:
        what = "FASTA and FASTQ files" if all(name in SEQUENCE_OPTIONS for name in given) else "tables and texts"
        raise SettingsError(f"{', '.join(given)}: for {what} only")
    if kind == "libsvm":
        return scan_libsvm(files, on_error=on_error, multilabel=multilabel)
    if kind == "vw":
        return scan_vw(files, on_error=on_error)
    if kind == "cache":
        if multilabel or on_error != "stop":
            raise SettingsError("a file of parsed rows says itself how it was read: leave out multilabel and on_error")
        from thresher.sources.cache.source import scan_cache

        return scan_cache(files)
    raise SettingsError(f"unknown format {kind!r}: one of {', '.join(FORMATS)}")


def _class_folders(paths: PathLike | Iterable[PathLike]) -> Callable[..., Source] | None:
    """How to read a folder of folders of texts; None where the paths are something else."""
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not several or not all(os.path.isdir(path) for path in several):
        return None
    for path in several:
        with os.scandir(path) as inside:
            if any(entry.is_file() and not entry.name.startswith(".") for entry in inside):
                return None
    from thresher.sources.tables.class_folders import class_files

    if class_files(paths) is None:
        return None
    from thresher.sources.tables.documents import scan_text

    return partial(scan_text, paths)


def _guess(path: str, given: Mapping[str, Any]) -> str:
    if by_name := format_by_name(os.path.basename(path)):
        return by_name
    if "schema" in given:
        return "csv"
    if Part(path).once:
        raise SettingsError(
            f"the format of standard input or a pipe is not guessed: pass format= (--format {', '.join(FORMATS)})"
        )
    with Stream(path, window_limit=ReadLimits().window) as stream:
        head = bytearray(4096)
        size = stream.readinto(memoryview(head))
    lines = bytes(head[:size]).split(b"\n")
    for i, line in enumerate(lines):
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        if line.startswith(b">") or (line.startswith(b"@") and lines[i + 2 : i + 3] and lines[i + 2].startswith(b"+")):
            return "fasta"
        if b"|" in line:
            return "vw"
        if re.match(rb"\s*([-+.\deE,]+\s+)?(qid:\d+\s+)?(\d+:[-+.\deE]+\s*)+", line):
            return "libsvm"
        break
    if head.startswith((b"PAR1", b"ARROW1")):
        return "parquet"
    if "target" in given or "text" in given:  # no other format has columns
        return "jsonl" if bytes(head[:size]).lstrip().startswith(b"{") else "csv"
    if stream.failure is not None:
        raise stream.failure
    if size == 0:
        raise DataError(f"{path}: the file is empty. Check how it was made.")
    raise DataError(
        f"{path}: neither its name nor its first line shows its format. Pass format= (--format), one of "
        f"{', '.join(FORMATS)}."
    )


def as_source(
    data: Any,
    y: Any = None,
    *,
    weight: Any = None,
    target: str | int | None = None,
    like: Kmers | Mapping[str, Any] | None = None,
    **reading: Any,
) -> Source:
    """Whatever a user may hand over as data: a path, a `Source`, a matrix or a frame.

    Parameters
    ----------
    data : Source, path, paths, ndarray, SciPy matrix, DataFrame or Arrow table
    y, weight : array-like, optional
        Targets and importances; only for data in memory, files bring their own. ``weight`` may be a column of a
        table in a file.
    target : str or int, optional
        The column of a frame, or of a table in a file, that holds the targets.
    like : Kmers or mapping, optional
        How files are read where ``reading`` says nothing else: as a model was made (`Source.reading`).
    reading
        ``format``, ``on_error``, ``multilabel`` and options for sequences, tables and texts, for paths.
    """
    if is_stored(data):
        of_table = not isinstance(data, Source) and (weight is None or isinstance(weight, (str, int)))
        if of_table:
            reading |= {name: value for name, value in (("target", target), ("weight", weight)) if value is not None}
        elif weight is not None or target is not None or y is not None:
            raise SettingsError("a file or source brings its own labels and weights: pass no y, weight or target")
        if y is not None:
            raise SettingsError("a file or source brings its own labels and weights: pass no y, weight or target")
        if isinstance(data, Source):
            return data
        format, on_error, multilabel = (reading.pop(name, None) for name in _FILE_OPTIONS)
        return _scan(data, format, on_error or "stop", bool(multilabel), like, reading)
    if unknown := [name for name in reading if name not in (*_FILE_OPTIONS, *SEQUENCE_OPTIONS, *_TABLE_OPTIONS)]:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}")
    if given := [name for name, value in reading.items() if value not in (None, "stop", False)]:
        raise SettingsError(f"{', '.join(given)}: for files, not for data in memory")
    from thresher.sources.dataframes import TableSource, arrow_table

    table = arrow_table(data)
    if table is not None:
        if target is not None:
            target = find_column(target, table.column_names, "the table", "target")
            y = table.column(target).to_numpy()
            table = table.drop_columns([target])
        return TableSource(table, y, weight)
    if target is not None:
        raise SettingsError("target names a column of a frame; pass y for a matrix")
    if hasattr(data, "tocsr"):
        from thresher.sources.arrays import SparseSource

        return SparseSource(data, y, weight)
    from thresher.sources.arrays import DenseSource

    if isinstance(data, np.ma.MaskedArray):
        raise DataError("a masked array loses its mask here: pass a DataFrame, whose missing values are passed over.")
    try:
        matrix = np.asarray(data)
    except ValueError as error:
        raise DataError(f"the rows do not make a matrix: {error}.") from None
    return DenseSource(matrix, y, weight)


def is_stored(data: Any) -> bool:
    """Whether this brings its own labels: a path, several, or a `Source`."""
    return isinstance(data, Source) or is_paths(data)


def is_paths(data: Any) -> bool:
    """Whether this is a path, or several."""
    if isinstance(data, (str, os.PathLike)):
        return True
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(isinstance(p, (str, os.PathLike)) for p in data)


def is_file_source(source: Source) -> bool:
    """Whether reading the source takes parsing, so that reading ahead pays."""
    while hasattr(source, "source"):
        source = source.source
    return isinstance(source, (LineSource, SequenceSource)) or hasattr(source, "form")
