"""``verbose``: progress as lines on standard error or in a notebook, and nothing by default."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

import thresher as th
from thresher.core.memory import Progress
from thresher.estimators.verbose import VerboseProgress

X = np.random.default_rng(0).normal(size=(200, 10))
Y = X[:, 3] > 0


def test_nothing_is_shown_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    th.MissionClassifier(2).fit(X, Y)
    assert capsys.readouterr() == ("", "")


def test_lines_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    model = th.MissionClassifier(2, verbose=1).fit(X, Y)
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert all(line.startswith("MissionClassifier: ") for line in lines)
    assert lines[-1].startswith("MissionClassifier: 2 features, ")
    assert "_shown" not in vars(model)


def test_an_error_ends_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    model = th.FGMClassifier(2, verbose=1)
    with pytest.raises(th.ThresherError):
        model.fit(X, np.zeros(200))
    assert "features" not in capsys.readouterr().err
    assert "_shown" not in vars(model)


def test_a_terminal_has_one_line_that_changes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("thresher.estimators.verbose._OFTEN", 0.0)
    show = VerboseProgress("Model")
    show(Progress(rows=1000, passes=2, rows_in_pass=500, total_rows=1000, seconds=1.0))
    show(Progress(phase="naming features", rows=10))
    show.end("3 features")
    first, second, last = capsys.readouterr().err.removeprefix("\r").split("\r")
    assert first.startswith("Model: pass 1 of 2, 1,000 rows, 1,000 rows/s, 25 %")
    assert second.startswith("Model: naming features, 10 rows")
    assert len(first) == len(second)
    assert last.startswith("Model: 3 features, 0.0 s")
    assert last.endswith("\n")


def test_a_notebook_has_one_output_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []

    class ZMQInteractiveShell:
        pass

    class Handle:
        def update(self, data: Any, raw: bool) -> None:
            shown.append(("update", data))

    def display(data: Any, raw: bool, display_id: bool) -> Handle:
        shown.append(("display", data))
        return Handle()

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = ZMQInteractiveShell  # type: ignore[attr-defined]
    output = types.ModuleType("IPython.display")
    output.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", output)
    show = VerboseProgress("Model")
    show(Progress(phase="reading"))
    show.end("3 features")
    assert [kind for kind, _ in shown] == ["display", "update"]
    assert shown[1][1]["text/plain"].startswith("Model: 3 features")
