"""Anything that holds examples as a `Source`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from thresher.errors import DataError, SettingsError
from thresher.sources.faults import OnError
from thresher.sources.libsvm import scan_libsvm
from thresher.sources.lines import LineSource
from thresher.sources.open import Part, PathLike, Stream, find_parts
from thresher.sources.source import ReadLimits, Source
from thresher.sources.vw import scan_vw

BY_ENDING = {
    "svm": "libsvm",
    "libsvm": "libsvm",
    "svmlight": "libsvm",
    "vw": "vw",
}
_COMPRESSED = {"gz", "bgz", "zst", "zstd", "xz", "bz2"}
FORMATS = ("libsvm", "vw")


def scan(
    paths: PathLike | Iterable[PathLike],
    *,
    format: str | None = None,
    on_error: OnError = "stop",
    multilabel: bool = False,
) -> Source:
    """Read files in the format their name or, failing that, their first line shows.

    Parameters
    ----------
    paths : path, glob, folder, "-" for standard input, or several of these
    format : {"libsvm", "vw"}, optional
        Say it instead of having it guessed; needed for standard input.
    on_error : {"stop", "skip"}
        What to do about a malformed line.
    multilabel : bool
        LIBSVM rows start with several labels.
    """
    parts = find_parts(paths)
    kind = format or _guess(parts[0].path)
    if kind == "libsvm":
        return scan_libsvm([part.path for part in parts], on_error=on_error, multilabel=multilabel)
    if kind == "vw":
        if multilabel:
            raise SettingsError("multilabel is for LIBSVM files: VW text has one simple label a row")
        return scan_vw([part.path for part in parts], on_error=on_error)
    raise SettingsError(f"unknown format {kind!r}: one of {', '.join(FORMATS)}")


def _guess(path: str) -> str:
    endings = [ending for ending in os.path.basename(path).lower().split(".")[1:] if ending not in _COMPRESSED]
    if endings and endings[-1] in BY_ENDING:
        return BY_ENDING[endings[-1]]
    if Part(path).once:
        raise SettingsError(
            "the format of standard input or a pipe is not guessed: pass format= (--format libsvm or vw)"
        )
    with Stream(path, window_limit=ReadLimits().window) as stream:
        head = bytearray(4096)
        size = stream.readinto(memoryview(head))
    for line in bytes(head[:size]).split(b"\n"):
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
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


def as_source(data: Any, y: Any = None, *, weight: Any = None, target: str | None = None, **reading: Any) -> Source:
    """Whatever a user may hand over as data: a path, a `Source`, a matrix or a frame.

    Parameters
    ----------
    data : Source, path, paths, ndarray, SciPy matrix, DataFrame or Arrow table
    y, weight : array-like, optional
        Targets and importances; only for data in memory, files bring their own.
    target : str, optional
        The column of a frame that holds the targets.
    reading
        ``format``, ``on_error``, ``multilabel`` for paths.
    """
    if isinstance(data, Source) or is_paths(data):
        if y is not None or weight is not None or target is not None:
            raise SettingsError("a file or source brings its own labels and weights: pass no y, weight or target")
        if isinstance(data, Source):
            return data
        return scan(data, **reading)
    if any(value not in (None, "stop", False) for value in reading.values()):
        raise SettingsError(f"{', '.join(reading)}: these are for files, not for data in memory")
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


def is_paths(data: Any) -> bool:
    """Whether data is named by a path or several, to be read by `scan`."""
    if isinstance(data, (str, os.PathLike)):
        return True
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(isinstance(p, (str, os.PathLike)) for p in data)


def is_file_source(source: Source) -> bool:
    """Whether reading the source takes parsing, so that reading ahead pays."""
    while hasattr(source, "source"):
        source = source.source
    return isinstance(source, LineSource)
