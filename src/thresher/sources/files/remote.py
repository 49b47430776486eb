"""Files elsewhere (``s3://``, ``gs://``, ``https://``, …) through fsspec: found, told apart, and read in pieces."""

from __future__ import annotations

import io
import os
import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from thresher.core.optional import need
from thresher.errors import DataError, MissingExtraError, UnreadableError

if TYPE_CHECKING:
    from concurrent.futures import Future

#: Bytes fetched at a time: at least, at most, and one part in so many of what reading may hold. While one piece is
#: read the next one is fetched, so that two are held. Pieces are whole multiples of the least.
_LEAST, _MOST, _SHARE = 1 << 16, 4 << 20, 8
#: Seconds to wait before each further try.
_PAUSES = (0.2, 1.0, 5.0)
#: What tells one content of a file from another, in the words of different services; the first that is there is
#: enough. Dates come last: most services have something better.
_TAGS = ("etag", "md5hash", "content-md5", "digest", "crc32c", "checksum", "versionid", "generation")
_DATES = ("last-modified", "lastmodified", "mtime", "modified", "updated", "created")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)")


def is_remote(path: str) -> bool:
    """Whether a path is an address with a protocol before it."""
    return _URL.match(path) is not None


def piece_size(limit: int) -> int:
    """How much is fetched at a time where reading may hold ``limit`` bytes."""
    return max(_LEAST, min(_MOST, limit // _SHARE) // _LEAST * _LEAST)


def find(url: str) -> list[str]:
    """The files that an address stands for: one, those of a folder, or those that match a pattern."""
    files, path = _place(url)
    web = _is_web(files)
    magic = re.search(r"[*\[]" if web else r"[*?\[]", path) is not None
    if not magic and (web or not _answered(url, files.isdir, path)):
        return [url]  # opening it says what is wrong
    files.invalidate_cache()
    listed = _answered(url, files.glob if magic else files.ls, path, detail=True)
    entries = listed.values() if isinstance(listed, dict) else listed
    found = [entry["name"] for entry in entries if entry["type"] == "file"]
    found = [name for name in found if not os.path.basename(name).startswith(".")]
    if not found:
        raise DataError(f"{url}: {'no file matches' if magic else 'the folder holds no files'}. Check the address.")
    return [files.unstrip_protocol(name) for name in found]


@lru_cache(maxsize=4096)
def size(url: str) -> int | None:
    """Stored bytes, where the other side says; asked once."""
    files, path = _place(url)
    known = _answered(url, files.info, path).get("size")
    return None if known is None else int(known)


def identity(url: str) -> str:
    """What changes when the content of a file changes: its size, and a tag or date that the other side gives."""
    files, path = _place(url)
    files.invalidate_cache()
    told = {name.lower(): value for name, value in _answered(url, files.info, path).items()}
    tag = next((f"{name}:{told[name]}" for name in (*_TAGS, *_DATES) if told.get(name)), "untagged")
    return f"{told.get('size')}:{tag}"


class RemoteFile(io.RawIOBase):
    """A file read from front to back in pieces, the next one on its way while one is read.

    Where the other side gives ranges of bytes, a piece that did not come is asked for again, and any place can be
    gone to. Otherwise the file comes as one stream, from which a lost connection cannot go on.
    """

    def __init__(self, url: str, piece: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        super().__init__()
        self.name = url
        self._files, self._path = _place(url)
        about = _answered(url, self._files.info, self._path)
        if about.get("type") == "directory":
            raise UnreadableError(f"{url}: cannot be read (it is a folder).")
        self._size: int | None = about.get("size")
        self._piece_size = piece
        self._ranges = self._size is not None and about.get("partial", True)
        self._stream: Any = None  # of a web server
        self._streamed = 0
        self._piece, self._start, self._at = b"", 0, 0  # what is at hand, where it stands, what was read of it
        self._ahead: Future[bytes] | None = None
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
            raise io.UnsupportedOperation("from the end")
        place = base + offset
        if place != self.tell():
            self._forget()
            self._piece, self._start, self._at = b"", place, 0
        return place

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
            # A piece that is under way is not waited for: nobody wants it, and it may take long not to come.
            self._worker.shutdown(wait=False, cancel_futures=True)
            if self._stream is not None:
                self._stream.close()
        super().close()

    def _next(self) -> bool:
        """Go on to the next piece, and have the one behind it fetched; False at the end."""
        self._start, self._at = self._start + len(self._piece), 0
        self._piece = self._fetch(self._start) if self._ahead is None else self._ahead.result()
        self._ahead = None
        behind = self._start + len(self._piece)
        if self._piece and behind != self._size:
            self._ahead = self._worker.submit(self._fetch, behind)
        return len(self._piece) > 0

    def _forget(self) -> None:
        if self._ahead is not None and not self._ahead.cancel():
            self._ahead.exception()  # under way: what comes of it is not wanted
        self._ahead = None

    def _fetch(self, offset: int) -> bytes:
        """The piece at a place; empty at the end of the file."""
        if self._size is not None and offset >= self._size:
            return b""
        for pause in (*_PAUSES, None):
            try:
                piece = self._range(offset) if self._ranges else self._streaming(offset)
                if piece or self._size is None:
                    return piece
                raise ConnectionError("nothing came")
            except UnreadableError:
                raise
            except Exception as error:  # every service has errors of its own
                if self._ranges and "support range requests" in str(error):
                    self._ranges, self._stream = False, None
                    return self._fetch(offset)
                if pause is None or not self._ranges or self.closed:
                    raise self._broken(offset, error) from None
                time.sleep(pause)
        return b""

    def _range(self, offset: int) -> bytes:
        end = min(offset + self._piece_size, self._size or 0)
        if not _is_web(self._files):
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
        while self._streamed < offset:  # what was read before it turned out that there are no ranges
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
        tried = f"after {len(_PAUSES) + 1} tries" if self._ranges else "and the server gives no ranges to go on from"
        return UnreadableError(
            f"{self.name}: reading broke off at byte {offset}{of}, {tried} ({_said(error)}). Check the connection and "
            "run again; a long run goes on from its checkpoint."
        )


def _place(url: str) -> tuple[Any, str]:
    """The file system that an address belongs to, and the path there."""
    fsspec = need("fsspec", "remote")
    options: dict[str, Any] = {}
    if url.startswith(("http://", "https://")):
        aiohttp = need("aiohttp", "remote")
        known = fsspec.config.conf.get(url.partition(":")[0], {}).get("headers", {})
        # Bytes as they are stored; and no limit to how long a whole file may take, only to waiting for some more.
        options["headers"] = {"Accept-Encoding": "identity", **known}
        options["client_kwargs"] = {"timeout": aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=60)}
    try:
        files, path = fsspec.core.url_to_fs(url, **options)
    except ImportError as error:
        protocol = url.partition(":")[0]
        extra = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}.get(protocol)
        how = f"pip install 'thresher[{extra}]'" if extra else str(error)
        raise MissingExtraError(f"{url}: reading {protocol}:// needs another package: {how}") from None
    except ValueError as error:
        raise UnreadableError(f"{url}: cannot be read ({error}).") from None
    return files, path


def _is_web(files: Any) -> bool:
    protocol = files.protocol if isinstance(files.protocol, tuple) else (files.protocol,)
    return "https" in protocol or "http" in protocol


def _answered(url: str, ask: Any, *arguments: Any, **options: Any) -> Any:
    """What the other side answers, or an error that names the address."""
    try:
        return ask(*arguments, **options)
    except FileNotFoundError as error:
        cause = "" if error.__cause__ is None else f" ({_said(error.__cause__)})"
        raise UnreadableError(f"{url}: there is no such file{cause}. Check the address.") from None
    except ImportError as error:
        raise MissingExtraError(f"{url}: {error}") from None
    except Exception as error:  # every service has errors of its own
        raise UnreadableError(f"{url}: cannot be read ({_said(error)}). Check the address and your access.") from None


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
