"""Runs cases in worker processes, and counts what became of them."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Limits of a case, and the growth after which a worker is replaced, so that the growth of later cases is seen.
MOST_SECONDS, MOST_GROWTH, _REPLACE_AFTER = 10.0, 1 << 30, 256 << 20
_PREPARE_SECONDS = 120.0
_ROOT = Path(__file__).parents[2]


@dataclass
class Tally:
    """What became of the cases of a kind."""

    answered: int = 0
    refused: int = 0
    failed: int = 0
    slowest: float = 0.0
    grown: int = 0

    @property
    def cases(self) -> int:
        return self.answered + self.refused + self.failed


@dataclass
class Report:
    """The tallies by kind, and every failure as (kind, number, what)."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    failures: list[tuple[str, int, str]] = field(default_factory=list)

    def add(self, kind: str, number: int, result: dict[str, Any]) -> None:
        """Count a case."""
        tally = self.tallies.setdefault(kind, Tally())
        seconds, grown, outcome = result["seconds"], result["grown"], result["outcome"]
        tally.slowest, tally.grown = max(tally.slowest, seconds), max(tally.grown, grown)
        if outcome != "failed" and grown > MOST_GROWTH:
            outcome, result = "failed", {"what": f"grew by {grown >> 20} MB"}
        setattr(tally, outcome, getattr(tally, outcome) + 1)
        if outcome == "failed":
            self.failures.append((kind, number, result["what"]))


class _Process:
    """A worker process, started when it is needed and replaced when it is lost."""

    def __init__(self, seed: str, folder: str, most_seconds: float) -> None:
        self._command = [sys.executable, "-m", "tests.attack.worker", seed, folder]
        self._most_seconds = most_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._prepared: set[str] = set()
        self._grown = 0

    def attempt(self, kind: str, number: int) -> dict[str, Any]:
        """Try a case; losing the process is a failure of the case."""
        if kind not in self._prepared:
            lost = self._ask(f"{kind} prepare", _PREPARE_SECONDS)
            if "outcome" in lost:
                raise RuntimeError(f"{kind}: the files cannot be prepared ({lost['what']})")
            self._prepared.add(kind)
        result = self._ask(f"{kind} {number}", self._most_seconds)
        self._grown += result["grown"]
        if self._grown > _REPLACE_AFTER:
            self.stop()
        return result

    def _ask(self, order: str, seconds: float) -> dict[str, Any]:
        begin = time.monotonic()
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{order}\n".encode())
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        line = process.stdout.readline() if ready else b""
        if line:
            return json.loads(line)  # type: ignore[no-any-return]
        what = f"took over {seconds:g} s" if not ready else f"ended the process ({_ending(process.wait())})"
        self.stop()
        return {"outcome": "failed", "what": what, "seconds": time.monotonic() - begin, "grown": 0}

    def _start(self) -> subprocess.Popen[bytes]:
        # Errors of a dying process are its own; the case is what matters.
        self._process = subprocess.Popen(
            self._command,
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        return self._process

    def stop(self) -> None:
        """End the process; the next case starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process, self._grown = None, 0
        self._prepared.clear()


def _ending(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def run(
    kinds: Sequence[str],
    numbers: Sequence[int],
    *,
    seed: str,
    jobs: int = 1,
    seconds: float | None = None,
    most_seconds: float = MOST_SECONDS,
) -> Report:
    """Try the cases of these numbers of every kind, for at most ``seconds`` in all.

    A case depends on the seed, its kind and its number alone.
    """
    report, lock = Report({kind: Tally() for kind in kinds}), threading.Lock()
    end = None if seconds is None else time.monotonic() + seconds
    # Kind after kind within a stretch of numbers: if the time ends early, every kind had its share.
    stretches = [numbers[at : at + 500] for at in range(0, len(numbers), 500)]
    orders: Iterator[tuple[str, int]] = iter(
        [(kind, number) for stretch in stretches for kind in kinds for number in stretch]
    )

    def drive(folder: str) -> None:
        process = _Process(seed, folder, most_seconds)
        try:
            while end is None or time.monotonic() < end:
                with lock:
                    order = next(orders, None)
                if order is None:
                    return
                result = process.attempt(*order)
                with lock:
                    report.add(*order, result)
        finally:
            process.stop()

    with tempfile.TemporaryDirectory(prefix="thresher-attack-") as folder:
        with ThreadPoolExecutor(jobs) as drivers:
            ends = [drivers.submit(drive, folder) for _ in range(jobs)]
        for driver in ends:
            driver.result()  # raises what ended a driver early
    return report
