"""The cache: when it is written, used, written anew, and kept small; and what a killed writer leaves behind."""

from __future__ import annotations

import errno
import gzip
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from tests.sources.reading import exactly, read
from thresher.core.batch import Cursor
from thresher.core.memory import ReadLimits
from thresher.core.storage.atomic import unfinished
from thresher.errors import FileFormatError, SettingsError
from thresher.sources.cache import cached as cache_module
from thresher.sources.cache import file as stored_file
from thresher.sources.cache import folder as cache_folder
from thresher.sources.registry import as_source
from thresher.sources.text.line_formats import VwSource
from thresher.sources.transforms.holdout import hold_out
from thresher.sources.transforms.weights import Weighted

TEXT = "".join(f"{i % 2} |a w{i % 7}:{i} |b v{i % 3} v{i % 11}\n" for i in range(400))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "rows.vw"
    path.write_text(TEXT)
    return path


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were parsed."""
    seen: list[str] = []
    own = VwSource.read_lines

    def noted(self: VwSource, part: Any, *rest: Any, **more: Any) -> Any:
        seen.append(Path(part.path).name)
        return own(self, part, *rest, **more)

    monkeypatch.setattr(VwSource, "read_lines", noted)
    return seen


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*"))


def test_it_is_written_once_and_read_ever_after(data: Path, tmp_path: Path, parsed: list[str]) -> None:
    expected = exactly(read(th.scan(data), want_names=True))
    parsed.clear()
    for _ in range(3):
        source = th.scan(data, cache=tmp_path / "cache")
        for _ in range(2):
            assert exactly(read(source, 37, want_names=True)) == expected
    assert parsed == ["rows.vw"]
    assert len(files(tmp_path / "cache")) == 1


def test_it_is_written_anew_when_the_data_changed(data: Path, tmp_path: Path, parsed: list[str]) -> None:
    source = th.scan(data, cache=tmp_path / "cache")
    before = read(source)
    data.write_text(TEXT.replace("w3:3 ", "w3:4 "))
    after = read(source)
    assert after != before
    assert exactly(after) == exactly(read(th.scan(data)))
    assert exactly(read(th.scan(data, cache=tmp_path / "cache"))) == exactly(after)
    assert len(files(tmp_path / "cache")) == 2


def test_data_that_changes_while_it_is_parsed_is_not_kept(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = stored_file.encode

    def changing(*given: Any) -> Any:
        data.write_text(TEXT + "1 | one more\n")
        return own(*given)

    monkeypatch.setattr(stored_file, "encode", changing)
    with pytest.raises(th.DataError, match="the data changed while it was read"):
        read(th.scan(data, cache=tmp_path / "cache"))
    assert files(tmp_path / "cache") == []


def test_parsed_rows_need_none(data: Path, tmp_path: Path) -> None:
    from thresher.writers.registry import write_source

    write_source(th.scan(data), tmp_path / "rows.thc")
    source = th.scan(tmp_path / "rows.thc", cache=tmp_path / "cache")
    assert exactly(read(source)) == exactly(read(th.scan(data)))
    assert not (tmp_path / "cache").exists()


def test_a_large_file_of_the_same_size_and_samples_is_known_by_its_date(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fingerprint looks at samples of large files, and can miss a change between them."""
    monkeypatch.setattr("thresher.sources.files.paths._WHOLE", 100)
    monkeypatch.setattr("thresher.sources.files.paths._SAMPLE", 10)
    monkeypatch.setattr("thresher.sources.files.paths._SAMPLES", 2)
    source, other = (th.scan(data, cache=tmp_path / "cache") for _ in range(2))
    before = read(source)
    data.write_text(TEXT.replace("w3:3 ", "w3:4 "))
    os.utime(data, ns=(1, 1))
    for again in (source, other):
        assert read(again) != before
        assert exactly(read(again)) == exactly(read(th.scan(data)))


@pytest.mark.parametrize("options", [{"on_error": "skip"}, {"format": "libsvm"}])
def test_options_that_change_the_rows_have_files_of_their_own(
    tmp_path: Path, options: dict[str, Any], parsed: list[str]
) -> None:
    path = tmp_path / "rows"
    path.write_text("1 | 3:1 4:2\n-1 | 5:6\n" if "format" not in options else "1 3:1\n-1 5:6\n")
    for _ in range(2):
        if "format" not in options:
            read(th.scan(path, format="vw", cache=tmp_path / "cache"))
        read(th.scan(path, cache=tmp_path / "cache", **{"format": "vw", **options}))
        read(th.scan(path, cache=tmp_path / "cache", **{"format": "vw", **options}), want_labels=False)
    assert len(files(tmp_path / "cache")) == (3 if "format" not in options else 2)


