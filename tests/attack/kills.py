"""Kill ``thresher select`` at random moments, of every method, and compare what the next run writes.

``python -m tests.attack.kills --kills 200`` prints its seed first; ``--seed`` repeats a run. A case starts the command
with a checkpoint and a cache, ends it with ``kill -9`` once to three times, each time at a random moment, and then
lets it finish. The file must have the bytes of an undisturbed run without either, and nothing else may be left: no
checkpoint, no unfinished file, and in the cache the files of an undisturbed run.

The commands are forks of this process, which has imported everything: a kill then hits the work, not the imports.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow.ipc  # noqa: F401
import scipy.sparse  # noqa: F401

import thresher.api
import thresher.cli.select
import thresher.fgm.run
import thresher.online.run
import thresher.online.tuning
import thresher.report.text
import thresher.sources.cache.cached
import thresher.sparse_rf.run
import thresher.substitution.run  # noqa: F401
from tests.streams import planted, write_vw
from thresher.cli.main import make_app

_ONLINE = ["--passes", "10", "--memory", "8MB"]
_ONLINE_L1 = [*_ONLINE, "--lam", "0.001"]
_STREAM = ["--scans", "6"]
_STREAM_L1 = [*_STREAM, "--lam", "0.05"]
#: Options that give each method enough to do for a checkpoint, and a moment to be killed in.
METHODS: dict[str, list[str]] = {
    **dict.fromkeys(("mission", "iht", "batch-iht", "hashing"), _ONLINE),
    **dict.fromkeys(("b-arda", "b-amd", "ofs", "sofs"), _ONLINE),
    **dict.fromkeys(("l1-arda", "ada-fobos"), _ONLINE_L1),
    "fgm": ["-k", "20", "--tol", "0"],
    "sparse-rf": ["--lam", "2", "--gamma", "0.1", "--draws", "10", "--max-iter", "10"],
    **dict.fromkeys(("os", "naive-l0", "alpha-investing"), _STREAM),
    **dict.fromkeys(("grafting", "grafting-light", "naive-l1"), _STREAM_L1),
}


def start(command: list[str], log: Path) -> int:
    """Run a command in a fork of this process, with its output in a file, and return its process id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        with open(log, "w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        code = make_app(["select"])(command, standalone_mode=False) or 0
        sys.stdout.flush()
    finally:
        os._exit(code)


class Attack:
    """The runs of one method over one file of data.

    Parameters
    ----------
    folder : Path
        Where the files of this method are made.
    """

    def __init__(self, method: str, data: Path, folder: Path) -> None:
        self.folder, self.log = folder, folder.with_suffix(".log")
        self.out, self.checkpoint, self.cache = folder / "out.thr", folder / "run.ckpt", folder / "cache"
        plain = ["select", str(data), "-k", "10", "--method", method, "--holdout", "0.2", *METHODS[method]]
        plain += ["-o", str(self.out)]
        self.command = [*plain, "--checkpoint", str(self.checkpoint), "--every", "0s", "--cache-dir", str(self.cache)]
        folder.mkdir()
        self._finish(plain)
        self.expected = self.out.read_bytes()
        started = time.monotonic()
        self._finish(self.command)
        self.seconds = time.monotonic() - started
        self.cached = sorted(os.listdir(self.cache))

    def _finish(self, command: list[str]) -> None:
        """Run to the end."""
        code = os.waitstatus_to_exitcode(os.waitpid(start(command, self.log), 0)[1])
        if code:
            raise AssertionError(f"exit code {code}: {self.log.read_text()}")

    def case(self, moments: Sequence[float]) -> int:
        """Kill the command at these moments (shares of its duration) in turn, then let it finish; count the kills."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        kills = 0
        for moment in moments:
            child = start(self.command, self.log)
            time.sleep(moment * self.seconds)
            os.kill(child, signal.SIGKILL)  # not yet waited for, so its id is still its own
            kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        self._finish(self.command)
        assert self.out.read_bytes() == self.expected, "other bytes than without a kill"
        left = sorted(os.listdir(self.folder))
        assert left == ["cache", "out.thr"], f"left behind: {left}"
        cached = sorted(os.listdir(self.cache))
        assert cached == self.cached, f"in the cache {cached} instead of {self.cached}"
        return kills


def attack(kills: int, seed: int, methods: Sequence[str] = tuple(METHODS), rows: int = 2000) -> int:
    """Kill this many times, and return the number of cases that failed."""
    draw = random.Random(seed)
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = write_vw(folder / "rows.vw", *planted(rows=rows))
        attacks = {method: Attack(method, data, folder / method) for method in methods}
        done: dict[str, int] = dict.fromkeys(methods, 0)
        while sum(done.values()) < kills:
            method = min(done, key=lambda name: done[name])
            moments = [draw.uniform(0.0, 1.1) for _ in range(draw.randint(1, 3))]
            try:
                done[method] += attacks[method].case(moments)
            except AssertionError as error:
                failed += 1
                done[method] += len(moments)
                print(f"{method}, killed at {', '.join(f'{m:.3f}' for m in moments)} of its time: {error}", flush=True)
        print(f"{sum(done.values())} kills: " + ", ".join(f"{name} {count}" for name, count in done.items()))
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--methods", nargs="+", choices=sorted(METHODS), default=list(METHODS))
    given = parser.parse_args()
    print(f"To repeat this run: python -m tests.attack.kills --kills {given.kills} --seed {given.seed}", flush=True)
    failed = attack(given.kills, given.seed, given.methods)
    print(f"{failed} cases failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
