"""A model of what workers cost, checked against our own fits, and then asked about 10, 100 and 1000 machines."""

from __future__ import annotations

import json
import math
import pickle
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import thresher as th
from benchmarks.hard import ROWS, HardStream, write_hard
from benchmarks.harness import python, spread, table
from benchmarks.workers import METHODS
from thresher.core.batch import Cursor
from thresher.distributed import run as distributed_run
from thresher.distributed.rounds import rows_of_round
from thresher.distributed.run import WorkersRun
from thresher.distributed.threads import ThreadTeam
from thresher.distributed.worker import Base, Round, Share, Worker
from thresher.methods import online_run
from thresher.online.engine_state import sparsify
from thresher.online.settings import OnlineSettings
from thresher.run import RunOptions

#: The network of the machines asked about: seconds of a message, and bytes a second.
LATENCY, BANDWIDTH = 1e-3, 1.25e9
_CHECKED, _MACHINES = (1, 2, 4), (10, 100, 1000)
#: Turns in which everything is measured once, so that a slow spell of the machine hits all of it; and calls in a turn.
_TURNS, _REPEATS = 7, 3
#: Models whose merge is measured.
_MODELS = 8


@dataclass(frozen=True)
class Constants:
    """What was measured, in seconds of processor time and in bytes.

    Attributes
    ----------
    row, row_beside : float
        Reading and learning a row: by one worker, and by each of two on the processors of this machine, which share
        its caches and its memory.
    start : float
        A fit without its rows and rounds.
    worker_round : float
        A round of a worker besides its rows: it restores the base and returns its model.
    driver_round, driver_model : float
        Merging: a round, and each model in it.
    down, up : int
        The model as a worker receives and returns it.
    """

    row: float
    row_beside: float
    start: float
    worker_round: float
    driver_round: float
    driver_model: float
    down: int
    up: int


@dataclass(frozen=True)
class Prediction:
    """The costs of a pass: rounds, processor time of all and of the slowest worker, and bytes sent."""

    rounds: int
    seconds: float
    slowest: float
    sent: int


def rounds_of(rows: int, workers: int, sync: int | None = None) -> list[int]:
    """The rows that each worker learns in each round of a pass; the last round finds the end of the rows."""
    share, learned, rounds = math.ceil(rows / workers), 0, []
    while learned < share:
        rounds.append(min(rows_of_round(sync, learned), share - learned))
        learned += rounds[-1]
    return rounds


def predict(c: Constants, workers: int, rows: int = ROWS, sync: int | None = None) -> Prediction:
    """The costs of a pass over these rows."""
    if workers == 1:
        return Prediction(0, c.start + rows * c.row, c.start + rows * c.row, 0)
    rounds = len(rounds_of(rows, workers, sync))
    slowest = math.ceil(rows / workers) * c.row_beside + rounds * c.worker_round
    driver = rounds * (c.driver_round + workers * c.driver_model)
    seconds = c.start + rows * c.row_beside + rounds * workers * c.worker_round + driver
    return Prediction(rounds, seconds, slowest, rounds * workers * (c.down + c.up))


def seconds_on(c: Constants, workers: int, rows: int, sync: int | None = None, *, tree: bool = False) -> float:
    """The time of a pass on as many machines, of one worker each, all equally fast.

    All models pass through the driver's network, one after another, and it merges them. With ``tree``, pairs of
    machines merge and send what they have on, and so does the base on its way back.
    """
    rounds = rounds_of(rows, workers, sync)
    if tree:
        levels = math.ceil(math.log2(workers))
        exchange = levels * (2 * LATENCY + (c.down + c.up) / BANDWIDTH + c.driver_round + 2 * c.driver_model)
    else:
        exchange = 2 * LATENCY + workers * ((c.down + c.up) / BANDWIDTH + c.driver_model) + c.driver_round
    return c.start + sum(n * c.row for n in rounds) + len(rounds) * (c.worker_round + exchange)


# ── measuring ────────────────────────────────────────────────────────────────────────────────────


