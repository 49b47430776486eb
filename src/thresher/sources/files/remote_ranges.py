"""Ranges of bytes of remote files, read in any order by those that share the blocks of a file."""

from __future__ import annotations

import io
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from thresher.errors import UnreadableError
from thresher.sources.files.paths import Part, Stream, compression_of, naming
from thresher.sources.files.remote import RemoteFile, is_web

#: Requests at the same time, where a file system allows several.
_REQUESTS = 4
#: Bytes of a piece, which no read is asked for.
_PIECE = 1 << 16
#: Bytes that show the compression.
_HEAD = 6


class RemoteRanges(RemoteFile):
    """A remote file of which ranges are read in any order. Those that are expected are requested before.

    Every read is one request of as many bytes, or takes an expected range that begins at the same byte.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url, _PIECE)
        self._expected: dict[int, Future[bytes]] = {}
        if not is_web(self._files):  # a web server has one connection per file
            self._worker.shutdown(wait=False)
            self._worker = ThreadPoolExecutor(_REQUESTS, "thresher-remote")

    @property
    def divisible(self) -> bool:
        """Whether ranges can be read."""
        return self._size is not None and bool(self._ranges)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        assert whence == io.SEEK_SET
        self._start = offset
        return offset

    def expect(self, begin: int, end: int) -> None:
        """Request a range that is read later."""
        if begin not in self._expected:
            self._expected[begin] = self._worker.submit(self._fetch, begin, end - begin)

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer``, short only at the end of the file."""
        view = memoryview(buffer).cast("B")
        filled = 0
        while filled < len(view):
            waiting = self._expected.pop(self._start, None)
            if waiting is None:
                waiting = self._worker.submit(self._fetch, self._start, len(view) - filled)
            found = waiting.result()[: len(view) - filled]
            if not found:
                break
            view[filled : filled + len(found)] = found
            filled, self._start = filled + len(found), self._start + len(found)
        return filled

    def _streaming(self, offset: int) -> bytes:
        raise UnreadableError(
            f"{self.name}: the server supports no byte ranges any more, so that workers cannot share the file: leave "
            "out `workers`, or copy the file to this machine"
        )


class RangeStream(Stream):
    """A remote file without compression as a stream whose ranges are read in any order."""

    def __init__(self, path: str) -> None:
        self.name = Part(path).name
        self.failure = None
        self.compression = None
        self._ranges = RemoteRanges(path)

    def seek(self, offset: int) -> None:
        self._ranges.seek(offset)

    def expect(self, begin: int, end: int) -> None:
        self._ranges.expect(begin, end)

    def readinto(self, buffer: memoryview) -> int:
        with naming(self.name):
            return self._ranges.readinto(buffer)

    def stored(self) -> int:
        return self._ranges.tell()

    def close(self) -> None:
        self._ranges.close()


@lru_cache(maxsize=4096)
def divisible(url: str) -> bool:
    """Whether ranges of a file can be read and parsed: its size is known, and it is not compressed. Found out once."""
    file = RemoteRanges(url)
    try:
        head, byte = bytearray(_HEAD), bytearray(1)
        if not file.divisible:
            return False
        head = head[: file.readinto(head)]
        file.seek(1)  # a server without ranges answers for the beginning only
        file.readinto(byte)
        return compression_of(bytes(head)) is None and file.divisible
    except UnreadableError:
        if file.divisible:
            raise
        return False
    finally:
        file.close()
