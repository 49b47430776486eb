"""Anything that holds examples as a `Source`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from thresher.errors import DataError, SettingsError
from thresher.kmers import Kmers
from thresher.sources.cache import DEFAULT_SIZE, cached
from thresher.sources.endings import format_by_name
from thresher.sources.fasta import OPTIONS as SEQUENCE_OPTIONS
from thresher.sources.fasta import SequenceSource, scan_fasta
from thresher.sources.faults import OnError
from thresher.sources.libsvm import scan_libsvm
from thresher.sources.lines import LineSource
from thresher.sources.open import Part, PathLike, Stream, find_parts
from thresher.sources.source import ReadLimits, Source
from thresher.sources.vw import scan_vw

FORMATS = ("libsvm", "vw", "fasta", "cache")
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
    format : {"libsvm", "vw", "fasta", "cache"}, optional
        Say it instead of having it guessed; needed for standard input. ``fasta`` is FASTQ too, ``cache`` a file
        of parsed rows.
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
        ``kmer``, ``canonical``, ``fragments`` and the other options of `thresher.scan_fasta`, for FASTA and FASTQ.
    """
    source = _scan(paths, format, on_error, multilabel, None, sequences)
    return source if cache is None or cache is False else cached(source, cache, size=cache_size)


def _scan(
    paths: PathLike | Iterable[PathLike],
    format: str | None,
    on_error: OnError,
    multilabel: bool,
    like: Kmers | None,
    sequences: dict[str, Any],
) -> Source:
    """`scan`; sequences are read ``like`` these k-mers, where nothing else is said."""
    if unknown := [name for name in sequences if name not in SEQUENCE_OPTIONS]:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}")
    parts = find_parts(paths)
    kind = format or _guess(parts[0].path)
    files = [part.path for part in parts]
    given = {name: value for name, value in sequences.items() if value not in (None, False)}
    if kind in ("fasta", "fastq"):
        if multilabel:
            raise SettingsError("multilabel is for LIBSVM files: a sequence has one label")
        return scan_fasta(files, on_error=on_error, **{**({} if like is None else like.reading()), **given})
    if given:
        raise SettingsError(f"{', '.join(given)}: for FASTA and FASTQ files only")
    if kind == "libsvm":
        return scan_libsvm(files, on_error=on_error, multilabel=multilabel)
    if kind == "vw":
        if multilabel:
            raise SettingsError("multilabel is for LIBSVM files: VW text has one simple label a row")
        return scan_vw(files, on_error=on_error)
    if kind == "cache":
        if multilabel or on_error != "stop":
            raise SettingsError("a file of parsed rows says itself how it was read: leave out multilabel and on_error")
        from thresher.sources.stored_source import scan_cache

        return scan_cache(files)
    raise SettingsError(f"unknown format {kind!r}: one of {', '.join(FORMATS)}")


def _guess(path: str) -> str:
    if by_name := format_by_name(os.path.basename(path)):
        return by_name
    if Part(path).once:
        raise SettingsError(
            "the format of standard input or a pipe is not guessed: pass format= (--format libsvm, vw or fasta)"
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
    target: str | None = None,
    like: Kmers | None = None,
    **reading: Any,
) -> Source:
    """Whatever a user may hand over as data: a path, a `Source`, a matrix or a frame.

    Parameters
    ----------
    data : Source, path, paths, ndarray, SciPy matrix, DataFrame or Arrow table
    y, weight : array-like, optional
        Targets and importances; only for data in memory, files bring their own.
    target : str, optional
        The column of a frame that holds the targets.
    like : Kmers, optional
        How sequences in files are read where ``reading`` says nothing else: as a model was made.
    reading
        ``format``, ``on_error``, ``multilabel`` and options for sequences, for paths.
    """
    if is_stored(data):
        if y is not None or weight is not None or target is not None:
            raise SettingsError("a file or source brings its own labels and weights: pass no y, weight or target")
        if isinstance(data, Source):
            return data
        format, on_error, multilabel = (reading.pop(name, None) for name in _FILE_OPTIONS)
        return _scan(data, format, on_error or "stop", bool(multilabel), like, reading)
    if unknown := [name for name in reading if name not in (*_FILE_OPTIONS, *SEQUENCE_OPTIONS)]:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}")
    if given := [name for name, value in reading.items() if value not in (None, "stop", False)]:
        raise SettingsError(f"{', '.join(given)}: for files, not for data in memory")
    from thresher.sources.frames import TableSource, arrow_table

    table = arrow_table(data)
    if table is not None:
        if target is not None:
            if target not in table.column_names:
                columns = ", ".join(map(str, table.column_names[:20]))
                raise DataError(f"there is no column {target!r}; there are {columns}")
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
    return isinstance(source, (LineSource, SequenceSource))
