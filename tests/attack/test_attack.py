"""A small share of the attack, the same in every run; and what the attack itself must notice."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="workers measure and limit their memory as POSIX does")

from tests.attack import runner, targets, worker
from tests.attack.checks import Wrong
from thresher.errors import DataError


def test_a_share_of_the_attack() -> None:
    report = runner.run(list(targets.TARGETS), range(12), seed="test")
    assert report.failures == []
    assert all(tally.cases == 12 for tally in report.tallies.values())


def test_what_a_worker_makes_of_a_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made(folder: Path) -> object:
        def case(rng: random.Random) -> None:
            error = (None, DataError("refused"), Wrong("another answer"), UnicodeError("raw"))[int(folder.name[0])]
            if error is not None:
                raise error

        return case

    monkeypatch.setattr(worker, "TARGETS", dict.fromkeys(["0", "1", "2", "3"], made))
    judge = worker.Worker("seed", tmp_path)
    outcomes = [judge.attempt(kind, 0)["outcome"] for kind in "0123"]
    assert outcomes == ["answered", "refused", "failed", "failed"]


class _Stub(runner._Process):
    """A process whose behaviour the order names."""

    def __init__(self) -> None:
        super().__init__("seed", "", 0.3)
        self._command = [
            "/bin/sh",
            "-c",
            'read kind number; case "$kind" in abort) kill -ABRT $$;; hang) exec sleep 5;; esac',
        ]
        self._prepared = {"abort", "hang"}


def test_lost_processes_are_failures() -> None:
    for kind, what in (("abort", "ended the process (SIGABRT)"), ("hang", "took over 0.3 s")):
        result = _Stub().attempt(kind, 0)
        assert (result["outcome"], result["what"]) == ("failed", what)


def test_what_a_case_prints_is_not_an_answer(tmp_path: Path) -> None:
    noisy = "import os; print('[noise', flush=True); os.write(1, b'[more')"
    script = (
        "from tests.attack import worker; from pathlib import Path\n"
        f"worker.TARGETS = {{'noisy': lambda folder: lambda rng: exec({noisy!r})}}\n"
        f"worker.serve('seed', Path({str(tmp_path)!r}))"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=runner._ROOT, input=b"noisy 0\n", capture_output=True)
    assert json.loads(ended.stdout)["outcome"] == "answered"


def test_a_run_that_cannot_go_on_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def attempt(self: object, kind: str, number: int) -> None:
        raise RuntimeError("no process")

    monkeypatch.setattr(runner._Process, "attempt", attempt)
    with pytest.raises(RuntimeError, match="no process"):
        runner.run(["csv"], range(2), seed="seed")


def test_a_growth_is_a_failure() -> None:
    report = runner.Report()
    report.add("csv", 7, {"outcome": "refused", "seconds": 0.1, "grown": 2 << 30})
    assert report.failures == [("csv", 7, "grew by 2048 MB")]
