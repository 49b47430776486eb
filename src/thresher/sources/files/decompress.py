"""Decompression of gzip, bzip2, xz and Zstandard streams in bounded memory."""

from __future__ import annotations

import bz2
import contextlib
import io
import lzma
import zlib
from collections.abc import Callable
from typing import Any, Protocol

from thresher.errors import DataError, UnreadableError

#: Bytes read, and about the bytes produced, per step. It is constant so that damage always costs the same rows.
_STEP = 1 << 16
#: The range of window limits that the zstandard package accepts.
_MIN_WINDOW, _MAX_WINDOW = 1 << 10, 1 << 31
_DICTIONARY_ID_SIZES = (0, 1, 2, 4)
_CONTENT_SIZE_SIZES = (0, 2, 4, 8)
_RLE_BLOCK = 1


class _Decompressor(Protocol):
    """The interface of the standard library's bz2 and lzma decompressors."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    """zlib's decompressor with the interface of the others."""

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
            # The failed call lost the bytes before the damage: produce them again, byte by byte.
            self._object = before
            out = bytearray()
            with contextlib.suppress(zlib.error):
                for i in range(len(waiting)):
                    out += self._object.decompress(waiting[i : i + 1])
            if not out:
                raise
            return bytes(out)  # the next call raises


class _Bzip2:
    """One bzip2 stream, with a limit of memory: the standard library's decompressor has none."""

    def __init__(self, window_limit: int) -> None:
        self._object = bz2.BZ2Decompressor()
        self._limit: int | None = window_limit

    @property
    def eof(self) -> bool:
        return self._object.eof

    @property
    def needs_input(self) -> bool:
        return self._object.needs_input

    @property
    def unused_data(self) -> bytes:
        return self._object.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if self._limit is not None and data[:3] == b"BZh" and data[3:4].isdigit():
            needed = 100_000 + 400_000 * int(data[3:4])  # the header states the size of a block
            if needed > self._limit:
                raise OSError(f"memory of {needed} bytes")
        self._limit = None
        return self._object.decompress(data, max_length)


class _Xz:
    """One xz stream, with a limit of memory.

    A decoder reserves the dictionary that the header states, 64 MB for ``xz -9`` whatever the size of the file. It uses
    as much of it as it has decompressed. So a larger dictionary is accepted until the output reaches the limit.
    """

    def __init__(self, window_limit: int) -> None:
        self._limit = window_limit
        self._object = lzma.LZMADecompressor(memlimit=window_limit)
        self._seen: bytes | None = b""  # the input up to the first output: the decoder may refuse the header
        self._wide = False
        self._size = 0

    @property
    def eof(self) -> bool:
        return self._object.eof

    @property
    def needs_input(self) -> bool:
        return self._object.needs_input

    @property
    def unused_data(self) -> bytes:
        return self._object.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if self._seen is not None:
            self._seen += data
        try:
            out = self._object.decompress(data, max_length)
        except lzma.LZMAError as error:
            if self._seen is None or "memory" not in str(error).lower():
                raise
            self._wide, self._object = True, lzma.LZMADecompressor()
            out = self._object.decompress(self._seen, max_length)
        self._size += len(out)
        if self._size:
            self._seen = None
        if self._wide and self._size > self._limit:
            raise OSError(f"memory of more than {self._limit} bytes")
        return out


class _Zstd:
    """One Zstandard frame, with the interface of the standard library's decompressors.

    The package's ``decompressobj`` cannot limit its output, and 1 kB may expand to 10 MB. Its stream reader can, but
    accepts a truncated file as complete. So this class feeds the blocks one by one, each of at most 128 kB: a frame
    is a header and blocks that state their lengths (RFC 8878, section 3.1.1).
    """

    def __init__(self, window_limit: int) -> None:
        import zstandard

        window = max(_MIN_WINDOW, min(window_limit, _MAX_WINDOW))
        self._object = zstandard.ZstdDecompressor(max_window_size=window).decompressobj()
        self._waiting = b""
        self._until_header = 0  # bytes to feed before the next header
        self._started = False
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._object.eof

    @property
    def unused_data(self) -> bytes:
        return self._object.unused_data + self._waiting

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return more bytes: up to ``max_length``, and at most one block beyond it."""
        waiting = memoryview(self._waiting + data)
        out: list[bytes] = []
        size = at = 0
        self.needs_input = False
        while size < max_length and not self._object.eof:
            self._until_header = self._until_header or self._next_length(waiting[at : at + 5])
            taken = min(self._until_header, len(waiting) - at)
            if taken == 0:
                self.needs_input = True
                break
            out.append(self._object.decompress(waiting[at : at + taken]))
            size += len(out[-1])
            at += taken
            self._until_header -= taken
        self._waiting = bytes(waiting[at:])
        return b"".join(out)

    def _next_length(self, head: memoryview) -> int:
        """The length of the frame header, or of the next block and its header; 0 if more input is needed."""
        if not self._started:
            if len(head) < 5:
                return 0
            self._started = True
            descriptor = head[4]
            single = descriptor >> 5 & 1  # a single segment has no window byte, but always a content size
            return 6 - single + _DICTIONARY_ID_SIZES[descriptor & 3] + (_CONTENT_SIZE_SIZES[descriptor >> 6] or single)
        if len(head) < 3:
            return 0
        block = int.from_bytes(head[:3], "little")
        content = 1 if block >> 1 & 3 == _RLE_BLOCK else block >> 3
        checksum = 4 * (block & 1)  # after the last block; surplus bytes come back as unused data
        return 3 + content + checksum


class Decompressed(io.RawIOBase):
    """The decompressed bytes of a stream, across all its members or frames."""

    def __init__(self, stored: io.BufferedReader, name: str, kind: str, window_limit: int) -> None:
        self._stored = stored
        self._name = name
        self._kind = kind
        self._window_limit = window_limit
        makers: dict[str, Callable[[], _Decompressor]] = {
            "gzip": _Gzip,
            "bzip2": lambda: _Bzip2(window_limit),
            "xz": lambda: _Xz(window_limit),
            "zstd": lambda: _Zstd(window_limit),
        }
        self._make = makers[kind]
        self._object = self._make()
        self._pending = memoryview(b"")  # decompressed, but not read yet

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill part of ``buffer``; return 0 at the end. A truncated file raises `DataError`."""
        view = memoryview(buffer).cast("B")
        while not self._pending:
            try:
                if not self._more():
                    return 0
            except UnreadableError:  # a failed read, not damaged data
                raise
            except (zlib.error, OSError, lzma.LZMAError, EOFError) as error:
                raise DataError(self._message(error)) from None
            except Exception as error:  # ZstdError, without importing zstandard here
                if type(error).__name__ != "ZstdError":
                    raise
                raise DataError(self._message(error)) from None
        n = min(len(view), len(self._pending))
        view[:n] = self._pending[:n]
        self._pending = self._pending[n:]
        return n

    def _more(self) -> bool:
        """Decompress the next bytes; return False at the end."""
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

    def _message(self, error: Exception) -> str:
        text = str(error)
        if isinstance(error, EOFError):
            return f"{self._name}: the {self._kind} data is cut short. Fetch or write the file again."
        if "memory" in text.lower():
            return (
                f"{self._name}: the {self._kind} window needs more than the {self._window_limit >> 20} MB that the "
                "memory plan reserves for it. Raise `memory`, or compress the file again with a smaller window."
            )
        return f"{self._name}: the {self._kind} data is damaged ({text}). Fetch or write the file again."
