"""Faults of a cluster at random moments: workers and nodes killed, and the process that fits; whether the bits stay.

``python -m benchmarks.distributed.faults 6 2 1``: so many kills of workers, removals of nodes, and kills of the
fitting process.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import thresher as th
from thresher.methods import get_method

#: Kills of workers, removals of nodes, and kills of the fitting process.
FAULTS = (20, 5, 3)
#: The same numbers for `python -m benchmarks distributed.faults`, as 6,2,1.
VARIABLE = "THRESHER_FAULTS"
WORKERS, ROWS, COLUMNS, TRUE = 2, 20_000, 2000, 20
METHODS: dict[str, dict[str, Any]] = {"mission": {"passes": 2, "sync": 400, "memory": "4MB"}}
if "workers" in get_method("fgm").own:
    METHODS["fgm"] = {"B": 2}  # more iterations, so that a fault meets one of them
#: Tries for a fault that came after the end of the fit.
_TRIES = 5
#: In place of a digest: every fit ended before its fault.
_TOO_EARLY = "no fault"


def write_rows(path: Path, seed: int = 0) -> Path:
    """A LIBSVM file of sparse rows, whose label depends on the first columns."""
    rng = np.random.default_rng(seed)
    weights = rng.choice((-2.0, 2.0), TRUE)
    with open(path, "w") as file:
        for _ in range(ROWS):
            row = np.unique(np.append(rng.integers(COLUMNS, size=12), rng.integers(TRUE, size=2)))
            score = weights[row[row < TRUE]].sum() + rng.logistic()
            file.write(f"{int(score > 0)} {' '.join(f'{j + 1}:1' for j in row)}\n")
    return path


def digest(selection: th.Selection) -> str:
    """A hash of everything that was learned."""
    found = hashlib.sha256()
    for part in (selection.keys, selection.weights, selection.bounds, selection.counts, selection.intercept):
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()


def _patiently(start: Callable[[], Any]) -> Any:
    """Start a node. On a busy machine that may take longer than Ray waits."""
    for attempt in range(_TRIES):
        try:
            return start()
        except Exception as error:
            if "timed out" not in str(error) or attempt == _TRIES - 1:
                raise
            print(f"a node did not start: {error}", file=sys.stderr, flush=True)
    raise AssertionError


class Drill:
    """A cluster of nodes with a processor each, and a file."""

    def __init__(self, folder: Path, seed: int = 1) -> None:
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        import ray
        from ray.cluster_utils import Cluster

        self.ray, self.random, self.folder = ray, random.Random(seed), folder
        self.file = write_rows(folder / "rows.svm")
        head = {"num_cpus": 0, "object_store_memory": 100 << 20}
        self.cluster = _patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
        self.nodes = [self._add() for _ in range(WORKERS + 1)]
        ray.init(address=self.cluster.address, log_to_driver=False, logging_level="ERROR")

    def _add(self) -> Any:
        return _patiently(lambda: self.cluster.add_node(num_cpus=1, object_store_memory=100 << 20))

    def select(self, method: str, **more: Any) -> th.Selection:
        """The fit of a method by two workers."""
        return th.select(self.file, k=50, method=method, workers=WORKERS, refit=False, **METHODS[method], **more)

    def kill_worker(self) -> None:
        """Kill the process of a worker."""
        from ray._private import state

        alive = [one for one in state.actors().values() if one["State"] == "ALIVE"]
        if alive:
            os.kill(self.random.choice(alive)["Pid"], signal.SIGKILL)

    def remove_node(self) -> None:
        """Remove a node with all that runs there; another one has room."""
        self.cluster.remove_node(self.nodes.pop(self.random.randrange(len(self.nodes))), allow_graceful=False)

    def struck(self, method: str, seconds: float, fault: Callable[[], None]) -> str:
        """The digest of a fit with a fault at a random moment after its first rows."""
        for attempt in range(_TRIES):  # a later fit may take less time than the first one
            moment, began, ended, done = self.random.uniform(0, seconds / 2**attempt), *_events(), []

            def strike(began: Any = began, ended: Any = ended, done: Any = done, moment: float = moment) -> None:
                began.wait()
                if not ended.wait(moment):
                    done.append(True)
                    fault()

            thread = threading.Thread(target=strike)
            thread.start()
            try:
                found = digest(self.select(method, cluster="ray", progress=lambda _, began=began: began.set()))
            finally:
                began.set()
                ended.set()
                thread.join()
            self.nodes += [self._add() for _ in range(WORKERS + 1 - len(self.nodes))]  # by the main thread, as Ray asks
            if done:
                print(f"{method}: {fault.__name__} after {moment:.1f} s", file=sys.stderr, flush=True)
                return found
        return _TOO_EARLY

    def killed_driver(self, method: str, seconds: float) -> str:
        """The digest of a fit whose process was killed at a random moment, and which another one resumed."""
        for attempt in range(_TRIES):
            moment = self.random.uniform(0, seconds / 2**attempt)
            if (found := self._killed_after(method, moment)) is not None:
                print(f"{method}: process killed {moment:.1f} s after a checkpoint", file=sys.stderr, flush=True)
                return found
        return _TOO_EARLY

    def _killed_after(self, method: str, moment: float) -> str | None:
        """The digest of a fit whose process was killed some time after its first checkpoint; None: it ended before."""
        saved, out = self.folder / "checkpoint", self.folder / "answer.thr"
        for path in (saved, out):
            path.unlink(missing_ok=True)
        command = [str(Path(sys.executable).with_name("thresher")), "select", str(self.file), "-k", "50"]
        command += [f"--method={method}", *(f"--{name}={value}" for name, value in METHODS[method].items())]
        command += ["--no-refit", f"--workers={WORKERS}", f"--cluster={self.cluster.address}"]
        command += [f"--checkpoint={saved}", "--every=0.1s", f"--output={out}"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(command, **quiet) as process:
            while not saved.exists() and process.poll() is None:
                time.sleep(0.02)
            try:
                process.wait(moment)
                return None
            except subprocess.TimeoutExpired:
                process.kill()
        if out.exists() or not saved.exists():
            return None
        subprocess.run(command, check=True, **quiet)
        return digest(th.load(out))

    def close(self) -> None:
        """Stop the cluster."""
        self.ray.shutdown()
        self.cluster.shutdown()


def _events() -> tuple[threading.Event, threading.Event]:
    return threading.Event(), threading.Event()


def _line(method: str, name: str, digests: list[str], expected: str) -> str:
    """A line of the table: a fit that ended before its fault says nothing."""
    struck = [one for one in digests if one != _TOO_EARLY]
    late = f" ({len(digests) - len(struck)} more ended before the fault)" if len(struck) < len(digests) else ""
    return f"| {method} | {name} | {struck.count(expected)} of {len(struck)}{late} |"


def run(faults: tuple[int, int, int] | None = None) -> str:
    """The section of the page."""
    if faults is None:
        kills, removals, drivers = map(int, os.environ.get(VARIABLE, ",".join(map(str, FAULTS))).split(","))
    else:
        kills, removals, drivers = faults
    lines = []
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        drill = Drill(Path(folder))
        try:
            for method in METHODS:
                expected = digest(drill.select(method))
                times: list[float] = []
                calm = digest(drill.select(method, cluster="ray", progress=lambda _: times.append(time.monotonic())))  # noqa: B023
                seconds = times[-1] - times[0]
                struck, killed = partial(drill.struck, method, seconds), partial(drill.killed_driver, method, seconds)
                found = {
                    "none": [calm],
                    "a worker killed": [struck(drill.kill_worker) for _ in range(kills)],
                    "a node removed": [struck(drill.remove_node) for _ in range(removals)],
                    "the process killed, resumed": [killed() for _ in range(drivers)],
                }
                for name, digests in found.items():
                    lines.append(_line(method, name, digests, expected))
        finally:
            drill.close()
    return (
        f"## Faults\n\n{WORKERS} workers on a Ray of {WORKERS + 1} nodes with a processor each, on one machine; "
        f"{ROWS:,} rows, rounds of {METHODS['mission']['sync']} rows. Each fault comes at a random moment of the fit. "
        "A removed node leaves room for a lost worker on another one. A fit counts if it has the bits of the "
        f"undisturbed fit on threads. By default the drill has {FAULTS[0]} kills of workers, {FAULTS[1]} removals of "
        f"nodes and {FAULTS[2]} kills of the process; `{VARIABLE}=6,2,1` makes a shorter one.\n\n"
        "| method | fault | the same bits |\n| --- | --- | --- |\n" + "\n".join(lines)
    )


if __name__ == "__main__":
    print(run(tuple(map(int, sys.argv[1:4])) if len(sys.argv) > 1 else None))  # type: ignore[arg-type]
