"""Files that appear complete or not at all: stale ones are removed, living ones stay, errors name the file."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from thresher.core.storage import atomic
from thresher.core.storage.atomic import TEMPORARY, check_not_read, check_writable, remove_stale, write_atomically
from thresher.errors import SettingsError, UnwritableError

_WRITER = """
import sys, time
from thresher.core.storage.atomic import write_atomically
def write(file):
    file.write(b"half")
    file.flush()
    print("here", flush=True)
    time.sleep(600)
write_atomically(sys.argv[1], write)
"""


def unfinished_files(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.startswith(TEMPORARY))


def test_the_next_writer_removes_the_files_of_the_dead_but_not_of_the_living(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path / name)], stdout=subprocess.PIPE, text=True)
        for name in ("living", "dead")
    ]
    try:
        for child in writers:
            assert child.stdout is not None
            assert child.stdout.readline() == "here\n"
        assert len(unfinished_files(tmp_path)) == 2
        writers[1].kill()
        writers[1].wait()
        write_atomically(tmp_path / "next", lambda file: file.write(b"whole"))
        assert len(unfinished_files(tmp_path)) == 1
        writers[0].kill()
        writers[0].wait()
        remove_stale(str(tmp_path))
        assert os.listdir(tmp_path) == ["next"]
    finally:
        for child in writers:
            child.kill()
            child.wait()
            assert child.stdout is not None
            child.stdout.close()


def test_a_new_file_that_is_taken_for_stale_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, calls = atomic._lock, []

    def late(descriptor: int, *, wait: bool) -> bool:
        if wait and not calls:
            calls.append(1)
            remove_stale(str(tmp_path))  # as if another process came between the creation and the lock
            assert os.listdir(tmp_path) == []
        return own(descriptor, wait=wait)

    monkeypatch.setattr(atomic, "_lock", late)
    write_atomically(tmp_path / "a", lambda file: file.write(b"whole"))
    assert calls
    assert (tmp_path / "a").read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["a"]


def test_without_locks_only_old_files_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "_lock", lambda descriptor, *, wait: False)
    for name, age in (("new", 0), ("old", 100_000)):
        path = tmp_path / f"{TEMPORARY}{name}"
        path.write_bytes(b"x")
        os.utime(path, (path.stat().st_atime - age, path.stat().st_mtime - age))
    write_atomically(tmp_path / "a", lambda file: file.write(b"whole"))
    assert sorted(os.listdir(tmp_path)) == [f"{TEMPORARY}new", "a"]


def test_what_only_looks_like_an_unfinished_file_stays(tmp_path: Path) -> None:
    (tmp_path / f"{TEMPORARY}folder").mkdir()
    (tmp_path / "target").write_bytes(b"x")
    (tmp_path / f"{TEMPORARY}link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / f"{TEMPORARY}pipe")
    remove_stale(str(tmp_path))
    assert len(os.listdir(tmp_path)) == 4


@pytest.mark.parametrize(
    ("name", "message"),
    [("folder", "folder is a folder: name a file in it"), ("no/out.thr", "there is no folder .*no: create it first")],
)
def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(SettingsError, match=message):
        check_writable(tmp_path / name)


def test_a_name_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="the path of the output is empty"):
        check_writable("")
    with pytest.raises(SettingsError, match=r"x: cannot be written .*too long"):
        check_writable(tmp_path / ("x" * 300))


def test_a_file_that_is_read_is_not_replaced(tmp_path: Path) -> None:
    rows, other = tmp_path / "rows.vw", tmp_path / "other.vw"
    rows.write_bytes(b"rows")
    (tmp_path / "link.vw").symlink_to(rows)
    check_not_read(other, [rows, "-", tmp_path / "none"])
    for name in ("rows.vw", "link.vw"):
        with pytest.raises(SettingsError, match=rf"{name}: the output would replace a file that is read"):
            check_not_read(tmp_path / name, [other, rows])


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="there is no /proc")
def test_a_folder_that_takes_no_files_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"/proc/out\.thr: cannot be written .* Choose another place"):
        check_writable("/proc/out.thr")


def test_a_check_touches_nothing(tmp_path: Path) -> None:
    (tmp_path / "out.thr").write_bytes(b"old")
    os.utime(tmp_path / "out.thr", (1, 1))
    (tmp_path / "new-link").symlink_to(tmp_path / "new")
    os.mkfifo(tmp_path / "pipe")
    for name in ("out.thr", "new", "new-link", "pipe"):
        check_writable(tmp_path / name)
    check_writable(os.devnull)
    assert sorted(os.listdir(tmp_path)) == ["new-link", "out.thr", "pipe"]
    assert (tmp_path / "out.thr").stat().st_mtime == 1
    assert (tmp_path / "out.thr").read_bytes() == b"old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_names_the_file() -> None:
    with pytest.raises(UnwritableError, match=r"/dev/full: cannot be written \(No space left on device\)\. Free some"):
        write_atomically("/dev/full", lambda file: file.write(b"x"))


def failing(error: BaseException) -> Any:
    def write(_: Any) -> None:
        raise error

    return write


def test_an_error_of_reading_is_not_blamed_on_the_file_written(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    error = OSError(errno.EIO, "Input/output error", str(tmp_path / "in" / "rows.vw"))
    with pytest.raises(OSError, match=r"rows\.vw") as raised:
        write_atomically(tmp_path / "out", failing(error))
    assert raised.value is error
    with pytest.raises(BrokenPipeError):
        write_atomically(tmp_path / "out", failing(BrokenPipeError()))
    with pytest.raises(UnwritableError, match=r"cannot be written \(Is a directory\)\. Choose another place"):
        write_atomically(tmp_path, failing(OSError(errno.EISDIR, "Is a directory")))
