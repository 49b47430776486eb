"""One file of named arrays and a little JSON: versioned, checksummed, written atomically, never code.

The layout is specified in ``docs/format.md``. Selections (``.thr``) and checkpoints both use it.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import tempfile
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.errors import FileFormatError

MAGIC = b"\x89THR\r\n\x1a\n"
VERSION = 1
_HEAD = struct.Struct("<8sIIQ")  # magic, version, bytes of JSON, bytes of the whole file
_CHECKSUM = 32
_ALIGN = 8
_DTYPES = {"<f4", "<f8", "<i8", "<u4", "<u8", "|u1"}


class Content(NamedTuple):
    """What a file holds: what it is for, a JSON object, and arrays by name."""

    kind: str
    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def write(path: str | os.PathLike[str], content: Content) -> None:
    """Write a file that is either there whole or not at all."""
    write_atomically(path, lambda file: file.write(encode(content)))


def write_atomically(path: str | os.PathLike[str], write_to: Callable[[Any], object]) -> None:
    """Let ``write_to`` fill a temporary file beside ``path``, then put it in its place.

    Whatever goes wrong before that (a full disk, an interrupt), a file already there stays as it was.
    """
    path = os.fspath(path)
    handle, temporary = tempfile.mkstemp(prefix=".thresher-", dir=os.path.dirname(path) or ".")
    try:
        with open(handle, "wb") as file:
            write_to(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def encode(content: Content) -> bytes:
    """The bytes of a file; the same content always gives the same bytes."""
    sections: dict[str, dict[str, Any]] = {}
    at = 0
    data: list[bytes] = []
    for name, array in sorted(content.arrays.items()):
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        if little.dtype.str not in _DTYPES:
            raise TypeError(f"{name}: arrays of {little.dtype} are not stored")
        raw = little.tobytes()
        sections[name] = {"dtype": little.dtype.str, "shape": list(little.shape), "offset": at, "bytes": len(raw)}
        data.append(raw + bytes(-len(raw) % _ALIGN))
        at += len(data[-1])
    header = {"kind": content.kind, "meta": content.meta, "arrays": sections}
    text = json.dumps(header, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-(_HEAD.size + len(text)) % _ALIGN)
    total = _HEAD.size + len(text) + at + _CHECKSUM
    body = b"".join([_HEAD.pack(MAGIC, VERSION, len(text), total), text, *data])
    return body + hashlib.blake2b(body, digest_size=_CHECKSUM).digest()


def read(path: str | os.PathLike[str], kind: str) -> Content:
    """Read a file of this kind, or say what is wrong with it."""
    try:
        with open(path, "rb") as file:
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
    """The reverse of `encode`. Nothing in the bytes is trusted before the checksum, nor much after it."""
    if not raw.startswith(MAGIC):
        raise FileFormatError("not a Thresher file.")
    if len(raw) < _HEAD.size + _CHECKSUM:
        raise FileFormatError("the file is cut short.")
    _, version, header_size, total = _HEAD.unpack_from(raw)
    if version > VERSION:
        raise FileFormatError(f"written in format {version}; this Thresher reads up to {VERSION}. Upgrade it.")
    if total != len(raw):
        raise FileFormatError(f"{len(raw)} bytes where {total} were written: cut short or added to.")
    body, checksum = raw[:-_CHECKSUM], raw[-_CHECKSUM:]
    if hashlib.blake2b(body, digest_size=_CHECKSUM).digest() != checksum:
        raise FileFormatError("the checksum does not fit: the file is damaged.")
    data_start = _HEAD.size + header_size
    try:
        header = json.loads(body[_HEAD.size : data_start])
        kind, meta, sections = header["kind"], header["meta"], header["arrays"]
        if not (isinstance(kind, str) and isinstance(meta, dict) and isinstance(sections, dict)):
            raise TypeError
        arrays = {name: _section(body, data_start, section) for name, section in sections.items()}
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise FileFormatError("the header is not in order.") from None
    return Content(kind, meta, arrays)


def _section(body: bytes, data_start: int, section: Mapping[str, Any]) -> NDArray[Any]:
    dtype, shape = section["dtype"], [int(n) for n in section["shape"]]
    start, size = data_start + int(section["offset"]), int(section["bytes"])
    if dtype not in _DTYPES or len(shape) > 2 or min([*shape, 0]) < 0:
        raise ValueError
    count = 1
    for n in shape:
        count *= n
    if start < data_start or size < 0 or start + size > len(body) or count * np.dtype(dtype).itemsize != size:
        raise ValueError
    return np.frombuffer(body, dtype=dtype, count=count, offset=start).reshape(shape)


def pack_strings(strings: list[bytes]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Strings as offsets and one stretch of bytes."""
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in strings], dtype=np.int64)]).astype(np.int64)
    return offsets, np.frombuffer(b"".join(strings), np.uint8)


def unpack_strings(offsets: NDArray[np.int64], text: NDArray[np.uint8]) -> list[bytes]:
    """The reverse of `pack_strings`."""
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) < 0).any():
        raise FileFormatError("the stored names are not in order.")
    raw = text.tobytes()
    return [raw[a:b] for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
