"""Kill ``thresher select`` at random moments, of every method, and compare what the next run writes.

``python -m tests.attack.kills --kills 200`` prints its seed first; ``--seed`` repeats a run. A case starts the command
with a checkpoint, ends it with ``kill -9`` once to three times, each time at a random moment, and then lets it finish.
The data is a plain file, whose rows are read in a permuted order, or a sorted and compressed one, whose rows are
shuffled through a temporary file; each with a cache and without one. The file must have the bytes of an undisturbed
run without checkpoint and cache, and nothing else may be left: no checkpoint, no unfinished file, and in the cache the
files of an undisturbed run.

The commands are forks of this process, which has imported everything: a kill then hits the work, not the imports.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.ipc  # noqa: F401
import scipy.sparse as sp

import thresher.api
import thresher.cli.select
import thresher.fgm.run
import thresher.online.run
import thresher.online.tuning
import thresher.report.progress
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


def start(command: list[str], log: Path, home: Path) -> int:
    """Run a command in a fork of this process, with its output in a file, and return its process id.

    ``home`` is the folder of temporary files and of the user's cache.
    """
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.environ["XDG_CACHE_HOME"] = str(home)
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
        Where the files of these runs are made.
    cached : bool
        Whether the runs that are killed have a cache.
    """

    def __init__(self, method: str, data: Path, folder: Path, *, cached: bool) -> None:
        self.folder, self.log = folder, folder.with_suffix(".log")
        self.out, checkpoint, cache = folder / "out.thr", folder / "run.ckpt", folder / "cache"
        plain = ["select", str(data), "-k", "10", "--method", method, "--holdout", "0.2", *METHODS[method]]
        plain += ["-o", str(self.out)]
        self.command = [*plain, "--checkpoint", str(checkpoint), "--every", "0s"]
        if cached:
            self.command += ["--cache-dir", str(cache)]
        folder.mkdir()
        self._finish(plain)
        self.expected = self.out.read_bytes()
        started = time.monotonic()
        self._finish(self.command)
        self.seconds = time.monotonic() - started
        self.files = self._files()
        others = [name for name in self.files if not (cached and name.startswith("cache/") and name.endswith(".thc"))]
        assert others == ["out.thr"], f"an undisturbed run leaves {self.files}"

    def _files(self) -> list[str]:
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())

    def _finish(self, command: list[str]) -> None:
        """Run to the end."""
        code = os.waitstatus_to_exitcode(os.waitpid(start(command, self.log, self.folder / "home"), 0)[1])
        if code:
            raise AssertionError(f"exit code {code}: {self.log.read_text()}")

    def case(self, moments: Sequence[float]) -> int:
        """Kill the command at these moments (shares of its duration) in turn, then let it finish; count the kills."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        kills = 0
        for moment in moments:
            child = start(self.command, self.log, self.folder / "home")
            time.sleep(moment * self.seconds)
            os.kill(child, signal.SIGKILL)  # not yet waited for, so its id is still its own
            kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        self._finish(self.command)
        assert self.out.read_bytes() == self.expected, "other bytes than without a kill"
        left = self._files()
        assert left == self.files, f"left behind: {left} instead of {self.files}"
        return kills


def _write_data(folder: Path, rows: int) -> dict[str, Path]:
    """The same rows in a plain file, and sorted by their labels in a compressed one."""
    x, y = planted(rows=rows)
    plain = write_vw(folder / "rows.vw", x, y)
    order = np.argsort(y, kind="stable")
    ordered = write_vw(folder / "sorted.vw", sp.csr_matrix(x[order]), y[order])
    compressed = folder / "sorted.vw.gz"
    compressed.write_bytes(gzip.compress(ordered.read_bytes(), 1))
    return {"permuted": plain, "shuffled": compressed}


def attack(kills: int, seed: int, methods: Sequence[str] = tuple(METHODS), rows: int = 2000) -> int:
    """Kill this many times, and return the number of cases that failed."""
    draw = random.Random(seed)
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = _write_data(folder, rows)
        kinds = list(itertools.product(data, (True, False)))
        # Every method meets every kind of data, not all of them in the same order.
        turns = {method: itertools.cycle(kinds[i % 4 :] + kinds[: i % 4]) for i, method in enumerate(methods)}
        attacks: dict[tuple[str, str, bool], Attack] = {}
        done: dict[str, int] = dict.fromkeys(methods, 0)
        while sum(done.values()) < kills:
            method = min(done, key=lambda name: done[name])
            which, cached = next(turns[method])
            moments = [draw.uniform(0.0, 1.1) for _ in range(draw.randint(1, 3))]
            key = (method, which, cached)
            try:
                if key not in attacks:
                    attacks[key] = Attack(method, data[which], folder / f"{method}-{which}-{cached}", cached=cached)
                done[method] += attacks[key].case(moments)
            except AssertionError as error:
                failed += 1
                done[method] += len(moments)
                shown = f"{method}, {which}{', cached' if cached else ''}"
                print(f"{shown}, killed at {', '.join(f'{m:.3f}' for m in moments)} of its time: {error}", flush=True)
        print(f"{sum(done.values())} kills: " + ", ".join(f"{name} {count}" for name, count in done.items()))
        print(f"{len(attacks)} of {len(kinds) * len(methods)} pairs of a method and a kind of data")
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
