"""Compressed files as plain byte streams, recognised by content and never larger in memory than allowed."""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from typing import Any, Protocol

from thresher.errors import DataError

#: First bytes of each format. Extensions are not looked at.
MAGIC = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00", "zstd": b"\x28\xb5\x2f\xfd"}
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
        return self._object.decompress(self._object.unconsumed_tail + data, max_length)


class _Zstd:
    """zstandard's object in the shape of the others.

    Its ``decompressobj`` cannot limit what comes out, so little is put in at a time; its stream
    reader can, but takes a file that was cut short for a whole one.
    """

    def __init__(self, window_limit: int) -> None:
        import zstandard

        self._object = zstandard.ZstdDecompressor(max_window_size=window_limit).decompressobj()
        self._waiting = b""
        self._step = 2048

    @property
    def eof(self) -> bool:
        return self._object.eof

    @property
    def needs_input(self) -> bool:
        return not self._waiting and not self._object.eof

    @property
    def unused_data(self) -> bytes:
        return self._object.unused_data + self._waiting

    def decompress(self, data: bytes, max_length: int) -> bytes:
        waiting = memoryview(self._waiting + data)
        out: list[bytes] = []
        size = at = 0
        while at < len(waiting) and size < max_length and not self._object.eof:
            out.append(self._object.decompress(waiting[at : at + self._step]))
            size += len(out[-1])
            at += self._step
        self._waiting = bytes(waiting[at:])
        return b"".join(out)


class Inflated(io.RawIOBase):
    """The decompressed bytes of a stored stream, one member or frame after the other."""

    def __init__(self, stored: io.BufferedReader, name: str, kind: str, window_limit: int) -> None:
        self._stored = stored
        self._name = name
        self._kind = kind
        self._window_limit = window_limit
        self._make: Callable[[], _Decompressor] = {
            "gzip": _Gzip,
            "bzip2": bz2.BZ2Decompressor,
            "xz": lambda: lzma.LZMADecompressor(memlimit=window_limit),
            "zstd": lambda: _Zstd(window_limit),
        }[kind]
        self._object = self._make()
        self._pending = b""  # decompressed, not yet asked for

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill some of ``buffer``; 0 at the end. A file that was cut short raises `DataError`."""
        view = memoryview(buffer).cast("B")
        while not self._pending:
            try:
                if not self._more(max(len(view), 1 << 16)):
                    return 0
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

    def _more(self, size: int) -> bool:
        """Decompress up to about ``size`` bytes more; False at the end."""
        if self._object.eof:
            rest = self._object.unused_data
            while not rest.strip(b"\0"):  # members may be followed by padding
                rest = self._stored.read1(1 << 16)
                if not rest:
                    return False
            self._object = self._make()
            self._pending = self._object.decompress(rest.lstrip(b"\0"), size)
            return True
        data = self._stored.read1(1 << 16) if self._object.needs_input else b""
        if not data and self._object.needs_input:
            raise EOFError
        self._pending = self._object.decompress(data, size)
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
