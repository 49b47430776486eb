"""The features as text tables: TSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from thresher.core.container import plain

if TYPE_CHECKING:
    from thresher.selection.selection import Selection

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def tsv_lines(selection: Selection) -> Iterator[str]:
    r"""The features as tab-separated lines, a header first, each with its newline.

    Columns are rank, name, key, weight (``weight_`` and the class, for several outputs), bound and
    count. Numbers are written so that they read back to the same bits. In names a tab, newline,
    carriage return or backslash is written ``\t``, ``\n``, ``\r`` or ``\\``, and a byte that is not
    UTF-8 as ``\xff``.
    """
    columns = selection.columns()
    columns["name"] = [_escaped(name) for name in selection.names]
    yield "\t".join(str(name).translate(_ESCAPES) for name in columns) + "\n"
    for row in zip(*(_listed(column) for column in columns.values()), strict=True):
        yield "\t".join(entry if isinstance(entry, str) else repr(entry) for entry in row) + "\n"


def as_json(selection: Selection) -> str:
    """The whole selection as one JSON object, with a newline at its end.

    ``features`` is a list of objects with rank, name, key (an unsigned 64-bit integer), weight,
    bound and count; beside it stand intercept, loss, classes, space, settings and provenance.
    """
    columns = selection.columns()
    rows = zip(*(_listed(column) for column in columns.values()), strict=True)
    whole = {
        "features": [dict(zip(columns, row, strict=True)) for row in rows],
        "intercept": selection.intercept,
        "loss": str(selection.loss),
        "classes": selection.classes,
        "space": selection.space.to_dict(),
        "settings": selection.settings,
        "provenance": selection.provenance,
    }
    text = json.dumps(plain(whole), indent=1, ensure_ascii=False, allow_nan=False)
    # A path among the settings may hold bytes that are not UTF-8, too.
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") + "\n"


def _escaped(name: str) -> str:
    # Backslashes are doubled before bytes that are not UTF-8 get one.
    return name.translate(_ESCAPES).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _listed(column: Any) -> list[Any]:
    return list(column) if isinstance(column, list) else list(column.tolist())
