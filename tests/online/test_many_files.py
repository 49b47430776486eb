"""Several files: which one is being read, and the bad lines of each."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

import thresher as th
from tests.online.test_select import _StopAt, saved_bytes
from tests.sources.reading import read
from tests.streams import planted, write_vw
from thresher.core.memory import Progress, ReadLimits
from thresher.core.progress_text import in_file
from thresher.report.summary import summary

X, Y = planted(rows=600)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three good files and three with bad lines: some, at the end, and nothing else."""
    inside = tmp_path / "data"
    inside.mkdir()
    text = write_vw(tmp_path / "rows.vw", X, Y).read_text().splitlines(keepends=True)
    for i in range(4):
        lines = text[150 * i : 150 * (i + 1)]
        if i == 1:
            lines[20:20] = ["bad\n", "1 | a:x\n"]
        if i == 2:
            lines += ["bad\n"] * 3
        (inside / f"part{i}.vw").write_text("".join(lines))
    (inside / "part4.vw").write_text("bad\nworse\n")
    return inside


def expected(folder: Path) -> dict[str, int]:
    return {str(folder / f"part{i}.vw"): count for i, count in ((1, 2), (2, 3), (4, 2))}


@pytest.mark.parametrize("shuffle", [True, False])
def test_bad_lines_are_counted_by_file(folder: Path, tmp_path: Path, shuffle: bool) -> None:
    """In the result, whatever the passes, the batches and the cache, and after any interruption."""
    how: dict[str, Any] = {"k": 9, "passes": 2, "memory": "4MB", "shuffle": shuffle, "format": "vw", "on_error": "skip"}
    whole = th.select(folder, **how)
    assert whole.provenance["skipped"] == 7
    assert whole.provenance["skipped_files"] == expected(folder)
    saved = saved_bytes(whole, tmp_path / "s")
    for rows, cache in ((13, None), (100, tmp_path / "cache"), (7, tmp_path / "cache")):
        assert saved_bytes(th.select(folder, **how, batch_rows=rows, cache=cache), tmp_path / "s") == saved
    for stop_at, first, then in ((3, None, None), (8, tmp_path / "cache", None), (9, None, tmp_path / "cache")):
        options = {**how, "batch_rows": 60, "checkpoint": tmp_path / "c"}
        with pytest.raises(th.Interrupted):
            th.select(folder, **options, cache=first, progress=_StopAt(stop_at))
        assert saved_bytes(th.select(folder, **options, cache=then), tmp_path / "s") == saved
    folder.rename(tmp_path / "moved")  # the same data elsewhere: it has its own names
    moved = th.select(tmp_path / "moved", **how, cache=tmp_path / "cache")
    assert moved.provenance["skipped_files"] == expected(tmp_path / "moved")
    assert len(list((tmp_path / "cache").iterdir())) == 1
    shown = dict(summary(whole, None, None))["learned"]
    assert f"7 malformed lines skipped: 3 of {folder / 'part2.vw'}, 2 of" in shown


def test_the_count_of_a_file_is_logged_at_its_end(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = th.scan(folder, format="vw", on_error="skip")
    with caplog.at_level(logging.WARNING):
        read(source.limited(ReadLimits(block=500)))
        read(source)  # reported once
    messages = [record.getMessage() for record in caplog.records if "were skipped" in record.getMessage()]
    assert messages == [f"{name}: {count} malformed lines were skipped" for name, count in expected(folder).items()]
    assert source.skipped_files() == expected(folder)


def test_resuming_within_a_file_counts_all_of_it(folder: Path) -> None:
    first = th.scan(folder, format="vw", on_error="skip").limited(ReadLimits(block=300))
    for _, cursor in first.batches(5):
        rest = th.scan(folder, format="vw", on_error="skip")
        for _ in rest.batches(start=cursor):
            pass
        counts = expected(folder)
        later = {name: count for name, count in counts.items() if name >= str(folder / f"part{cursor.part}.vw")}
        assert rest.skipped_files() == later


def test_bad_records_are_counted_by_file(tmp_path: Path) -> None:
    for name, text in (("a", ">1\nACGTACGT\n>2\nAC!GT\n"), ("b", ">1\nACGTAC\n"), ("c", ">1\n>2\nACG\n>3\nACCGGT\n")):
        (tmp_path / f"{name}.fa").write_text(text)
    counts = {str(tmp_path / "a.fa"): 1, str(tmp_path / "c.fa"): 2}
    for options in ({}, {"fragments": 5}):
        source = th.scan(tmp_path / "*.fa", kmer=4, on_error="skip", **options)
        read(source)
        assert source.skipped_files() == counts


def test_progress_names_the_file(folder: Path) -> None:
    seen: list[Progress] = []
    (folder / "part4.vw").unlink()
    th.select(folder, k=20, on_error="skip", shuffle=False, batch_rows=50, progress=seen.append)
    seen = [progress for progress in seen if not progress.phase]  # the loop itself
    names = list(dict.fromkeys(Path(progress.file or "").name for progress in seen))
    assert names == [f"part{i}.vw" for i in range(4)]
    assert {(progress.file_number, progress.files) for progress in seen} == {(i, 4) for i in range(1, 5)}
    assert in_file(seen[0]) == ", file 1 of 4 (part0.vw)"
    th.select(folder / "part0.vw", k=20, progress=seen.append)
    assert in_file(seen[-1]) == ""
    th.select(X, Y, k=20, progress=seen.append)
    assert in_file(seen[-1]) == ""