def _cpu(call: Callable[[], object], repeats: int = _REPEATS) -> float:
    """The median processor time of a call, of all threads of this process."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    return statistics.median(times)


def _slope(call: Callable[[int], object], few: int, many: int) -> float:
    """The processor time of one more row."""
    times = [_cpu(lambda rows=rows: call(rows)) for rows in (few, many)]  # type: ignore[misc]
    return (times[1] - times[0]) / (many - few)


def _run_of(stream: HardStream, workers: int) -> WorkersRun:
    settings = OnlineSettings(k=1024, passes=1, refit=False, workers=workers, sketch=METHODS["mission"]["sketch"])
    made = online_run(th.scan_libsvm(stream.path("train", "svm")), settings, RunOptions(memory="32MB"))
    assert isinstance(made, WorkersRun)
    return made


def constants(stream: HardStream) -> Constants:
    """Measure the parts of a fit by themselves, on part of the rows; no whole fit with workers is used."""
    run = _run_of(stream, _MODELS)
    run._settle_labels()
    source = run._source_of_pass()
    worker = Worker(run.settings, copies=True)

    def begin(number: int) -> None:
        rows = run.options.batch_rows
        worker.begin(Share(number=number, of=_MODELS, source=source, labels=run.targets.seen, batch_rows=rows))

    def learn(rows: int) -> Round:
        begin(0)
        return worker.learn(run._base(), Cursor(), rows)

    run._merge([learn(20_000)])  # from now on the model is one of many rows
    row = _slope(learn, 2_000, 22_000)
    team = ThreadTeam(run.settings, 2)
    shares = [Share(number=n, of=2, source=source, labels=run.targets.seen, batch_rows=8192) for n in range(2)]

    def side_by_side(rows: int) -> None:
        team.begin(shares)
        team.round(run._base(), [Cursor(), Cursor()], rows)

    row_beside = _slope(side_by_side, 2_000, 42_000) / 2
    team.begin(shares)
    places = [[Cursor(), Cursor()]]

    def following() -> None:
        found = team.round(run._base(), places.pop(), 64)
        places.append([one.cursor for one in found])

    following()
    worker_round = _cpu(lambda: [following() for _ in range(20)]) / 40 - 64 * row_beside
    team.close()

    def merged(models: int) -> tuple[float, list[Round]]:
        """The processor time of a merge after a round, when the models are in no cache."""
        rounds = []
        for number in range(models):
            begin(number)
            rounds.append(worker.learn(run._base(), Cursor(), 2048))
        return _cpu(lambda: run._merge(rounds), 1), rounds

    few, many = ([merged(models)[0] for _ in range(2 * _REPEATS)] for models in (2, _MODELS))
    two, all_models = statistics.median(few), statistics.median(many)
    rounds = merged(1)[1]
    driver_model = (all_models - two) / (_MODELS - 2)
    down = len(pickle.dumps(run._base().whole(), protocol=5))
    up = len(pickle.dumps(sparsify(rounds[0].state), protocol=5))
    with tempfile.TemporaryDirectory() as folder:
        start = _fit_seconds(stream.head(1000, folder, test_rows=1), 1) - 1000 * row
    return Constants(row, row_beside, start, worker_round, two - 2 * driver_model, driver_model, down, up)


_FIT = """
import json, sys, time
import thresher as th
from benchmarks.workers import METHODS
train, workers, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
times = []
for _ in range(repeats + 1):
    started = time.process_time()
    th.select(train, k=1024, passes=1, refit=False, workers=workers, **METHODS["mission"])
    times.append(time.process_time() - started)
