"""Sources whose rows were parsed before: behind a cache, and files of parsed rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.sources import file_makers, memory_makers, sequence_makers  # noqa: F401 - what these are made from
from tests.sources.rows import KINDS, Kind, Row
from thresher.sources.base import Source
from thresher.sources.cache.cached import cached
from thresher.sources.cache.source import scan_cache
from thresher.writers.registry import write_source

Make = Callable[[Path, list[Row]], Source]


def _behind_a_cache(make: Make) -> Make:
    return lambda folder, rows: cached(make(folder, rows), folder / "cache")


def _read_twice(make: Make) -> Make:
    """Behind a cache that an earlier source of the same data has written."""

    def again(folder: Path, rows: list[Row]) -> Source:
        source = cached(make(folder, rows), folder / "cache")
        for _ in source.batches(3):
            pass
        return cached(source.source, folder / "cache")

    return again


def _as_file(make: Make) -> Make:
    def written(folder: Path, rows: list[Row]) -> Source:
        write_source(make(folder, rows), folder / "rows.thc")
        return scan_cache(folder / "rows.thc")

    return written


def _as_files(make: Make) -> Make:
    def written(folder: Path, rows: list[Row]) -> Source:
        paths = []
        for number, some in enumerate((rows[:1], rows[1:9], rows[9:])):
            (folder / str(number)).mkdir()
            paths.append(folder / f"rows-{number}.thc")
            write_source(make(folder / str(number), some), paths[-1])
        return scan_cache(paths)

    return written


def _register() -> None:
    for base in ("libsvm-files", "libsvm-gz", "vw-plain", "vw-files", "fasta-files"):
        kind = KINDS[base]
        bare = kind.unlabelled
        KINDS[f"cached({base})"] = replace(
            kind, make=_behind_a_cache(kind.make), unlabelled=None if bare is None else _behind_a_cache(bare)
        )
        KINDS[f"cached-before({base})"] = replace(kind, make=_read_twice(kind.make), unlabelled=None)
    for base in ("libsvm-plain", "vw-plain", "arrow-table", "csr-i32", "fasta-files"):
        kind = KINDS[base]
        bare = kind.unlabelled
        KINDS[f"stored({base})"] = Kind(
            _as_file(kind.make), kind.expect, unlabelled=None if bare is None else _as_file(bare)
        )
    KINDS["stored-files(vw-plain)"] = Kind(_as_files(KINDS["vw-plain"].make), KINDS["vw-plain"].expect, shards=3)


_register()
