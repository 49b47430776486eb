"""Encodes batches as Arrow record batches, and decodes them without a copy.

A batch becomes one record batch of a single row whose entries are lists: the arrays of the `Batch`, the compacted
names of its features, the cursor just behind it, and a checksum. The last record batch of a file is its `Summary`.
``docs/cache.md`` specifies the layout.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor, Names
from thresher.core.optional import need
from thresher.core.storage.container import checked_count, pack_strings
from thresher.errors import FileFormatError

#: The version of the file format, and the start of the checksums, which is the same in all versions.
VERSION = 2
_CHECKSUM_START = 1
#: The types of the arrays of numbers in the file; absent arrays are null.
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
#: Lists of bytes: text labels, and the prefixes of names.
_LISTS = ("labels", "prefixes")


class Block(NamedTuple):
    """A stored batch, and the cursor just behind it."""

    batch: Batch
    cursor: Cursor


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The summary at the end of a file.

    ``starts`` are the rows before each block and behind the last. ``digest`` hashes the rows, independent of their
    batches. ``skipped`` counts skipped lines, and ``files`` those of each file (by its number, from 0) that had any.
    ``line_cap`` and ``window`` are the reading limits, on which the skipped lines depend.

    ``pieces`` are the rows before each block of the source (see `thresher.sources.blocks`) and in all, and
    ``piece_skips`` the skipped lines; None in a file of version 1.
    """

    starts: list[int]
    skipped: int = 0
    digest: str | None = None
    line_cap: int = 0
    window: int = 0
    files: dict[int, int] = field(default_factory=dict)
    pieces: NDArray[np.int64] | None = None
    piece_skips: NDArray[np.int64] | None = None

    @property
    def rows(self) -> int:
        return self.starts[-1]


def pyarrow() -> Any:
    """Import pyarrow, on first use."""
    need("pyarrow.ipc", "arrow")
    return need("pyarrow", "arrow")


@cache
def schema() -> Any:
    """The Arrow schema of a record batch."""
    pa = pyarrow()
    columns = [(name, pa.large_list(getattr(pa, kind)())) for name, kind in _ARRAYS.items()]
    columns += [(name, pa.large_list(pa.large_binary())) for name in _LISTS]
    return pa.schema([*columns, ("cursor", pa.large_utf8()), ("summary", pa.large_utf8()), ("checksum", pa.uint64())])


def encode(batch: Batch, cursor: Cursor) -> Any:
    """Encode a batch as a record batch."""
    arrays: dict[str, NDArray[Any] | None] = {name: getattr(batch, name, None) for name in _ARRAYS}
    lists: dict[str, list[bytes] | None] = dict.fromkeys(_LISTS)
    if batch.names is not None:
        names = batch.names.compact(batch.keys)
        arrays["words"], arrays["text"], lists["prefixes"] = names.words, names.text, names.prefixes
    if batch.y is not None and batch.y.dtype.kind not in "biuf":
        labels = batch.y.tolist()
        words = [isinstance(label, str) for label in labels]
        arrays["y"] = np.where(words, 0.0, np.nan)  # NaN marks a missing label
        lists["labels"] = [
            label.encode("utf-8", "surrogateescape") if word else b"" for label, word in zip(labels, words, strict=True)
        ]
    cast = {name: None if a is None else np.ascontiguousarray(a, dtype=_ARRAYS[name]) for name, a in arrays.items()}
    return _record(cast, lists, json.dumps(cursor.to_dict()), "")


def encode_summary(summary: Summary) -> Any:
    """Encode the summary as the last record batch of a file."""
    fields = {name: value for name, value in vars(summary).items() if name not in ("pieces", "piece_skips")}
    arrays = {**dict.fromkeys(_ARRAYS), "indptr": summary.pieces, "line": summary.piece_skips}
    return _record(arrays, dict.fromkeys(_LISTS), "", json.dumps(fields))


def decode(record: Any, key_limit: int = 1 << 64, *, check: bool = True) -> Block:
    """Decode a record batch into views of it; keys must be below ``key_limit``.

    Everything is checked, since even a valid checksum may be forged, unless it was checked before: what is then copied
    from it must pass `check_batch`. Damage raises an exception of any kind.
    """
    columns = _columns(record)
    arrays = {name: _array(name, columns[name]) for name in _ARRAYS}
    lists = {name: columns[name][0].as_py() for name in _LISTS}
    cursor = columns["cursor"][0].as_py()
    if check and columns["checksum"][0].as_py() != _checksum(arrays, lists, cursor):
        raise FileFormatError("the checksum does not match")
    indptr, keys = arrays["indptr"], arrays["keys"]
    if indptr is None or keys is None:
        raise FileFormatError("the rows are missing")
    y, prefixes = arrays["y"], lists["prefixes"] or [b""]
    if lists["labels"] is not None and y is not None:
        missing = np.isnan(y).tolist()
        words = [word.decode("utf-8", "surrogateescape") for word in lists["labels"]]
        y = np.array([np.nan if absent else word for absent, word in zip(missing, words, strict=True)], dtype=object)
    names = None
    if (arrays["words"] is None) != (arrays["text"] is None):
        raise FileFormatError("the names or their text are missing")
    if arrays["words"] is not None and arrays["text"] is not None:
        names = Names(arrays["words"], arrays["text"], prefixes)
    batch = Batch(
        indptr, keys, arrays["values"], y, arrays["y_indptr"], arrays["weight"], names, arrays["qid"], arrays["line"]
    )
    if check:
        check_batch(batch, key_limit)
    return Block(batch, Cursor.from_dict(json.loads(cursor)))


