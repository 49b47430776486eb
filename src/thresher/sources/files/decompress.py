"""Compressed files as plain byte streams, recognised by content and never larger in memory than allowed."""

from __future__ import annotations

import bz2
import contextlib
import io
import lzma
import zlib
from collections.abc import Callable
from typing import Any, Protocol

from thresher.errors import DataError, UnreadableError
from thresher.sources.files.zstd import Zstd

#: First bytes of each format. Extensions are not looked at.
MAGIC = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00", "zstd": b"\x28\xb5\x2f\xfd"}
#: Stored bytes read, and about the bytes made, at a time: always the same, so damage always costs the same rows.
_STEP = 1 << 16
_ZSTD_SKIPPABLE = tuple(bytes([0x50 + i]) + b"\x2a\x4d\x18" for i in range(16))


class _Decompressor(Protocol):
    """What the standard library's bz2 and lzma objects offer."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    """zlib's object in the shape of the others."""

    def __init__(self) -> None:
        self._object = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._object.eof

    @property
    def needs_input(self) -> bool:
        return not self._object.unconsumed_tail and not self._object.eof

    @property
    def unused_data(self) -> bytes:
        return self._object.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        waiting = self._object.unconsumed_tail + data
        before = self._object.copy()
        try:
            return self._object.decompress(waiting, max_length)
        except zlib.error:
            # What the call made before it met the damage went with it: make that again, byte by byte.
            self._object = before
            out = bytearray()
            with contextlib.suppress(zlib.error):
                for i in range(len(waiting)):
                    out += self._object.decompress(waiting[i : i + 1])
            if not out:
                raise
            return bytes(out)  # the next call raises


class Inflated(io.RawIOBase):
    """The decompressed bytes of a stored stream, one member or frame after the other."""

    def __init__(self, stored: io.BufferedReader, name: str, kind: str, window_limit: int) -> None:
        self._stored = stored
        self._name = name
        self._kind = kind
        self._window_limit = window_limit
        makers: dict[str, Callable[[], _Decompressor]] = {
            "gzip": _Gzip,
            "bzip2": bz2.BZ2Decompressor,
            "xz": lambda: lzma.LZMADecompressor(memlimit=window_limit),
            "zstd": lambda: Zstd(window_limit),
        }
        self._make = makers[kind]
        self._object = self._make()
        self._pending = memoryview(b"")  # decompressed, not yet asked for

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill some of ``buffer``; 0 at the end. A file that was cut short raises `DataError`."""
        view = memoryview(buffer).cast("B")
        while not self._pending:
            try:
                if not self._more():
                    return 0
            except UnreadableError:  # of the stored bytes: nothing is wrong with those that came
                raise
            except (zlib.error, OSError, lzma.LZMAError, EOFError) as error:
                raise DataError(self._explained(error)) from None
            except Exception as error:  # zstandard's own type, without importing it here
                if type(error).__name__ != "ZstdError":
                    raise
                raise DataError(self._explained(error)) from None
        n = min(len(view), len(self._pending))
        view[:n] = self._pending[:n]
        self._pending = self._pending[n:]
        return n

    def _more(self) -> bool:
        """Decompress some more; False at the end."""
        if self._object.eof:
            rest = self._object.unused_data
            while not rest.strip(b"\0"):  # members may be followed by padding
                rest = self._stored.read1(_STEP)
                if not rest:
                    return False
            self._object = self._make()
            self._pending = memoryview(self._object.decompress(rest.lstrip(b"\0"), _STEP))
            return True
        starved = self._object.needs_input
        data = self._stored.read1(_STEP) if starved else b""
        self._pending = memoryview(self._object.decompress(data, _STEP))
        if starved and not data and not self._pending:
            raise EOFError
        return True

    def _explained(self, error: Exception) -> str:
        text = str(error)
        if isinstance(error, EOFError):
            return f"{self._name}: the {self._kind} data is cut short. Fetch or write the file again."
        if "memory" in text.lower():
            return (
                f"{self._name}: the {self._kind} window needs more than the {self._window_limit >> 20} MB the memory "
                "plan leaves for it. Raise memory=, or compress the file again with a smaller window."
            )
        return f"{self._name}: the {self._kind} data is damaged ({text}). Fetch or write the file again."


def compression_of(head: bytes) -> str | None:
    """The kind of compression a file of these first bytes has, or None."""
    if head.startswith(_ZSTD_SKIPPABLE):
        return "zstd"
    return next((kind for kind, magic in MAGIC.items() if head.startswith(magic)), None)
