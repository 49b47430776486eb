"""Paths, globs and standard input as byte streams, and fingerprints of their contents."""

from __future__ import annotations

import glob
import hashlib
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from thresher.display import shown_path
from thresher.errors import DataError, ThresherError, UnreadableError

STDIN = "-"
PathLike = str | os.PathLike[str]
#: The first bytes of each kind of compression. File endings do not matter.
_MAGIC = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00", "zstd": b"\x28\xb5\x2f\xfd"}
_ZSTD_SKIPPABLE = tuple(bytes([0x50 + i]) + b"\x2a\x4d\x18" for i in range(16))
#: The number of bytes that show the compression.
_HEAD = 6
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)")


def is_remote(path: str) -> bool:
    """Whether a path is a URL."""
    return _URL.match(path) is not None


def compression_of(head: bytes) -> str | None:
    """The kind of compression of a file with these first bytes, or None."""
    if head.startswith(_ZSTD_SKIPPABLE):
        return "zstd"
    return next((kind for kind, magic in _MAGIC.items() if head.startswith(magic)), None)


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or those lines of an uncompressed file that start in the bytes ``[begin, end)``."""

    path: str
    begin: int = 0
    end: int | None = None

    def __repr__(self) -> str:
        return f"Part({self.name!r}, {self.begin}, {self.end})"

    @property
    def once(self) -> bool:
        """Whether it can be read only once, such as standard input and pipes."""
        return self.path == STDIN or (os.path.exists(self.path) and not os.path.isfile(self.path))

    @property
    def name(self) -> str:
        """The file as messages and provenance name it: without credentials and control characters."""
        return "<stdin>" if self.path == STDIN else shown_path(self.path)

    @property
    def file_name(self) -> str:
        """The last part of the path, without the query of a URL."""
        path = self.path
        if path.startswith(("http://", "https://")):
            path = re.split(r"[?#]", path, maxsplit=1)[0]
        return os.path.basename(path)


class Stream:
    """An open file: its decompressed bytes, and the number of stored bytes read so far.

    At least ``buffer`` bytes are read at a time.
    """

    def __init__(self, path: str, *, window_limit: int, buffer: int = 1 << 16) -> None:
        self.name = Part(path).name
        #: The error that ended reading before the end of the file.
        self.failure: DataError | None = None
        raw: io.RawIOBase
        if is_remote(path):
            from thresher.sources.files.remote import RemoteFile, piece_size

            piece = piece_size(window_limit)
            raw, window_limit = RemoteFile(path, piece), max(1, window_limit - 2 * piece)
        else:
            raw = _raw_stdin() if path == STDIN else open_raw(path)
        self._stored: io.BufferedReader = io.BufferedReader(raw, buffer)
        try:
            with naming(self.name):
                self.compression = compression_of(self._stored.peek(_HEAD)[:_HEAD])
        except BaseException:
            self._stored.close()
            raise
        self._bytes: io.RawIOBase | io.BufferedReader = self._stored
        if self.compression is not None:
            from thresher.sources.files.decompress import Decompressed

            self._bytes = Decompressed(self._stored, self.name, self.compression, window_limit)

    def seek(self, offset: int) -> None:
        """Move to an offset of the decompressed bytes, by reading up to it if the stream cannot seek."""
        if self.compression is None and self._stored.seekable():
            self._stored.seek(offset)
            return
        scratch = bytearray(min(offset, 1 << 20))
        while offset > 0:
            n = self.readinto(memoryview(scratch)[: min(offset, len(scratch))])
            if not n:
                return
            offset -= n

    def expect(self, begin: int, end: int) -> None:
        """A range that is read later: those of remote files may be requested before."""

    def readinto(self, buffer: memoryview) -> int:
        """Fill ``buffer``, short only at the end of the stream or before damage (see `failure`)."""
        filled = 0
        while filled < len(buffer) and self.failure is None:
            try:
                with naming(self.name):
                    n = self._bytes.readinto(buffer[filled:])
            except UnreadableError:  # a lost connection says nothing about the data
                raise
            except DataError as error:
                self.failure = error
                break
            if not n:
                break
            filled += n
        return filled

    def stored(self) -> int:
        """The number of stored bytes read so far."""
        return self._stored.tell() if self._stored.seekable() else 0

    def close(self) -> None:
        """Close the file."""
        self._stored.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Name the file in the system's errors of reading it."""
    try:
        yield
    except ThresherError:
        raise
    except OSError as error:
        raise UnreadableError(f"{name}: cannot be read ({error.strerror}).") from None


