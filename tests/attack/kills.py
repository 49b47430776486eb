"""Kill ``thresher select`` at random moments, of every method, and compare what the next run writes.

``python -m tests.attack.kills --kills 200`` prints its seed first; ``--seed`` repeats a run. A case starts the command
with a checkpoint and a cache, ends it with ``kill -9`` once to three times, each time at a random moment, and then
lets it finish. The file must have the bytes of an undisturbed run without either, and nothing else may be left: no
checkpoint, no unfinished file, and one file in the cache.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.streams import planted, write_vw

_ONLINE = ["--passes", "30", "--memory", "8MB"]
_STREAM = ["--scans", "12"]
#: Options that give each method enough to do for a checkpoint, and a moment to be killed in.
METHODS: dict[str, list[str]] = {
    **dict.fromkeys(("mission", "iht", "batch-iht", "hashing"), _ONLINE),
    **dict.fromkeys(("b-arda", "b-amd", "ofs", "sofs"), _ONLINE),
    **{key: [*_ONLINE, "--lam", "0.001"] for key in ("l1-arda", "ada-fobos")},
    "fgm": ["-k", "30", "--tol", "0"],
    "sparse-rf": ["--lam", "2", "--gamma", "0.1", "--draws", "20", "--max-iter", "20"],
    **dict.fromkeys(("os", "naive-l0", "alpha-investing"), _STREAM),
    **{key: [*_STREAM, "--lam", "0.05"] for key in ("grafting", "grafting-light", "naive-l1")},
}
_PROGRAM = [sys.executable, "-c", "from thresher.cli.main import main; main()"]


class Attack:
    """The runs of one method over one file of data.

    Parameters
    ----------
    folder : Path
        Where the files of this method are made.
    """

    def __init__(self, method: str, data: Path, folder: Path) -> None:
        self.folder = folder
        self.out, self.checkpoint, self.cache = folder / "out.thr", folder / "run.ckpt", folder / "cache"
        self.command = [*_PROGRAM, "select", str(data), "-k", "10", "--method", method, "--holdout", "0.2"]
        self.command += [*METHODS[method], "-o", str(self.out)]
        folder.mkdir()
        self.seconds = self._finish()
        self.expected = self.out.read_bytes()

    @property
    def _resumable(self) -> list[str]:
        saving = ["--checkpoint", str(self.checkpoint), "--every", "0s"]
        return [*self.command, *saving, "--cache-dir", str(self.cache)]

    def _finish(self, command: list[str] | None = None) -> float:
        """Run to the end, and return the seconds it took."""
        started = time.monotonic()
        done = subprocess.run(command or self.command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise AssertionError(f"exit code {done.returncode}: {done.stderr}")
        return time.monotonic() - started

    def case(self, moments: Sequence[float]) -> int:
        """Kill the command at these moments (shares of its duration) in turn, then let it finish; count the kills."""
        for path in self.cache.glob("*"):
            path.unlink()
        self.out.unlink()
        kills = 0
        for moment in moments:
            child = subprocess.Popen(self._resumable, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(moment * self.seconds)
            kills += child.poll() is None
            child.kill()
            child.wait()
        self._finish(self._resumable)
        assert self.out.read_bytes() == self.expected, "other bytes than without a kill"
        left = sorted(os.listdir(self.folder))
        assert left == ["cache", "out.thr"], f"left behind: {left}"
        cached = sorted(os.listdir(self.cache))
        assert len(cached) == 1, f"left behind in the cache: {cached}"
        assert cached[0].endswith(".thc"), f"left behind in the cache: {cached}"
        return kills


def attack(kills: int, seed: int, methods: Sequence[str] = tuple(METHODS), rows: int = 6000) -> int:
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
            moments = [draw.uniform(0.2, 1.1) for _ in range(draw.randint(1, 3))]
            try:
                done[method] += attacks[method].case(moments)
            except AssertionError as error:
                failed += 1
                done[method] += len(moments)
                print(f"{method}, killed at {', '.join(f'{m:.3f}' for m in moments)} of its time: {error}", flush=True)
                attacks[method].out.touch()
                attacks[method].checkpoint.unlink(missing_ok=True)
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
