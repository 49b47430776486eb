"""Text files of every format: plain, compressed, several, by glob and by folder."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import zstandard

from tests.sources.rows import KINDS, Expected, Kind, Row, row_of
from thresher import _native
from thresher.sources.base import Source
from thresher.sources.text.line_formats import scan_libsvm, scan_vw


def libsvm_text(rows: Iterable[Row], labels: bool = True) -> bytes:
    lines = []
    for i, row in enumerate(rows):
        words = [f"{row.y:g}"] if labels else []
        words += [f"{10 * column}:{value!r}" for column, value in row.features]
        if not labels and not row.features:
            words = ["0:0"]  # a line of nothing would be no row
        lines.append(" ".join(words) + (" # remark" if i % 5 == 1 else ""))
    return "".join(line + "\n" for line in lines).encode()


def vw_text(rows: Iterable[Row], labels: bool = True) -> bytes:
    """Even columns in namespace ``user``, odd ones in the default one, after them."""
    lines = []
    for row in rows:
        even = "".join(f" é{column}:{value!r}" for column, value in row.features if column % 2 == 0)
        odd = "".join(f" n{column}:{value!r}" for column, value in row.features if column % 2)
        head = f"{row.y:g} {row.weight:g} 'tag" if labels else ""
        lines.append(f"{head}|user{even} |{odd}")
    return "".join(line + "\n" for line in lines).encode()


def libsvm_rows(rows: list[Row]) -> list[Expected]:
    return [row_of(row, lambda c: str(10 * c), lambda c: 10 * c, weighted=False) for row in rows]


def vw_rows(rows: list[Row]) -> list[Expected]:
    seed = _native.hash_bytes(b"user^", 0)

    def key(column: int) -> int:
        if column % 2:
            return _native.hash_bytes(f"n{column}".encode(), 0)
        return _native.hash_bytes(f"é{column}".encode(), seed)

    evens_first = [replace(row, features=tuple(sorted(row.features, key=lambda f: f[0] % 2))) for row in rows]
    return [row_of(row, lambda c: f"n{c}" if c % 2 else f"user^é{c}", key) for row in evens_first]


def halves(text: bytes) -> tuple[bytes, bytes]:
    """A text cut at a line end."""
    at = text.index(b"\n", len(text) // 2) + 1
    return text[:at], text[at:]


def with_checks(text: bytes) -> bytes:
    """Zstandard as a stream: blocks, a checksum, and no size in the header."""
    writer = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    first, second = halves(text)
    return (
        writer.compress(first)
        + writer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        + writer.compress(second)
        + writer.flush()
    )


def gzipped(text: bytes) -> bytes:
    """The same bytes at any time of day."""
    return gzip.compress(text, mtime=0)


COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzipped,
    "gz-members": lambda text: b"".join(gzipped(half) for half in halves(text)) + b"\0" * 100,
    "zst": lambda text: zstandard.ZstdCompressor().compress(text),
    "zst-frames": lambda text: b"".join(with_checks(half) for half in halves(text)),
    "xz": lzma.compress,
    "xz-streams": lambda text: b"".join(lzma.compress(half) for half in halves(text)),
    "bz2": bz2.compress,
    "bz2-streams": lambda text: b"".join(bz2.compress(half) for half in halves(text)),
    "crlf": lambda text: text.replace(b"\n", b"\r\n"),
    "no-final-newline": lambda text: text.rstrip(b"\n"),
    "blank-lines": lambda text: b"\n \t\n" + text.replace(b"\n", b"\n\n"),
    "plain": bytes,
}

#: One decompressor serves all formats, so LIBSVM is read from every kind of compressed file and the others from one.
LAID_OUT = {how: COMPRESSED[how] for how in ("gz", "crlf", "no-final-newline", "blank-lines", "plain")}

FORMATS: dict[str, tuple[Callable[..., bytes], Callable[..., Source], Callable[[list[Row]], list[Expected]]]] = {
    "libsvm": (libsvm_text, scan_libsvm, libsvm_rows),
    "vw": (vw_text, scan_vw, vw_rows),
}


def _register_files() -> None:
    for name, (write, scan, expect) in FORMATS.items():

        def several(folder: Path, rows: list[Row], write: Any = write) -> list[Path]:
            texts = [write(rows[:1]), write(rows[1:9]), write(rows[9:])]
            contents = [texts[0].rstrip(b"\n"), gzipped(texts[1]), texts[2]]
            (folder / "parts").mkdir()
            paths = [folder / "parts" / f"part{number}" for number in (1, 2, 10)]
            for path, content in zip(paths, contents, strict=True):
                path.write_bytes(content)
            return paths

        def bare(folder: Path, rows: list[Row], write: Any = write, scan: Any = scan) -> Source:
            (folder / "bare").write_bytes(write(rows, labels=False))
            return scan(folder / "bare")

        for how, change in (COMPRESSED if name == "libsvm" else LAID_OUT).items():

            def one(folder: Path, rows: list[Row], how=how, change=change, write=write, scan=scan) -> Source:
                (folder / "rows").write_bytes(change(write(rows)))
                return scan(folder / "rows")

            plain = how in ("plain", "crlf", "no-final-newline", "blank-lines")
            KINDS[f"{name}-{how}"] = Kind(one, expect, unlabelled=bare, shards=10 if plain else 1)
        KINDS[f"{name}-files"] = Kind(
            lambda f, r, s=several, scan=scan: scan(s(f, r)), expect, unlabelled=bare, shards=3
        )
        KINDS[f"{name}-glob"] = Kind(
            lambda f, r, s=several, scan=scan: scan(s(f, r)[0].parent / "part*"), expect, unlabelled=bare, shards=3
        )
        KINDS[f"{name}-folder"] = Kind(
            lambda f, r, s=several, scan=scan: scan(str(s(f, r)[0].parent)), expect, unlabelled=bare, shards=3
        )


_register_files()
