"""A selection for other programs: tables, Vowpal Wabbit, scikit-learn, ONNX."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from thresher.core.container import write_atomically
from thresher.errors import SettingsError

if TYPE_CHECKING:
    from thresher.selection.selection import Selection

FORMATS = ("tsv", "json", "parquet", "vw", "onnx")


def export(selection: Selection, path: str | os.PathLike[str], format: str | None = None) -> None:
    """Write a selection as other programs read it; a file already there is replaced only at the end.

    Parameters
    ----------
    selection : Selection
    path : path
    format : {"tsv", "json", "parquet", "vw", "onnx"}, optional
        By the path's ending, unless said.
    """
    kind = os.path.splitext(os.fspath(path))[1][1:].lower() if format is None else format
    if kind not in FORMATS:
        raise SettingsError(
            f"cannot export to {os.fspath(path)!r} as {kind!r}: the formats are {', '.join(FORMATS)}. "
            "Name the file accordingly, or pass format=."
        )
    write_atomically(path, _writer(selection, kind))


def _writer(selection: Selection, kind: str) -> Callable[[Any], object]:
    """What fills the file; whatever cannot be written is found out before there is one."""
    if selection.space.random_features is not None and kind in ("vw", "onnx"):
        raise SettingsError(f"{kind} has no functions drawn at random: export tsv, json or parquet, or save the model")
    if kind == "parquet":
        import pyarrow.parquet as pq

        table = selection.to_arrow()
        return lambda file: pq.write_table(table, file)
    if kind == "onnx":
        from thresher.selection.export.onnx import to_onnx

        model: bytes = to_onnx(selection).SerializeToString()
        return lambda file: file.write(model)
    from thresher.selection.export import tables, vw

    if kind == "json":
        lines = [tables.as_json(selection)]
    else:
        lines = list(tables.tsv_lines(selection) if kind == "tsv" else vw.lines(selection))
    return lambda file: file.writelines(line.encode("utf-8", "surrogateescape") for line in lines)
