"""Every file format that can be written, one entry each, and the function that writes a source."""

from __future__ import annotations

import gzip
import importlib
import os
from dataclasses import dataclass
from typing import Any

from thresher.core.storage.atomic import check_not_read, write_atomically
from thresher.display import did_you_mean, quoted
from thresher.errors import SettingsError
from thresher.sources.base import Source
from thresher.sources.files.changes import FilesAtStart
from thresher.sources.registry import BY_ENDING
from thresher.writers.write_report import WriteReport


@dataclass(frozen=True)
class Writer:
    """An output format. To add one, write its module and add its entry to `WRITERS`."""

    #: The function that writes a source to an open file, as ``module:function`` below `thresher.writers`.
    function: str
    #: Whether a file name that ends in ``.gz`` compresses the output.
    gzip: bool = False

    def write(self, source: Source, file: Any) -> WriteReport:
        """Write all rows of a source to an open file."""
        module, _, name = self.function.partition(":")
        report: WriteReport = getattr(importlib.import_module(f"thresher.writers.{module}"), name)(source, file)
        return report


#: The writers by format. `thresher.sources.registry` holds the file endings.
WRITERS = {
    "libsvm": Writer("libsvm:write_libsvm", gzip=True),
    "vw": Writer("vw:write_vw", gzip=True),
    "parquet": Writer("parquet:write_parquet"),
    "cache": Writer("cache:write_cache"),
}


def write_source(source: Source, path: str | os.PathLike[str], format: str | None = None) -> WriteReport:
    """Write all rows of a source. An existing file is replaced only when the new one is complete.

    Parameters
    ----------
    source : Source
    path : path
        The file to write; text is compressed if the path ends in ``.gz``.
    format : {"libsvm", "vw", "parquet", "cache"}, optional
        The format. The default follows from the ending of the path.

    Returns
    -------
    WriteReport
        The number of rows, and the information that the format cannot hold. A loss that would change the meaning of
        the data, such as that of weights, is an error instead.
    """
    name = os.fspath(path)
    kind = format or _format_of(name)
    if kind not in WRITERS:
        raise SettingsError(f"unknown format {quoted(kind)}{did_you_mean(kind, list(WRITERS))}")
    compressed = name.endswith(".gz")
    if compressed and not WRITERS[kind].gzip:
        raise SettingsError(f"{name}: only text can be compressed with gzip; leave out the .gz")
    report = WriteReport()
    files = FilesAtStart(source)
    check_not_read(path, files.paths)

    def write(file: Any) -> None:
        nonlocal report
        # Without time and name in the header, the same rows give the same bytes.
        out = gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) if compressed else file
        report = WRITERS[kind].write(source, out)
        if compressed:
            out.close()
        files.check()

    write_atomically(path, write)
    return report


def _format_of(path: str) -> str:
    kind = BY_ENDING.get(path.removesuffix(".gz").rpartition(".")[2].lower())
    if kind not in WRITERS:
        raise SettingsError(
            f"{path}: its ending does not show a format: rename it, or choose one of {', '.join(WRITERS)}"
        )
    return kind
