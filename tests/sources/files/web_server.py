"""A small web server on this machine, with what goes wrong with larger ones."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Site:
    """What the server has, and how it behaves.

    Attributes
    ----------
    files : dict
        Contents by path.
    ranges : bool
        Whether parts of files are given.
    cut_after : int or None
        Answers break off once so many bytes of them were sent, ``cuts`` times.
    sized : bool
        Whether the size of a file is told.
    asked : list
        The first and last byte of every answer.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.ranges = True
        self.sized = True
        self.cut_after: int | None = None
        self.cuts = 0
        self.address = ""
        self.asked: list[tuple[int, int]] = []

    def put(self, name: str, content: bytes) -> str:
        """Have a file; its address."""
        self.files[f"/{name}"] = content
        return f"{self.address}/{name}"


@contextmanager
def web_server() -> Iterator[Site]:
    """A server for the time of a test."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, body: bool) -> None:
            if self.path.endswith("/"):
                self._folder(body)
                return
            content = site.files.get(self.path.partition("?")[0])
            if content is None:
                self.send_error(404)
                return
            wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            begin, end = 0, len(content)
            if wanted and site.ranges:
                begin, end = int(wanted[1]), min(end, int(wanted[2] or end) + 1)
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
            else:
                self.send_response(200)
            if site.sized:
                self.send_header("Content-Length", str(end - begin))
            self._end_with_the_answer()
            self.send_header("ETag", hashlib.md5(content).hexdigest())
            self.end_headers()
            if not body:
                return
            site.asked.append((begin, end))
            part = content[begin:end]
            if site.cut_after is not None and site.cuts > 0 and len(part) > site.cut_after:
                site.cuts -= 1
                self.wfile.write(part[: site.cut_after])
                self.wfile.flush()
                return
            self.wfile.write(part)

        def _folder(self, body: bool) -> None:
            inside = [name for name in site.files if name.startswith(self.path)]
            page = "".join(f'<a href="{name}">{name}</a>' for name in inside).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(page)))
            self.send_header("Content-Type", "text/html")
            self._end_with_the_answer()
            self.end_headers()
            if body:
                self.wfile.write(page)

        def _end_with_the_answer(self) -> None:
            """No connection outlives its answer, so that no thread outlives its test."""
            self.send_header("Connection", "close")
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
