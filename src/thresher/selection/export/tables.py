"""Export of the features as tables: TSV, JSON and Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

from thresher.core.storage.container import plain
from thresher.display import is_safe, tsv_cell
from thresher.selection.selection import Selection


def tsv_line(cells: Iterable[Any]) -> str:
    r"""A line of TSV with its newline; texts are escaped as `tsv_lines` escapes names."""
    return "\t".join(tsv_cell(cell) if isinstance(cell, str) else repr(cell) for cell in cells) + "\n"


def tsv_lines(selection: Selection) -> Iterator[str]:
    r"""The features as tab-separated lines with their newlines, a header first.

    The columns are those of `Selection.columns`. Numbers
    have enough digits to be read back exactly. Names and classes are escaped, see `thresher.display.tsv_cell`.
    """
    columns = selection.columns()
    columns["name"] = selection.names
    yield tsv_line(map(str, columns))
    for row in zip(*(_as_list(column) for column in columns.values()), strict=True):
        yield tsv_line(row)


def as_json(selection: Selection) -> str:
    """The whole selection as one JSON object and a newline.

    ``features`` is a list of objects with rank, name, key (an unsigned 64-bit integer), weight, bound and count. The
    other members are intercept, loss, classes, space, settings, provenance and calibration (null without one). If
    stand-ins were looked for, each feature has ``stand_ins``, a list of names and cosines. For k-mers there are
    ``words``, if any, with their k-mers and the sum of their weights.
    """
    columns = selection.columns()
    if selection.stand_ins is not None:
        columns["stand_ins"] = [selection.stand_ins.get(name, []) for name in selection.names]
    rows = zip(*(_as_list(column) for column in columns.values()), strict=True)
    whole = {
        "features": [dict(zip(columns, row, strict=True)) for row in rows],
        "intercept": selection.intercept,
        "loss": str(selection.loss),
        "classes": selection.classes,
        "space": selection.space.to_dict(),
        "settings": selection.settings,
        "provenance": selection.provenance,
        "calibration": None if selection.calibration is None else selection.calibration.to_dict(),
    }
    if words := selection.words:
        whole["words"] = [{"word": str(word), "kmers": word.kmers, "weight": word.weight} for word in words]
    text = json.dumps(plain(whole), indent=1, ensure_ascii=False, allow_nan=False)
    # Paths in the settings may have bytes that are not UTF-8, as names may.
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "\n".join(map(_json_escaped, text.split("\n"))) + "\n"


def tsv_bytes(selection: Selection) -> bytes:
    """The features as TSV."""
    return "".join(tsv_lines(selection)).encode("utf-8", "surrogateescape")


def json_bytes(selection: Selection) -> bytes:
    """The selection as JSON."""
    return as_json(selection).encode()


def parquet_bytes(selection: Selection) -> bytes:
    """The features as a Parquet file."""
    import pyarrow.parquet as pq

    buffer = BytesIO()
    pq.write_table(selection.to_arrow(), buffer)
    return buffer.getvalue()


def _json_escaped(line: str) -> str:
    """JSON without raw control and format characters, which occur only within its strings."""
    if line.isprintable():
        return line
    return "".join(c if is_safe(c) else json.dumps(c)[1:-1] for c in line)


def _as_list(column: Any) -> list[Any]:
    return list(column.tolist() if hasattr(column, "tolist") else column)