print(json.dumps(times[1:]))
"""


def _fit_seconds(stream: HardStream, workers: int) -> float:
    """The median processor time of a whole fit, in a process that has fitted before."""
    found = json.loads(python(_FIT, str(stream.path("train", "svm")), str(workers), str(_REPEATS)).splitlines()[-1])
    return statistics.median(found)


@contextmanager
def _counting_bytes() -> Iterator[list[int]]:
    """Count what the workers of this process would receive and return on Ray."""
    sent: list[int] = []

    class CountingTeam(ThreadTeam):
        def round(self, base: Base, starts: list[Cursor], rows: int) -> list[Round]:
            down = len(pickle.dumps(base.whole(), protocol=5))
            found = super().round(base, starts, rows)
            sent.extend(down + len(pickle.dumps(sparsify(one.state), protocol=5)) for one in found)
            return found

    usual = distributed_run.ThreadTeam
    distributed_run.ThreadTeam = CountingTeam  # type: ignore[misc]
    try:
        yield sent
    finally:
        distributed_run.ThreadTeam = usual  # type: ignore[misc]


def measured_bytes(stream: HardStream, workers: int) -> int:
    """The bytes that a fit sends."""
    how: dict[str, Any] = {"k": 1024, "passes": 1, "refit": False, **METHODS["mission"]}
    with _counting_bytes() as sent:
        th.select(stream.path("train", "svm"), workers=workers, **how)
    return sum(sent)


def run() -> str:
    """The section of the page."""
    found, seconds = [], {workers: list[float]() for workers in _CHECKED}
    with tempfile.TemporaryDirectory(prefix="thresher-model-") as folder:
        stream = write_hard(Path(folder) / "hard", seed=7)
        for _ in range(_TURNS):
            found.append(constants(stream))
            for workers in _CHECKED:
                seconds[workers].append(_fit_seconds(stream, workers))
        sent = {workers: measured_bytes(stream, workers) if workers > 1 else 0 for workers in _CHECKED}
    c = Constants(*(statistics.median(values) for values in zip(*map(astuple, found), strict=True)))
    lines = []
    for workers in _CHECKED:
        expected, measured = predict(c, workers), statistics.median(seconds[workers])
        lines.append(
            [
                workers,
                expected.rounds,
                f"{expected.seconds:.2f}",
                spread(seconds[workers]),
                f"{100 * (measured / expected.seconds - 1):+.0f} %",
                f"{expected.sent / 1e6:.1f}",
                f"{sent[workers] / 1e6:.1f}",
                f"{100 * (sent[workers] / expected.sent - 1):+.0f} %" if expected.sent else "-",
            ]
        )
    return "\n\n".join([_introduction(c), table(_CHECKED_HEAD, lines), _asked(c)])


_CHECKED_HEAD = ["workers", "rounds", "CPU predicted", "CPU measured", "off", "MB predicted", "MB measured", "off"]


def _introduction(c: Constants) -> str:
    return (
        "## A model of a cluster\n\n"
        "What workers of MISSION cost, from parts that were measured one by one (`benchmarks/cluster_model.py`). "
        f"Processor time: {1e6 * c.row:.2f} µs for a row ({1e6 * c.row_beside:.2f} with another worker on the same "
        f"machine), {1e3 * c.start:.0f} ms for a fit without its rows, {1e3 * c.worker_round:.1f} ms for a round of "
        f"a worker, {1e3 * c.driver_round:.1f} ms for a merge and {1e3 * c.driver_model:.1f} ms for each model in it. "
        f"{c.down / 1e6:.2f} MB go to a worker and {c.up / 1e6:.2f} MB come back. Hard stream of seed 7, k = 1024, "
        f"196,608 cells, one pass on threads; medians of {_TURNS} turns. No whole fit with workers was used to find "
        "these numbers. Bytes are those that Ray would send. To reach was a prediction within 20 %."
    )


def _asked(c: Constants) -> str:
    lines = []
    alone = c.row
    for machines in _MACHINES:
        rows = 10_000_000 * machines
        for sync in (None, 1_000_000):
            whole, tree = (seconds_on(c, machines, rows, sync, tree=one) for one in (False, True))
            perfect = alone * rows / machines
            lines.append(
                [
                    machines,
                    "default" if sync is None else f"{sync:,}",
                    f"{whole:,.0f}",
                    f"{100 * perfect / whole:.0f} %",
                    f"{rows / whole / 1e6:.1f}",
                    f"{100 * perfect / tree:.0f} %",
                ]
            )
    head = ["machines", "`sync`", "seconds", "of perfect", "million rows/s", "of perfect, with a tree"]
    return (
        "The same constants for machines with one worker each, ten million rows a machine, a network of "
        f"{8 * BANDWIDTH / 1e9:.0f} Gbit/s and {1e3 * LATENCY:.0f} ms a message, all models through the driver, as "
        "Thresher does it; and if pairs of machines merged along a tree, which it does not do. Machines are equally "
        "fast here, none is lost, and the files are read as fast as a local disk's.\n\n" + table(head, lines)
    )
