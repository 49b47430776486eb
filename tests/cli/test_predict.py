"""`thresher predict` with reading options and identifiers."""

from __future__ import annotations

from pathlib import Path

import thresher as th
from tests.cli.test_commands import run
from tests.selection.test_predictions import reviews, write


def test_layout_and_identifiers(tmp_path: Path) -> None:
    texts, labels = reviews(100, 0)
    model = th.select(texts, labels, k=5)
    model.save(tmp_path / "m.thr")
    new = write(tmp_path / "new.csv", ["id", "comment"], ["a", "b\tc"], texts[:2])
    plain = run("predict", tmp_path / "m.thr", new, "--text", "comment")
    assert plain.stdout.splitlines() == model.predict(texts[:2]).tolist(), plain.stderr
    shown = run("predict", tmp_path / "m.thr", new, "--text", "comment", "--ids", "file,line", "--id-column", "id")
    header, *rows = (line.split("\t") for line in shown.stdout.splitlines())
    assert header == ["file", "line", "id", "prediction"]
    assert rows == [[str(new), "2", "a", labels[0]], [str(new), "3", "b\\tc", labels[1]]]


def test_what_is_refused(tmp_path: Path) -> None:
    texts, labels = reviews(100, 0)
    th.select(texts, labels, k=5).save(tmp_path / "m.thr")
    new = write(tmp_path / "new.csv", ["id", "comment"], ["a", "b"], texts[:2])
    missing = run("predict", tmp_path / "m.thr", new)
    assert missing.exit_code == 1
    assert "there is no column 'text'" in missing.stderr
    assert "--text" in missing.stderr
    other = run("predict", tmp_path / "m.thr", new, "--text", "comment", "--words", "1-2")
    assert other.exit_code == 2
    assert "words: the data is read as that of the model" in other.stderr
