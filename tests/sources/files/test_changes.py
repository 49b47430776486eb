"""Files that change while they are read: never in silence."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

import thresher as th
from thresher.core.memory import Progress
from thresher.errors import DataError, UnreadableError
from thresher.sources.base import Source
from thresher.sources.files.changes import FilesAtStart
from thresher.sources.files.paths import Stream
from thresher.sources.text.line_formats import scan_vw
from thresher.sources.transforms.watched import Watched
from thresher.writers.registry import write_source


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.vw"
    path.write_text("".join(f"{1 if i % 2 else -1} | a{i % 2} b{i % 7} c{i}\n" for i in range(400)))
    return path


@pytest.mark.parametrize("what", ["append", "truncate", "touch"])
def test_a_file_that_changes_between_passes(rows: Path, what: str, caplog: pytest.LogCaptureFixture) -> None:
    """Later passes read other rows than the first, and nothing was said."""
    changed = False

    def change(progress: Progress) -> None:
        nonlocal changed
        if progress.passes_done and not changed:
            changed = True
            if what == "append":
                rows.write_text(rows.read_text() + "1 | later\n")
            elif what == "truncate":
                os.truncate(rows, 1000)
            else:
                os.utime(rows, (1, 1))

    with caplog.at_level(logging.WARNING):
        selection = th.select(rows, k=3, passes=3, progress=change)
    assert changed
    assert any("rows.vw: the file changed while it was read" in warning for warning in caplog.messages)
    assert any("changed while it was read" in warning for warning in selection.provenance["warnings"])


def test_a_file_that_stays_is_no_warning(rows: Path) -> None:
    selection = th.select(rows, k=3, passes=2, holdout=0.2)
    assert not any("changed" in warning for warning in selection.provenance.get("warnings", []))


def test_files_of_sources(rows: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.vw"
    other.write_text("1 | a\n")
    os.mkfifo(tmp_path / "pipe.vw")
    source: Source = scan_vw([rows, other, tmp_path / "pipe.vw", "https://example.invalid/rows.vw"])
    files = FilesAtStart(Watched(source, None, "reading"))  # type: ignore[arg-type]
    assert files.paths == [str(rows), str(other)]
    assert files.changed() == []
    other.unlink()
    assert files.changed() == [str(other)]


def test_rows_that_changed_are_not_converted(rows: Path, tmp_path: Path) -> None:
    class Changing(Watched):
        def _read(self, *how: object) -> object:  # type: ignore[override]
            rows.write_text("1 | other\n")
            return self.source._read(*how)  # type: ignore[arg-type]

    source = Changing(scan_vw(rows), None, "reading")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"rows\.vw: the data changed while it was read"):
        write_source(source, tmp_path / "out.svm")
    assert sorted(os.listdir(tmp_path)) == ["rows.vw"]


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that cannot be read")
def test_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UnreadableError, match=r"/proc/self/mem: cannot be read \(Input/output error\)"):
        Stream("/proc/self/mem", window_limit=1 << 20)
