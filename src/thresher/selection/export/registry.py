"""The export formats, by the ending of the file."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import NamedTuple

from thresher.core.storage.atomic import write_atomically
from thresher.errors import SettingsError
from thresher.selection.export.onnx import onnx_bytes
from thresher.selection.export.tables import json_bytes, parquet_bytes, tsv_bytes
from thresher.selection.export.vw import vw_bytes
from thresher.selection.selection import Selection

log = logging.getLogger(__name__)


class ExportFormat(NamedTuple):
    """A function that encodes a selection, and whether the format can hold random features.

    ``note`` says what a reader of the file may not expect.
    """

    encode: Callable[[Selection], bytes]
    random_features: bool = True
    note: str | None = None


#: To add a format, write a module with its encoder, and add an entry under the ending of its files.
EXPORT_FORMATS = {
    "tsv": ExportFormat(tsv_bytes),
    "json": ExportFormat(json_bytes),
    "parquet": ExportFormat(parquet_bytes),
    "vw": ExportFormat(
        vw_bytes, random_features=False, note="weights as text, to be read by people: vw -i does not load this file"
    ),
    "onnx": ExportFormat(onnx_bytes, random_features=False),
}


def export(selection: Selection, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write a selection in the format of another program, atomically.

    Parameters
    ----------
    selection : Selection
    path : path
    format : {"tsv", "json", "parquet", "vw", "onnx"}, optional
        By default the ending of the path. ``vw`` is the text of ``--invert_hash``, which ``vw -i`` does not load.
    """
    name = os.path.splitext(os.fspath(path))[1][1:].lower() if format is None else format
    if name not in EXPORT_FORMATS:
        raise SettingsError(
            f"cannot export to {os.fspath(path)!r} as {name!r}: the formats are {', '.join(EXPORT_FORMATS)}. "
            "Name the file accordingly, or pass `format`."
        )
    kind = EXPORT_FORMATS[name]
    if selection.space.random_features is not None and not kind.random_features:
        raise SettingsError(f"{name} cannot hold random features: export tsv, json or parquet, or save the selection")
    content = kind.encode(selection)
    write_atomically(path, lambda file: file.write(content))
    if kind.note is not None:
        log.info("%s: %s", os.fspath(path), kind.note)
