"""Remote files (``s3://``, ``gs://``, ``https://``, …) through fsspec: find, identify and read them."""

from __future__ import annotations

import io
import os
import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from thresher.core.optional import need
from thresher.display import redact, shown_path
from thresher.errors import DataError, MissingExtraError, UnreadableError

if TYPE_CHECKING:
    from concurrent.futures import Future

#: The smallest and the largest size of a piece, and its share (1 / 8) of the memory for reading. A second piece is
#: prefetched while one is read. Piece sizes are multiples of the smallest.
_MIN_PIECE, _MAX_PIECE, _SHARE = 1 << 16, 4 << 20, 8
#: Seconds to wait before each retry.
_RETRY_DELAYS = (0.2, 1.0, 5.0)
#: The fields by which services identify a version of a file; the first one present is used. Dates come last, since
#: most services report something better.
_TAGS = ("etag", "md5hash", "content-md5", "digest", "crc32c", "checksum", "versionid", "generation")
_DATES = ("last-modified", "lastmodified", "mtime", "modified", "updated", "created")


def piece_size(limit: int) -> int:
    """The number of bytes to fetch at a time if reading may use ``limit`` bytes."""
    return max(_MIN_PIECE, min(_MAX_PIECE, limit // _SHARE) // _MIN_PIECE * _MIN_PIECE)


def find(url: str) -> list[str]:
    """The files of a URL: itself, the files of a folder, or the matches of a pattern."""
    files, path = _file_system(url)
    web = is_web(files)
    magic = re.search(r"[*\[]" if web else r"[*?\[]", path) is not None
    if not magic and (web or not _request(url, files.isdir, path)):
        return [url]  # opening it reports the error
    files.invalidate_cache()
    listed = _request(url, files.glob if magic else files.ls, path, detail=True)
    entries = listed.values() if isinstance(listed, dict) else listed
    found = [entry["name"] for entry in entries if entry["type"] == "file"]
    found = [name for name in found if not os.path.basename(name).startswith(".")]
    if not found:
        raise DataError(
            f"{shown_path(url)}: {'no file matches' if magic else 'the folder has no files'}. Check the address."
        )
    return [files.unstrip_protocol(name) for name in found]


@lru_cache(maxsize=4096)
def stored_bytes(url: str) -> int | None:
    """The size of a file if the server reports it; requested once."""
    files, path = _file_system(url)
    known = _request(url, files.info, path).get("size")
    return None if known is None else int(known)


def version(url: str) -> str:
    """The size of a file and the tag or date that the server reports: they change with its content."""
    files, path = _file_system(url)
    files.invalidate_cache()
    info = {name.lower(): value for name, value in _request(url, files.info, path).items()}
    tag = next((f"{name}:{info[name]}" for name in (*_TAGS, *_DATES) if info.get(name)), "untagged")
    return f"{info.get('size')}:{tag}"


class RemoteFile(io.RawIOBase):
    """A file read in pieces, with the next piece prefetched on a second thread.

    If the server supports byte ranges, failed requests are retried and the file is seekable. Otherwise the file is
    one stream, which cannot resume after a lost connection.
    """

    def __init__(self, url: str, piece: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        super().__init__()
        self.name = shown_path(url)
        self._url = url
        self._files, self._path = _file_system(url)
        info = _request(url, self._files.info, self._path)
        if info.get("type") == "directory":
            raise UnreadableError(f"{self.name}: cannot be read (it is a folder).")
        self._size: int | None = info.get("size")
        self._piece_size = piece
        self._ranges = self._size is not None and info.get("partial", True)
        self._stream: Any = None  # an open HTTP response
        self._streamed = 0
        self._piece, self._start, self._at = b"", 0, 0  # the piece, its offset in the file, and the bytes read of it
        self._prefetched: Future[bytes] | None = None
        self._worker = ThreadPoolExecutor(1, "thresher-remote")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._ranges)

    def tell(self) -> int:
        return self._start + self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self.tell(), io.SEEK_END: self._size}[whence]
        if base is None:
            raise io.UnsupportedOperation("cannot seek from the end of a file of unknown size")
        target = base + offset
        if target != self.tell():
            self._cancel_prefetch()
            self._piece, self._start, self._at = b"", target, 0
        return target

    def readinto(self, buffer: Any) -> int:
        """Fill ``buffer``, short only at the end of the file."""
        view = memoryview(buffer).cast("B")
        filled = 0
        while filled < len(view):
            if self._at == len(self._piece) and not self._next():
                break
            n = min(len(view) - filled, len(self._piece) - self._at)
            view[filled : filled + n] = self._piece[self._at : self._at + n]
            filled += n
            self._at += n
        return filled

    def close(self) -> None:
        if not self.closed:
            # Do not wait for a pending request: its result is not needed, and a timeout takes long.
            self._worker.shutdown(wait=False, cancel_futures=True)
            if self._stream is not None:
                self._stream.close()
        super().close()

    def _next(self) -> bool:
        """Move to the next piece and prefetch the one after it; return False at the end."""
        self._start, self._at = self._start + len(self._piece), 0
        self._piece = self._fetch(self._start) if self._prefetched is None else self._prefetched.result()
        self._prefetched = None
        behind = self._start + len(self._piece)
        if self._piece and behind != self._size:
            self._prefetched = self._worker.submit(self._fetch, behind)
        return len(self._piece) > 0

    def _cancel_prefetch(self) -> None:
        if self._prefetched is not None and not self._prefetched.cancel():
            self._prefetched.exception()  # already running: wait for it and discard the result
        self._prefetched = None

    def _fetch(self, offset: int, size: int | None = None) -> bytes:
        """The bytes at an offset, by default a piece; empty at the end of the file."""
        if self._size is not None and offset >= self._size:
            return b""
        size = self._piece_size if size is None else size
        for pause in (*_RETRY_DELAYS, None):
            try:
                piece = self._range(offset, size) if self._ranges else self._streaming(offset)
                if piece or self._size is None:
                    return piece
                raise ConnectionError("the server sent no data")
            except UnreadableError:
                raise
            except Exception as error:  # each service has its own error types
                if self._ranges and "support range requests" in str(error):
                    self._ranges, self._stream = False, None
                    return self._fetch(offset, size)
                if pause is None or not self._ranges or self.closed:
                    raise self._broken(offset, error) from None
                time.sleep(pause)
        return b""

    def _range(self, offset: int, size: int) -> bytes:
        end = min(offset + size, self._size or 0)
        if not is_web(self._files):
            return bytes(self._files.cat_file(self._path, start=offset, end=end))
        if self._stream is None:
            self._stream = self._files.open(
                self._path, "rb", block_size=self._piece_size, size=self._size, cache_type="none"
            )
        self._stream.seek(offset)
        return bytes(self._stream.read(end - offset))

    def _streaming(self, offset: int) -> bytes:
        if self._stream is None:
            self._stream = self._files.open(self._path, "rb", block_size=0)
        while self._streamed < offset:  # skip the bytes read by ranges before the server refused them
            if not self._more(min(offset - self._streamed, self._piece_size)):
                return b""
        return self._more(self._piece_size)

    def _more(self, n: int) -> bytes:
        """The next ``n`` bytes of the stream, fewer only at its end."""
        got = bytearray()
        while len(got) < n and (some := self._stream.read(n - len(got))):
            got += some
        self._streamed += len(got)
        return bytes(got)

    def _broken(self, offset: int, error: Exception) -> UnreadableError:
        of = "" if self._size is None else f" of {self._size}"
        tried = f"after {len(_RETRY_DELAYS) + 1} tries" if self._ranges else "and the server supports no byte ranges"
        return UnreadableError(
            f"{self.name}: reading failed at byte {offset}{of}, {tried} ({_cause(error, self._url)}). Check the "
            "connection and run again; a run with a checkpoint resumes from it."
        )


def _file_system(url: str) -> tuple[Any, str]:
    """The fsspec file system of a URL, and the path in it."""
    fsspec = need("fsspec", "remote")
    options: dict[str, Any] = {}
    if url.startswith(("http://", "https://")):
        aiohttp = need("aiohttp", "remote")
        known = fsspec.config.conf.get(url.partition(":")[0], {}).get("headers", {})
        # Request the bytes as stored. Limit the wait for more data, but not the time for a whole file.
        options["headers"] = {"Accept-Encoding": "identity", **known}
        options["client_kwargs"] = {"timeout": aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)}
    try:
        files, path = fsspec.core.url_to_fs(url, **options)
    except ImportError as error:
        protocol = url.partition(":")[0]
        extra = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}.get(protocol)
        how = f"pip install 'thresher[{extra}]'" if extra else redact(str(error), url)
        raise MissingExtraError(f"{shown_path(url)}: reading {protocol}:// needs another package: {how}") from None
    except ValueError as error:
        raise UnreadableError(f"{shown_path(url)}: cannot be read ({redact(str(error), url)}).") from None
    return files, path


def is_web(files: Any) -> bool:
    """Whether a file system is a web server."""
    protocol = files.protocol if isinstance(files.protocol, tuple) else (files.protocol,)
    return "https" in protocol or "http" in protocol


def _request(url: str, method: Any, *arguments: Any, **options: Any) -> Any:
    """Call a method of a file system; errors name the URL."""
    name = shown_path(url)
    try:
        return method(*arguments, **options)
    except FileNotFoundError as error:
        cause = "" if error.__cause__ is None else f" ({_cause(error.__cause__, url)})"
        raise UnreadableError(f"{name}: there is no such file{cause}. Check the address.") from None
    except ImportError as error:
        raise MissingExtraError(f"{name}: {redact(str(error), url)}") from None
    except Exception as error:  # each service has its own error types
        raise UnreadableError(
            f"{name}: cannot be read ({_cause(error, url)}). Check the address and your access."
        ) from None


def _cause(error: BaseException, url: str) -> str:
    """What a service reports, which may quote the URL or a part of it."""
    return f"{type(error).__name__}: {redact(str(error), url)}" if str(error) else type(error).__name__
