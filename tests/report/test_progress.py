"""Progress in every phase of a fit, and how it is shown."""

from __future__ import annotations

import itertools
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

import thresher as th
from tests.cli.test_commands import run
from tests.streams import planted, write_vw
from thresher.core.memory import Progress
from thresher.core.progress_text import log_line
from thresher.report import progress as display
from thresher.report.progress import show_progress

X, Y = planted(rows=400)
LOOP = ""
HELD, REFIT, CALIBRATION = "reading held-out rows", "refitting the selected features", "calibrating probabilities"
PENALTY = "choosing a penalty"
ONE_PASS = {"passes": 1, "refit": False}
LEAKS = "looking for leaks"


@pytest.fixture(scope="module")
def vw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vw(tmp_path_factory.mktemp("data") / "rows.vw", X, Y)


def phases(data: Any, **settings: Any) -> list[str]:
    """The phases of a fit, in order; each must end with all its rows, if it counts them."""
    seen: list[Progress] = []
    th.select(data, k=5, progress=seen.append, **settings)
    for one, following in itertools.pairwise(seen):
        if following.phase == one.phase and not one.passes_done:
            assert following.rows >= one.rows
    return list(dict.fromkeys(one.phase for one in seen))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [HELD, LOOP, PENALTY, REFIT, LEAKS]),
        ({"holdout": 0.2, **ONE_PASS}, [LOOP, "scoring held-out rows", LEAKS]),
        ({"loss": "softmax", **ONE_PASS}, ["reading labels", LOOP, LEAKS]),
        ({"class_weight": "balanced", **ONE_PASS}, ["counting labels", LOOP, LEAKS]),
        ({"cache": True, **ONE_PASS}, ["writing the cache", LOOP, LEAKS]),
        ({"method": "b-arda", "passes": 2, "refit": False}, [LOOP, "refitting the intercept", LEAKS]),
        ({"method": "fgm"}, [LOOP, "choosing C, scale and refit", REFIT, "naming features", LEAKS]),
        (
            {"method": "sparse-rf", "gamma": 0.1, "lam": 1.0, "draws": 5, "max_iter": 2},
            [LOOP, REFIT, "naming features", CALIBRATION],
        ),
        (
            {"method": "os"},
            [
                "reading",
                *(f"choosing the penalty, {number} of 4" for number in range(1, 5)),
                LOOP,
                REFIT,
                "naming features",
                LEAKS,
            ],
        ),
    ],
    ids=lambda value: " ".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_every_phase_is_reported(vw: Path, tmp_path: Path, settings: dict[str, Any], expected: list[str]) -> None:
    if "cache" in settings:
        settings = {**settings, "cache": tmp_path}
    assert phases(vw, **settings) == expected


def test_validation_is_a_phase_within_the_loop(vw: Path) -> None:
    assert phases(vw, method="fgm", preset="fixed", validation=str(vw))[:2] == [LOOP, "validating"]


def test_a_phase_knows_its_share(vw: Path) -> None:
    seen: list[Progress] = []
    th.select(vw, k=5, holdout=0.5, progress=seen.append, batch_rows=50)
    scoring = [one for one in seen if one.phase]
    assert scoring[-1].fraction == 1.0
    assert scoring[-1].rows > 100


def test_the_last_of_the_loop_is_remembered_with_the_most_memory() -> None:
    with show_progress(quiet=True) as shown:
        shown(Progress(rows=10, seconds=2.0, grown=5))
        shown(Progress(phase="naming features", rows=99, seconds=9.0, grown=7))
    assert shown.last == Progress(rows=10, seconds=2.0, grown=7)


def test_a_long_silent_phase_is_logged_again_and_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(display, "LOG_EVERY", 0.01)
    logged = threading.Event()

    class Two(logging.Handler):
        count = 0

        def emit(self, record: logging.LogRecord) -> None:
            self.count += "refitting" in record.getMessage()
            if self.count == 2:
                logged.set()

    caplog.set_level("INFO")
    handler = Two()
    display.log.addHandler(handler)
    try:
        with show_progress() as shown:
            shown(Progress(phase="refitting the selected features"))
            assert logged.wait(60)  # no further report
    finally:
        display.log.removeHandler(handler)


def test_lines_of_the_log() -> None:
    assert log_line(Progress(phase="refitting the intercept"), 12.3) == "refitting the intercept, 12 s so far"
    named = Progress(phase="naming features", rows=5000, rows_in_pass=5000, total_rows=20000)
    assert log_line(named, 3.0) == "naming features, 5,000 rows, 25 %, 9 s left"
    loop = Progress(rows=1000, passes=2, passes_done=1, rows_in_pass=0, total_rows=1000, seconds=2.0)
    assert log_line(loop, 2.0) == "1,000 rows, 500 rows/s, 50 %, 2 s left"


def test_predict_and_convert_have_progress(vw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(display._Log, "__call__", lambda self, one: seen.append(one.phase))
    th.select(vw, k=5).save(tmp_path / "rows.thr")
    assert run("predict", tmp_path / "rows.thr", vw, "-o", tmp_path / "out.txt").exit_code == 0
    assert run("convert", vw, tmp_path / "rows.svm").exit_code == 0
    assert set(seen) == {"predicting", "converting"}
