"""Paths, globs and standard input as streams of bytes, with a fingerprint of what they hold."""

from __future__ import annotations

import glob
import hashlib
import io
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from thresher.errors import DataError, UnreadableError
from thresher.sources.files import remote
from thresher.sources.files.decompress import Inflated, compression_of

STDIN = "-"
#: Bytes that show the compression.
_HEAD = 6
PathLike = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or the lines that start in ``[begin, end)`` of one that is not compressed."""

    path: str
    begin: int = 0
    end: int | None = None

    @property
    def once(self) -> bool:
        """Whether it can be read only once, as standard input and pipes are."""
        return self.path == STDIN or (os.path.exists(self.path) and not os.path.isfile(self.path))

    @property
    def name(self) -> str:
        return "<stdin>" if self.path == STDIN else self.path


class Stream:
    """An open file: bytes out (decompressed), and how many stored bytes they took."""

    def __init__(self, path: str, *, window_limit: int) -> None:
        self.name = "<stdin>" if path == STDIN else path
        #: Why reading stopped before the end, if it did.
        self.failure: DataError | None = None
        raw: io.RawIOBase
        if remote.is_remote(path):
            piece = remote.piece_size(window_limit)
            raw, window_limit = remote.RemoteFile(path, piece), max(1, window_limit - 2 * piece)
        else:
            raw = _raw_stdin() if path == STDIN else _raw_file(path)
        self._stored: io.BufferedReader = io.BufferedReader(raw, 1 << 16)
        self.compression = compression_of(self._stored.peek(_HEAD)[:_HEAD])
        self._bytes: io.RawIOBase | io.BufferedReader = self._stored
        if self.compression is not None:
            self._bytes = Inflated(self._stored, self.name, self.compression, window_limit)

    def seek(self, offset: int) -> None:
        """Go to a place in the decompressed bytes, by reading up to it where there is no other way."""
        if self.compression is None and self._stored.seekable():
            self._stored.seek(offset)
            return
        scratch = bytearray(min(offset, 1 << 20))
        while offset > 0:
            n = self.readinto(memoryview(scratch)[: min(offset, len(scratch))])
            if not n:
                return
            offset -= n

    def readinto(self, buffer: memoryview) -> int:
        """Fill ``buffer`` as far as the stream goes: to its end, or to where it is damaged (see `failure`)."""
        filled = 0
        while filled < len(buffer) and self.failure is None:
            try:
                n = self._bytes.readinto(buffer[filled:])
            except UnreadableError:  # a lost connection: the data itself may be whole
                raise
            except DataError as error:
                self.failure = error
                break
            if not n:
                break
            filled += n
        return filled

    def stored(self) -> int:
        """Stored bytes read so far."""
        return self._stored.tell() if self._stored.seekable() else 0

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stored.close()


def _raw_file(path: str) -> io.FileIO:
    try:
        return open(path, "rb", buffering=0)
    except FileNotFoundError:
        raise UnreadableError(f"{path}: there is no such file. Check the path (now in {os.getcwd()}).") from None
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read ({error.strerror}).") from None


def _raw_stdin() -> io.RawIOBase:
    return _Piped(open(os.dup(sys.stdin.fileno()), "rb", buffering=0))


class _Piped(io.RawIOBase):
    """Standard input, whose first bytes come together however they were written: they show the compression."""

    def __init__(self, raw: io.FileIO) -> None:
        self._raw = raw
        self._enough = _HEAD

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        filled = self._raw.readinto(view)
        while 0 < filled < self._enough and (more := self._raw.readinto(view[filled:])):
            filled += more
        self._enough = 0
        return filled

    def close(self) -> None:
        self._raw.close()
        super().close()


def find_parts(paths: PathLike | Iterable[PathLike]) -> list[Part]:
    """The files that one path, glob or folder, or several of them, stand for; in natural order."""
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found: list[str] = []
    for path in (os.fspath(p) for p in several):
        if path == STDIN or os.path.isfile(path):
            found.append(path)
        elif remote.is_remote(path):
            found += sorted(remote.find(path), key=_natural)
        elif os.path.isdir(path):
            inside = [str(p) for p in Path(path).iterdir() if p.is_file() and not p.name.startswith(".")]
            if not inside:
                raise DataError(f"{path}: the folder holds no files. Check the path.")
            found += sorted(inside, key=_natural)
        elif glob.has_magic(path):
            matches = [match for match in glob.glob(path, recursive=True) if os.path.isfile(match)]
            if not matches:
                raise DataError(f"{path}: no file matches. Check the pattern (now in {os.getcwd()}).")
            found += sorted(matches, key=_natural)
        else:
            found.append(path)  # opening it says what is wrong
    if not found:
        raise DataError("no files were given.")
    return [Part(path) for path in found]


def _natural(path: str) -> list[tuple[int, int | str]]:
    """Order part2 before part10."""
    return [(0, int(piece)) if piece.isdecimal() else (1, piece) for piece in re.split(r"(\d+)", path)]


def stored_size(parts: Iterable[Part]) -> int | None:
    """Stored bytes in all, or None where that cannot be known."""
    total = 0
    for part in parts:
        if remote.is_remote(part.path):
            if (size := remote.size(part.path)) is None:
                return None
            total += size
            continue
        if part.path == STDIN or not os.path.isfile(part.path):
            return None
        total += (os.path.getsize(part.path) if part.end is None else part.end) - part.begin
    return total


#: Files up to this size are hashed whole; of larger ones this many samples of this size are.
_WHOLE, _SAMPLES, _SAMPLE = 16 << 20, 128, 64 << 10


def state(parts: Iterable[Part]) -> tuple[object, ...]:
    """What changes when a file is written to, without looking into it: sizes and dates."""
    found: list[object] = []
    for part in parts:
        if remote.is_remote(part.path):
            found.append((part, remote.identity(part.path)))
            continue
        try:
            status = os.stat(part.path)
            found.append((part, status.st_size, status.st_mtime_ns))
        except OSError:
            found.append((part, None))
    return tuple(found)


def dates(parts: Iterable[Part]) -> tuple[int, ...]:
    """When those files were last written to of which a fingerprint sees only samples."""
    found = [os.stat(part.path) for part in parts if os.path.isfile(part.path)]
    return tuple(status.st_mtime_ns for status in found if status.st_size > _WHOLE)


def fingerprint(parts: Iterable[Part], **options: object) -> str:
    """A hash of what the files hold and how they are read.

    Sizes always count. Files up to 16 MB are hashed whole, larger ones by 128 samples of 64 kB
    spread over them, so a change of a few bytes in a large file that keeps its size can be missed. Files
    elsewhere are known by their size and the tag or date that comes with them.
    """
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr(sorted(options.items())).encode())
    for part in parts:
        if part.once:
            digest.update(b"stdin")
            continue
        if remote.is_remote(part.path):
            digest.update(remote.identity(part.path).encode())
            continue
        with _raw_file(part.path) as file:
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
