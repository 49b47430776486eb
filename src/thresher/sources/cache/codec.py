"""Batches as Arrow record batches and back, without a copy.

A batch of rows is one record batch of a single row whose entries are lists: the arrays of a `Batch` as they are, the
names of its features in as little text as they need, the cursor just behind it, and a checksum. The last record
batch of a file is its `Summary`. The layout is specified in ``docs/cache.md``.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor, Names
from thresher.core.container import pack_strings
from thresher.core.optional import need
from thresher.errors import FileFormatError

#: Later ones may hold something that this one does not know how to read.
VERSION = 1
#: Arrays of numbers, as they stand in the file; what a batch leaves out is null there.
_ARRAYS = {
    "indptr": "int64",
    "keys": "uint64",
    "values": "float32",
    "y": "float64",
    "y_indptr": "int64",
    "weight": "float32",
    "words": "uint64",
    "text": "uint8",
    "qid": "int64",
    "line": "int64",
}
#: Lists of bytes: labels that are text, and what names begin with.
_LISTS = ("labels", "prefixes")


class Block(NamedTuple):
    """Some rows as they are stored, and the cursor just behind them."""

    batch: Batch
    cursor: Cursor


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What the end of a file says of the whole.

    ``starts`` are the rows before each block, and behind the last; ``digest`` is of the rows' content, however they
    were batched; ``skipped`` counts bad lines passed over, ``files`` those of each file (by its number, from 0) that
    had some, and ``line_cap`` and ``window`` are the limits for that.
    """

    starts: list[int]
    skipped: int = 0
    digest: str | None = None
    line_cap: int = 0
    window: int = 0
    files: dict[int, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return self.starts[-1]


def pyarrow() -> Any:
    """The package that reads and writes the files, imported when it is first needed."""
    need("pyarrow.ipc", "arrow")
    return need("pyarrow", "arrow")


@cache
def schema() -> Any:
    """The columns of a record batch."""
    pa = pyarrow()
    columns = [(name, pa.large_list(getattr(pa, kind)())) for name, kind in _ARRAYS.items()]
    columns += [(name, pa.large_list(pa.large_binary())) for name in _LISTS]
    return pa.schema([*columns, ("cursor", pa.large_utf8()), ("summary", pa.large_utf8()), ("checksum", pa.uint64())])


def encode(batch: Batch, cursor: Cursor) -> Any:
    """The record batch of some rows."""
    arrays: dict[str, NDArray[Any] | None] = {name: getattr(batch, name, None) for name in _ARRAYS}
    lists: dict[str, list[bytes] | None] = dict.fromkeys(_LISTS)
    if batch.names is not None:
        arrays["words"], arrays["text"], lists["prefixes"] = _compact(batch)
    if batch.y is not None and batch.y.dtype.kind not in "biuf":
        labels = batch.y.tolist()
        words = [isinstance(label, str) for label in labels]
        arrays["y"] = np.where(words, 0.0, np.nan)  # says where there is none
        lists["labels"] = [
            label.encode("utf-8", "surrogateescape") if word else b"" for label, word in zip(labels, words, strict=True)
        ]
    cast = {name: None if a is None else np.ascontiguousarray(a, dtype=_ARRAYS[name]) for name, a in arrays.items()}
    return _record(cast, lists, json.dumps(cursor.to_dict()), "")


def encode_summary(summary: Summary) -> Any:
    """The record batch that ends a file."""
    return _record(dict.fromkeys(_ARRAYS), dict.fromkeys(_LISTS), "", json.dumps(asdict(summary)))


def decode(record: Any) -> Block:
    """The rows of a record batch, as views of it; damage of any kind is a `FileFormatError`."""
    columns = _columns(record)
    arrays = {name: _array(name, columns[name]) for name in _ARRAYS}
    lists = {name: columns[name][0].as_py() for name in _LISTS}
    cursor = columns["cursor"][0].as_py()
    if columns["checksum"][0].as_py() != _checksum(arrays, lists, cursor):
        raise FileFormatError("the checksum does not fit")
    indptr, keys = arrays["indptr"], arrays["keys"]
    if indptr is None or keys is None:
        raise FileFormatError("no rows where there should be some")
    y = arrays["y"]
    if lists["labels"] is not None and y is not None:
        missing = np.isnan(y).tolist()
        words = [word.decode("utf-8", "surrogateescape") for word in lists["labels"]]
        y = np.array([np.nan if no else word for no, word in zip(missing, words, strict=True)], dtype=object)
    names = None
    if arrays["words"] is not None and arrays["text"] is not None:
        names = Names(arrays["words"], arrays["text"], lists["prefixes"] or [b""])
    batch = Batch(
        indptr, keys, arrays["values"], y, arrays["y_indptr"], arrays["weight"], names, arrays["qid"], arrays["line"]
    )
    return Block(batch, Cursor.from_dict(json.loads(cursor)))


def decode_summary(record: Any) -> Summary:
    """What `encode_summary` wrote."""
    columns = _columns(record)
    text = columns["summary"][0].as_py()
    if not text or columns["checksum"][0].as_py() != _checksum(dict.fromkeys(_ARRAYS), dict.fromkeys(_LISTS), text):
        raise FileFormatError("its end is not in order")
    told = json.loads(text)
    return Summary(**{**told, "files": {int(number): count for number, count in told["files"].items()}})


class Digest:
    """A hash of the content of rows that does not depend on the batches they come in."""

    def __init__(self) -> None:
        import hashlib

        self._parts = {name: hashlib.blake2b(digest_size=16) for name in ("counts", "keys", "values", "y", "weight")}

    def add(self, batch: Batch) -> None:
        """Take in some more rows."""
        ones = np.ones(batch.nnz, np.float32) if batch.values is None else batch.values
        weight = np.ones(len(batch), np.float32) if batch.weight is None else batch.weight
        counts = np.diff(batch.indptr)
        if batch.y_indptr is not None:
            counts = np.stack([counts, np.diff(batch.y_indptr)], axis=1)
        y = b"" if batch.y is None else batch.y
        if isinstance(y, np.ndarray):
            words = y.dtype == object
            y = "".join(f"{v!r}\0" for v in y).encode() if words else np.ascontiguousarray(y, dtype=np.float64)
        for name, part in (("counts", counts), ("keys", batch.keys), ("values", ones), ("y", y), ("weight", weight)):
            self._parts[name].update(part if isinstance(part, bytes) else np.ascontiguousarray(part).data)

    def hexdigest(self) -> str:
        """The hash so far."""
        import hashlib

        whole = hashlib.blake2b(digest_size=16)
        for part in self._parts.values():
            whole.update(part.digest())
        return whole.hexdigest()


def _compact(batch: Batch) -> tuple[NDArray[np.uint64], NDArray[np.uint8], list[bytes]]:
    """The names of a batch with every one of them once, where that takes less room."""
    names = batch.names
    assert names is not None
    if names.parents is not None:  # products: no text holds their names
        names = Names.of_bytes(names._spelled())
    smaller = _native.compact_names(batch.keys, names.words, names.text)
    return (*(smaller or (names.words, names.text)), list(names.prefixes))


def _record(
    arrays: dict[str, NDArray[Any] | None], lists: dict[str, list[bytes] | None], cursor: str, summary: str
) -> Any:
    pa = pyarrow()
    form = schema()
    columns = []
    for name, entry in [*arrays.items(), *lists.items()]:
        inside = form.field(name).type
        if entry is None:
            columns.append(pa.nulls(1, inside))
            continue
        if isinstance(entry, list):
            values = _strings(entry, inside.value_type)
        else:
            values = pa.Array.from_buffers(inside.value_type, len(entry), [None, pa.py_buffer(entry)])
        ends = pa.py_buffer(np.array([0, len(entry)], np.int64))
        columns.append(pa.Array.from_buffers(inside, 1, [None, ends], children=[values]))
    columns += [_strings([text.encode()], pa.large_utf8()) for text in (cursor, summary)]
    check = np.array([_checksum(arrays, lists, cursor + summary)], np.uint64)
    columns.append(pa.Array.from_buffers(pa.uint64(), 1, [None, pa.py_buffer(check)]))
    return pa.record_batch(columns, schema=form)


def _strings(strings: list[bytes], kind: Any) -> Any:
    """Strings as an Arrow array. (``pa.array`` would do, but imports pandas where there is one.)"""
    pa = pyarrow()
    offsets, text = pack_strings(strings)
    return pa.Array.from_buffers(kind, len(strings), [None, pa.py_buffer(offsets), pa.py_buffer(text)])


def _columns(record: Any) -> dict[str, Any]:
    """The columns by name, checked as far as they are followed before the checksum is known."""
    record.validate()
    columns = dict(zip(record.schema.names, record.columns, strict=True))
    for name in (*_LISTS, "cursor", "summary"):
        columns[name].validate(full=True)
    return columns


def _array(name: str, column: Any) -> NDArray[Any] | None:
    """The one entry of a column of lists of numbers, as a view."""
    if len(column) != 1:
        raise FileFormatError("not one entry a column")
    if column.null_count:
        return None
    entry = column.values
    # (``to_numpy`` would do, but imports pandas where there is one.)
    return np.frombuffer(entry.buffers()[1] or b"", _ARRAYS[name], len(entry))


def _checksum(arrays: dict[str, NDArray[Any] | None], lists: dict[str, list[bytes] | None], text: str) -> int:
    """Of all that a record batch holds; an array that is left out counts too."""
    check = _native.checksum(np.frombuffer(text.encode(), np.uint8), VERSION)
    for array in arrays.values():
        check = check ^ 1 if array is None else _native.checksum(array.view(np.uint8), check)
    for entries in lists.values():
        check = _native.checksum(np.frombuffer(repr(entries).encode(), np.uint8), check)
    return check