def open_raw(path: str) -> io.FileIO:
    """Open a local file; errors say what to do."""
    try:
        return open(path, "rb", buffering=0)
    except FileNotFoundError:
        raise UnreadableError(
            f"{path}: there is no such file. Check the path (the working directory is {os.getcwd()})."
        ) from None
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read ({error.strerror}).") from None


def _raw_stdin() -> io.RawIOBase:
    return _Piped(open(os.dup(sys.stdin.fileno()), "rb", buffering=0))


class _Piped(io.RawIOBase):
    """Standard input whose first read returns enough bytes to show the compression, however they were written."""

    def __init__(self, raw: io.FileIO) -> None:
        self._raw = raw
        self._least = _HEAD

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        filled = self._raw.readinto(view)
        while 0 < filled < self._least and (more := self._raw.readinto(view[filled:])):
            filled += more
        self._least = 0
        return filled

    def close(self) -> None:
        self._raw.close()
        super().close()


def find_parts(paths: PathLike | Iterable[PathLike]) -> list[Part]:
    """The files of one or several paths, globs and folders, each expanded in natural order."""
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found: list[str] = []
    for path in (os.fspath(p) for p in several):
        if path == STDIN or os.path.isfile(path):
            found.append(path)
        elif is_remote(path):
            from thresher.sources.files.remote import find

            found += sorted(find(path), key=natural_order)
        elif os.path.isdir(path):
            inside = [str(p) for p in Path(path).iterdir() if p.is_file() and not p.name.startswith(".")]
            if not inside:
                raise DataError(f"{path}: the folder has no files. Check the path.")
            found += sorted(inside, key=natural_order)
        elif glob.has_magic(path):
            matches = [match for match in glob.glob(path, recursive=True) if os.path.isfile(match)]
            if not matches:
                raise DataError(f"{path}: no file matches. Check the pattern (the working directory is {os.getcwd()}).")
            found += sorted(matches, key=natural_order)
        else:
            found.append(path)  # opening it reports the error
    if not found:
        raise DataError("there are no files to read: pass at least one path.")
    return [Part(path) for path in found]


def natural_order(path: str) -> list[tuple[int, int | str]]:
    """A sort key that puts part2 before part10."""
    return [(0, int(piece)) if piece.isdecimal() else (1, piece) for piece in re.split(r"(\d+)", path)]


def stored_size(parts: Iterable[Part]) -> int | None:
    """The total number of stored bytes, or None if it is unknown."""
    total = 0
    for part in parts:
        if is_remote(part.path):
            from thresher.sources.files.remote import stored_bytes

            if (size := stored_bytes(part.path)) is None:
                return None
            total += size
            continue
        if part.path == STDIN or not os.path.isfile(part.path):
            return None
        total += (os.path.getsize(part.path) if part.end is None else part.end) - part.begin
    return total


#: Files up to this size are hashed whole; larger ones by this many samples of this size.
_WHOLE, _SAMPLES, _SAMPLE = 16 << 20, 128, 64 << 10


def modification_times(parts: Iterable[Part]) -> tuple[int, ...]:
    """The modification times of those files of which a fingerprint hashes only samples."""
    found = [os.stat(part.path) for part in parts if os.path.isfile(part.path)]
    return tuple(status.st_mtime_ns for status in found if status.st_size > _WHOLE)


def stored_end(part: Part) -> int:
    """The end of a part in its file, whose size must be known."""
    if part.end is not None:
        return part.end
    found = stored_size([Part(part.path)])
    if found is None:
        raise UnreadableError(f"{part.name}: the size of the file is not known.")
    return found


def fingerprint(parts: Iterable[Part], **options: object) -> str:
    """Hash the contents of files and the options they are read with.

    Sizes always count. Files up to 16 MB are hashed whole, larger ones by 128 samples of 64 kB spread over them, so a
    change of a few bytes that keeps the size of a large file can be missed. Remote files count with their size and
    the tag or date that the server reports.
    """
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr(sorted(options.items())).encode())
    for part in parts:
        if part.once:
            digest.update(b"stdin")
            continue
        if is_remote(part.path):
            digest.update(_remote_version(part.path).encode())
            continue
        with open_raw(part.path) as file, naming(part.name):
            size = os.fstat(file.fileno()).st_size
            digest.update(repr((size, part.begin, part.end)).encode())
            if size <= _WHOLE:
                while piece := file.read(_SAMPLE):
                    digest.update(piece)
                continue
            for i in range(_SAMPLES):
                file.seek((size - _SAMPLE) * i // (_SAMPLES - 1))
                digest.update(file.read(_SAMPLE))
    return digest.hexdigest()


def _remote_version(url: str) -> str:
    from thresher.sources.files.remote import version

    return version(url)