def check_batch(batch: Batch, key_limit: int) -> None:
    """Raise an exception of any kind unless the arrays of a batch fit together and its keys are below ``key_limit``."""
    names = batch.names
    _native.check_rows(
        batch.indptr,
        batch.keys,
        batch.values,
        np.zeros(len(batch.y)) if batch.y is not None and batch.y.dtype == object else batch.y,
        batch.y_indptr,
        batch.weight,
        None if names is None else names.words,
        None if names is None else names.text,
        prefixes=1 if names is None else len(names.prefixes),
        last_key=max(0, key_limit - 1),
    )
    for name in ("qid", "line"):
        column = getattr(batch, name)
        if column is not None and len(column) != len(batch):
            raise FileFormatError(f"{name} does not have one entry a row")


def decode_summary(record: Any) -> Summary:
    """The inverse of `encode_summary`."""
    columns = _columns(record)
    text = columns["summary"][0].as_py()
    arrays = {name: _array(name, columns[name]) for name in _ARRAYS}
    if not text or columns["checksum"][0].as_py() != _checksum(arrays, dict.fromkeys(_LISTS), text):
        raise FileFormatError("the summary is damaged")
    fields = json.loads(text)
    starts, digest = [checked_count(start) for start in fields.pop("starts")], fields.pop("digest")
    if starts[0] != 0 or sorted(starts) != starts or not isinstance(digest, str | None):
        raise FileFormatError("the summary is invalid")
    files = {int(number): checked_count(count) for number, count in fields.pop("files").items()}
    counts = {name: checked_count(count) for name, count in fields.items()}
    pieces, skips = arrays["indptr"], arrays["line"]
    for numbers, most in ((pieces, starts[-1]), (skips, counts["skipped"])):
        if numbers is not None and (len(numbers) < 2 or np.any(np.diff(numbers, prepend=0, append=most) < 0)):
            raise FileFormatError("the summary is invalid")
    if pieces is not None and skips is not None and len(pieces) != len(skips):
        raise FileFormatError("the summary is invalid")
    # Copies: the summary outlives a file that another program cuts short.
    pieces, skips = (None if numbers is None else numbers.copy() for numbers in (pieces, skips))
    return Summary(starts=starts, digest=digest, files=files, pieces=pieces, piece_skips=skips, **counts)


class Digest:
    """A hash of rows that does not depend on their batches."""

    def __init__(self) -> None:
        import hashlib

        self._parts = {name: hashlib.blake2b(digest_size=16) for name in ("counts", "keys", "values", "y", "weight")}

    def add(self, batch: Batch) -> None:
        """Add the rows of a batch."""
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
        """The hash of the rows added so far."""
        import hashlib

        whole = hashlib.blake2b(digest_size=16)
        for part in self._parts.values():
            whole.update(part.digest())
        return whole.hexdigest()


def _record(
    arrays: dict[str, NDArray[Any] | None], lists: dict[str, list[bytes] | None], cursor: str, summary: str
) -> Any:
    pa = pyarrow()
    columns_schema = schema()
    columns = []
    for name, entry in [*arrays.items(), *lists.items()]:
        kind = columns_schema.field(name).type
        if entry is None:
            columns.append(pa.nulls(1, kind))
            continue
        if isinstance(entry, list):
            values = _strings(entry, kind.value_type)
        else:
            values = pa.Array.from_buffers(kind.value_type, len(entry), [None, pa.py_buffer(entry)])
        ends = pa.py_buffer(np.array([0, len(entry)], np.int64))
        columns.append(pa.Array.from_buffers(kind, 1, [None, ends], children=[values]))
    columns += [_strings([text.encode()], pa.large_utf8()) for text in (cursor, summary)]
    check = np.array([_checksum(arrays, lists, cursor + summary)], np.uint64)
    columns.append(pa.Array.from_buffers(pa.uint64(), 1, [None, pa.py_buffer(check)]))
    return pa.record_batch(columns, schema=columns_schema)


def _strings(strings: list[bytes], kind: Any) -> Any:
    """Make an Arrow array of strings. (``pa.array`` would import pandas if it is installed.)"""
    pa = pyarrow()
    offsets, text = pack_strings(strings)
    return pa.Array.from_buffers(kind, len(strings), [None, pa.py_buffer(offsets), pa.py_buffer(text)])


def _columns(record: Any) -> dict[str, Any]:
    """The columns by name, validated where they are read before the checksum."""
    record.validate()
    columns = dict(zip(record.schema.names, record.columns, strict=True))
    for name in (*_LISTS, "cursor", "summary"):
        columns[name].validate(full=True)
    return columns


def _array(name: str, column: Any) -> NDArray[Any] | None:
    """The only entry of a column of lists of numbers, as a view."""
    if len(column) != 1:
        raise FileFormatError("a column does not have exactly one entry")
    if column.null_count:
        return None
    entry = column.values
    # (``to_numpy`` would import pandas if it is installed.)
    array = np.frombuffer(entry.buffers()[1] or b"", _ARRAYS[name], len(entry))
    if not array.flags.aligned:
        raise FileFormatError("an array is not aligned")
    return array


def _checksum(arrays: dict[str, NDArray[Any] | None], lists: dict[str, list[bytes] | None], text: str) -> int:
    """The checksum of a record batch; absent arrays count too."""
    check = _native.checksum(np.frombuffer(text.encode(), np.uint8), _CHECKSUM_START)
    for array in arrays.values():
        check = check ^ 1 if array is None else _native.checksum(array.view(np.uint8), check)
    for entries in lists.values():
        check = _native.checksum(np.frombuffer(repr(entries).encode(), np.uint8), check)
    return check
