"""Any source as LIBSVM or VW text, as Parquet, or as a file of parsed rows."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from typing import Any

from thresher.core.container import write_atomically
from thresher.errors import SettingsError
from thresher.sources.base import Source
from thresher.sources.endings import BY_ENDING
from thresher.writers.parquet import write_parquet
from thresher.writers.stored import write_stored
from thresher.writers.text import write_libsvm, write_vw
from thresher.writers.written import Written

__all__ = ["FORMATS", "Written", "write_source"]

_WRITERS: dict[str, Callable[[Source, Any], Written]] = {
    "libsvm": write_libsvm,
    "vw": write_vw,
    "parquet": write_parquet,
    "cache": write_stored,
}
#: What can be written.
FORMATS = tuple(_WRITERS)
_TEXT = ("libsvm", "vw")


def write_source(source: Source, path: str | os.PathLike[str], format: str | None = None) -> Written:
    """Write all rows of a source. A file already there is replaced only at the end.

    Parameters
    ----------
    source : Source
    path : path
        Where to write; text is compressed if it ends in ``.gz``.
    format : {"libsvm", "vw", "parquet", "cache"}, optional
        By the ending of the path, if not given.

    Returns
    -------
    Written
        How many rows there were, and what of them the format could not hold. What would make other data of them,
        such as weights that are left out, is an error instead.
    """
    kind = format or _by_ending(os.fspath(path))
    if kind not in _WRITERS:
        raise SettingsError(f"unknown format {kind!r}: one of {', '.join(FORMATS)}")
    compressed = os.fspath(path).endswith(".gz")
    if compressed and kind not in _TEXT:
        raise SettingsError(f"{os.fspath(path)}: only text is compressed with gzip; leave out the .gz")
    written = Written()

    def write(file: Any) -> None:
        nonlocal written
        # No time and no name inside, so that the same rows give the same bytes.
        out = gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) if compressed else file
        written = _WRITERS[kind](source, out)
        if compressed:
            out.close()

    write_atomically(path, write)
    return written


def _by_ending(path: str) -> str:
    ending = path.removesuffix(".gz").rpartition(".")[2].lower()
    kind = "parquet" if ending == "parquet" else BY_ENDING.get(ending)
    if kind not in _WRITERS:
        raise SettingsError(f"{path}: its ending does not show a format; pass one of {', '.join(FORMATS)} (--to)")
    return kind
