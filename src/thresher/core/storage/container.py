"""A file format for named arrays and JSON: versioned, checksummed, written atomically, free of code.

``docs/format.md`` specifies the layout. Selections (``.thr``) and checkpoints use it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.core.storage.atomic import write_atomically
from thresher.errors import FileFormatError

MAGIC = b"\x89THR\r\n\x1a\n"
VERSION = 1
_HEAD = struct.Struct("<8sIIQ")  # magic, version, bytes of JSON, bytes of the whole file
_CHECKSUM = 32
_ALIGN = 8
_LARGEST = (1 << 63) - 1
_DTYPES = {"<f4", "<f8", "<i8", "<u2", "<u4", "<u8", "|u1"}


class Content(NamedTuple):
    """The content of a file: its kind, a JSON object, and arrays by name."""

    kind: str
    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def write(path: str | os.PathLike[str], content: Content) -> None:
    """Write a file atomically."""
    write_atomically(path, lambda file: file.writelines(_pieces(content)))


def encode(content: Content) -> bytes:
    """The bytes of a file, a function of the content alone."""
    return b"".join(_pieces(content))


def _pieces(content: Content) -> Iterator[bytes | memoryview]:
    """The bytes of a file one after the other. Arrays are not copied: those of a checkpoint are most of the plan."""
    sections: dict[str, dict[str, Any]] = {}
    at = 0
    data: list[bytes | memoryview] = []
    for name, array in sorted(content.arrays.items()):
        little = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        if little.dtype.str not in _DTYPES:
            raise TypeError(f"{name}: arrays of {little.dtype} are not stored")
        size = little.nbytes
        sections[name] = {"dtype": little.dtype.str, "shape": list(little.shape), "offset": at, "bytes": size}
        data += [little.reshape(-1).view(np.uint8).data, bytes(-size % _ALIGN)]
        at += size + len(data[-1])
    header = {"kind": content.kind, "meta": plain(content.meta), "arrays": sections}
    text = json.dumps(header, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-(_HEAD.size + len(text)) % _ALIGN)
    total = _HEAD.size + len(text) + at + _CHECKSUM
    checksum = hashlib.blake2b(digest_size=_CHECKSUM)
    for piece in (_HEAD.pack(MAGIC, VERSION, len(text), total), text, *data):
        checksum.update(piece)
        yield piece
    yield checksum.digest()


def read(path: str | os.PathLike[str], kind: str) -> Content:
    """Read a file of this kind; raises `FileFormatError` if it is invalid."""
    try:
        with open(path, "rb") as file:
            raw = file.peek(len(MAGIC))[: len(MAGIC)]
            if MAGIC.startswith(raw):  # another program's file may be large: stop after its first bytes
                raw = file.read()
    except OSError as error:
        raise FileFormatError(f"{os.fspath(path)}: cannot be read ({error.strerror}).") from None
    try:
        content = decode(raw)
    except FileFormatError as error:
        raise FileFormatError(f"{os.fspath(path)}: {error}") from None
    if content.kind != kind:
        raise FileFormatError(f"{os.fspath(path)}: this is a {content.kind!r} file, a {kind!r} file is needed.")
    return content


def decode(raw: bytes) -> Content:
    """The reverse of `encode`. Everything is checked, since even a valid checksum may be forged."""
    if not raw.startswith(MAGIC):
        raise FileFormatError("not a Thresher file.")
    if len(raw) < _HEAD.size + _CHECKSUM:
        raise FileFormatError("the file is cut short.")
    _, version, header_size, total = _HEAD.unpack_from(raw)
    if version < 1:
        raise FileFormatError("format 0 does not exist.")
    if version > VERSION:
        raise FileFormatError(f"written in format {version}; this Thresher reads up to {VERSION}. Upgrade it.")
    if total != len(raw):
        raise FileFormatError(f"the file has {len(raw)} bytes instead of {total}: it was cut short or appended to.")
    body, checksum = memoryview(raw)[:-_CHECKSUM], raw[-_CHECKSUM:]
    if hashlib.blake2b(body, digest_size=_CHECKSUM).digest() != checksum:
        raise FileFormatError("the checksum does not match: the file is damaged.")
    data_start = _HEAD.size + header_size
    if data_start > len(body) or data_start % _ALIGN:
        raise FileFormatError("the header is invalid (its size).")
    try:
        text = bytes(body[_HEAD.size : data_start])
        header = json.loads(text, object_pairs_hook=_json_object, parse_constant=_no_constant)
        kind, meta, sections = header["kind"], header["meta"], header["arrays"]
        if not (isinstance(kind, str) and isinstance(meta, dict) and isinstance(sections, dict)):
            raise TypeError("its parts have the wrong types")
        arrays = _read_arrays(body[data_start:], sections)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileFormatError(f"the header is invalid ({error}).") from None
    return Content(kind, meta, arrays)


def _read_arrays(data: memoryview, sections: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """The arrays as views of ``data``, so that a forged header cannot make us allocate memory."""
    arrays = {}
    ranges = []
    for name, section in sections.items():
        dtype, shape, start, size = (section[field] for field in ("dtype", "shape", "offset", "bytes"))
        if dtype not in _DTYPES or not isinstance(shape, list) or len(shape) > 2:
            raise ValueError(f"{name}: invalid type or shape")
        if not all(type(n) is int and 0 <= n <= _LARGEST for n in (*shape, start, size)):
            raise ValueError(f"{name}: invalid size")
        if start % _ALIGN or start + size > len(data) or math.prod(shape) * np.dtype(dtype).itemsize != size:
            raise ValueError(f"{name}: invalid position")
        ranges.append((start, start + size))
        arrays[name] = np.frombuffer(data[start : start + size], dtype=dtype).reshape(shape)
    ranges.sort()
    if any(end > start for (_, end), (start, _) in itertools.pairwise(ranges)):
        raise ValueError("arrays overlap")
    return arrays


def _json_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a name occurs twice")
    return fields


def checked_count(number: Any) -> int:
    """A number that JSON gave, if it is a whole number that fits 64 bits; ValueError otherwise."""
    if type(number) is not int or not 0 <= number <= _LARGEST:
        raise ValueError(f"{number!r} is not a whole number")
    return number


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def plain(value: Any) -> Any:
    """A value as JSON returns it: NumPy numbers as Python numbers, tuples as lists, NaN and infinity as None."""
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, (np.generic, np.ndarray)):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def pack_strings(strings: list[bytes]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Strings as offsets into their concatenation."""
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in strings], dtype=np.int64)]).astype(np.int64)
    return offsets, np.frombuffer(b"".join(strings), np.uint8)


def unpack_strings(offsets: NDArray[np.int64], text: NDArray[np.uint8]) -> list[bytes]:
    """The reverse of `pack_strings`."""
    if offsets.dtype != np.int64 or text.dtype != np.uint8 or offsets.ndim != 1 or text.ndim != 1:
        raise FileFormatError("the stored names have the wrong type.")
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) < 0).any():
        raise FileFormatError("the offsets of the stored names are invalid.")
    raw = text.tobytes()
    return [raw[a:b] for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