def test_what_was_skipped_is_known_from_the_cache(tmp_path: Path) -> None:
    """The count of bad lines, also behind the last row; and limits under which other lines are bad."""
    path = tmp_path / "rows.vw"
    path.write_text("1 | a\nbad\n0 | b\n1 | " + "c" * 100 + "\nbad\n")
    plain, kept = th.scan(path, on_error="skip"), th.scan(path, on_error="skip", cache=tmp_path / "cache")
    for _ in range(2):
        for limits in (ReadLimits(), ReadLimits(line_cap=50)):
            ends = [[*source.limited(limits).batches()][-1][1] for source in (plain, kept)]
            assert ends[0] == ends[1]
            assert ends[0].skipped == ends[1].skipped == (3 if limits.line_cap == 50 else 2)
            assert exactly(read(kept.limited(limits))) == exactly(read(plain.limited(limits)))


def test_bad_lines_are_told_as_ever_and_leave_no_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.vw"
    path.write_text(TEXT + "1 |a b:oops\n")
    with pytest.raises(th.DataError, match=r"rows\.vw: line 401, column 8: "):
        read(th.scan(path, cache=tmp_path / "cache"))
    assert files(tmp_path / "cache") == []


def test_cursors_are_those_of_the_source(data: Path, tmp_path: Path) -> None:
    """Reading goes on behind the cache from a cursor without it, and the other way round."""
    second = tmp_path / "more.vw"
    second.write_text(TEXT[: len(TEXT) // 2].rpartition("\n")[0] + "\n")
    plain, kept = (th.scan([data, second], **how) for how in ({}, {"cache": tmp_path / "cache"}))
    everything = exactly(read(plain))
    for one, other in ((plain, kept), (kept, plain)):
        done = 0
        for batch, cursor in one.batches(23):
            done += len(batch)
            stored = Cursor.from_dict(cursor.to_dict())
            assert stored.row == done
            assert exactly(read(other, 19, start=stored)) == everything[done:]
            assert one.where(cursor, batch, 0) == other.where(cursor, batch, 0)


def test_what_lies_over_a_source_stays_over_it(data: Path, tmp_path: Path, parsed: list[str]) -> None:
    """Only what is parsed is kept: weights, held-out rows, products and orders share one file."""
    folder = tmp_path / "cache"
    plain = th.scan(data)
    for made in (
        Weighted(plain, {1.0: 2.0}),
        hold_out(plain, 0.3)[0],
        hold_out(plain, 0.3)[1],
        plain.shuffled(3, rows=50, features=1000),
        hold_out(plain, 0.3)[0].shuffled(3, rows=50, features=1000),
    ):
        kept = th.cached(made, folder)
        assert kept.fingerprint() == made.fingerprint()
        assert exactly(read(kept, want_names=True)) == exactly(read(made, want_names=True))
    assert len(files(folder)) == 1
    assert th.cached(kept, folder).fingerprint() == kept.fingerprint()


def test_data_in_memory_needs_none(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="needs no cache"):
        th.cached(as_source(np.eye(3), [0, 1, 2]), tmp_path)
    with pytest.raises(SettingsError, match="needs no cache"):
        th.select(np.eye(3), [0, 1, 1], k=1, cache=tmp_path)
    (tmp_path / "a.fa").write_text(">r\nACGTACGTACGT\n")
    with pytest.raises(SettingsError, match="needs no cache"):
        th.scan(tmp_path / "a.fa", kmer=3, fragments=5, cache=tmp_path)


def test_a_damaged_file_is_written_anew(data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    expected = exactly(read(th.scan(data, cache=tmp_path / "cache")))
    (path,) = files(tmp_path / "cache")
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"x" * len(whole)):
        path.write_bytes(damaged)
        with caplog.at_level(logging.WARNING):
            assert exactly(read(th.scan(data, cache=tmp_path / "cache"))) == expected
        assert "Writing a new one" in caplog.text
        caplog.clear()
        assert path.read_bytes() == whole


def test_damage_that_only_reading_shows_removes_the_file(data: Path, tmp_path: Path) -> None:
    source = th.scan(data, cache=tmp_path / "cache")
    expected = exactly(read(source))
    (path,) = files(tmp_path / "cache")
    whole = bytearray(path.read_bytes())
    keys = next(iter(source.batches()))[0].keys[:3].tobytes()
    whole[whole.index(keys)] ^= 1
    path.write_bytes(whole)
    with pytest.raises(FileFormatError, match=r"block 0 is damaged .*The file was removed. Run again"):
        read(th.scan(data, cache=tmp_path / "cache"))
    assert files(tmp_path / "cache") == []
    assert exactly(read(th.scan(data, cache=tmp_path / "cache"))) == expected


def test_the_oldest_make_room(tmp_path: Path, parsed: list[str]) -> None:
    folder = tmp_path / "cache"
    for number in range(3):
        (tmp_path / f"{number}.vw").write_text(TEXT.replace("w", f"w{number}"))
        read(th.scan(tmp_path / f"{number}.vw", cache=folder))
        (new,) = [path for path in files(folder) if path.stat().st_mtime > 1e9]
        os.utime(new, (number, number))
    size = sum(path.stat().st_size for path in files(folder))
    read(th.scan(tmp_path / "0.vw", cache=folder))  # used again: now the youngest
    (tmp_path / "3.vw").write_text(TEXT.replace("w", "w3"))
    read(th.scan(tmp_path / "3.vw", cache=folder, cache_size=size + 10_000))
    assert len(files(folder)) == 3
    parsed.clear()
    for number in (3, 0, 2):
        read(th.scan(tmp_path / f"{number}.vw", cache=folder))
    assert parsed == []
    read(th.scan(tmp_path / "1.vw", cache=folder))
    assert parsed == ["1.vw"]


def test_rows_that_alone_are_too_many_are_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"more than the 1\.0 KB that the cache may use.*`cache_size`"):
        th.select(data, k=2, cache=tmp_path / "cache", cache_size="1KB")
    assert files(tmp_path / "cache") == []
    with pytest.raises(SettingsError, match="not a size"):
        th.scan(data, cache=tmp_path / "cache", cache_size="some")


def test_a_full_disk(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache_module, "write_rows", full)
    with pytest.raises(SettingsError, match=r"cannot be written \(No space left on device\)"):
        read(th.scan(data, cache=tmp_path / "cache"))
    assert files(tmp_path / "cache") == []


def test_what_is_not_a_folder(data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="cannot be a cache folder"):
        read(th.scan(data, cache=tmp_path / "file"))
    with pytest.raises(SettingsError, match="cache must be a folder"):
        th.scan(data, cache="")
    with pytest.raises(SettingsError, match=r"cache must be a folder of this computer, not s3://\*\*\*@bucket/rows"):
        th.scan(data, cache="s3://user:secret@bucket/rows")  # it was a folder of that name, secret and all


@pytest.mark.parametrize(
    ("platform", "variable", "inside"),
    [("linux", "XDG_CACHE_HOME", "thresher"), ("win32", "LOCALAPPDATA", "thresher"), ("darwin", "HOME", "Caches")],
)
def test_the_usual_folder(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, variable: str, inside: str
) -> None:
    monkeypatch.setattr(cache_folder.sys, "platform", platform)
    monkeypatch.setenv(variable, str(tmp_path / "own"))
    assert cache_folder.user_folder().startswith(str(tmp_path / "own"))
    read(th.scan(data, cache=True))
    assert list((tmp_path / "own").rglob("*.thc"))


def test_half_written_files_are_cleared_away(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    with unfinished(str(folder)):  # a writer that still runs
        (folder / ".thresher-1").write_text("half")
        read(th.scan(data, cache=folder))
        assert len(list(folder.glob(".thresher-*"))) == 1
        assert not (folder / ".thresher-1").exists()


_WRITER = """
import sys, time
import thresher as th
from thresher.sources.cache import file as stored_file
own, left = stored_file.encode, int(sys.argv[3])
def stuck(*given):
    global left
    if not left:
        print("here", flush=True)
        time.sleep(600)
    left -= 1
    return own(*given)
stored_file.encode = stuck
from thresher.core.memory import ReadLimits
th.scan(sys.argv[1], cache=sys.argv[2]).limited(ReadLimits(block=200)).prepare()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9")
def test_a_killed_writer_leaves_nothing_that_would_be_used(data: Path, tmp_path: Path, parsed: list[str]) -> None:
    folder = tmp_path / "cache"
    for blocks in (1, 5):
        child = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(data), str(folder), str(blocks)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "here\n"
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert not list(folder.glob("*.thc"))
        assert list(folder.glob(".thresher-*"))
    expected = exactly(read(th.scan(data)))
    parsed.clear()
    assert exactly(read(th.scan(data, cache=folder))) == expected
    assert parsed == ["rows.vw"]
    assert not list(folder.glob(".thresher-*"))


def test_an_interrupted_writer_leaves_nothing(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = stored_file.encode

    def pressed(batch: Any, cursor: Cursor) -> Any:
        if cursor.row > 50:
            raise KeyboardInterrupt
        return own(batch, cursor)

    monkeypatch.setattr(stored_file, "encode", pressed)
    source = th.scan(data, cache=tmp_path / "cache").limited(ReadLimits(block=200))
    with pytest.raises(KeyboardInterrupt):
        read(source)
    assert files(tmp_path / "cache") == []


def test_a_removed_file_is_still_read_by_whoever_has_it(data: Path, tmp_path: Path, parsed: list[str]) -> None:
    source = th.scan(data, cache=tmp_path / "cache")
    expected = exactly(read(source))
    parsed.clear()
    for path in files(tmp_path / "cache"):
        path.unlink()
    assert exactly(read(source)) == expected
    assert parsed == []


def test_a_missing_package_is_named(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.ipc", None)
    with pytest.raises(th.MissingExtraError, match=r"needs pyarrow.*pip install 'thresher\[arrow\]'"):
        read(th.scan(data, cache=tmp_path / "cache"))


def test_progress_is_told_while_it_is_written(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cache_module, "_LOG_EVERY", 0.0)
    packed = tmp_path / "rows.vw.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    with caplog.at_level(logging.INFO, logger="thresher.sources"):
        read(th.scan(packed, cache=tmp_path / "cache").limited(ReadLimits(block=500)))
    assert "writing its rows to" in caplog.text
    assert "rows written, 100 %" in caplog.text
