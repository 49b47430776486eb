"""Asy-OS: Algorithms 2 and 3 step by step, any interleaving of workers, and workers that die."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.reference import substitution as reference
from tests.substitution.test_substitution import data, same, scaled, targets
from thresher import _native
from thresher.errors import ThresherError
from thresher.substitution.arriving.feature_stream import Block
from thresher.substitution.async_base import SimulatedProblem
from thresher.substitution.async_threads import AsynchronousProblem
from thresher.substitution.async_worker import ExchangingWorker, WorkerHost, WorkerSpec
from thresher.substitution.problem import Targets
from thresher.substitution.settings import SubstitutionSettings

EVEN = np.empty(0)


def problem(kind: Any, y: Any, **given: Any) -> Any:
    loss = given.pop("loss", "squared")
    how = SubstitutionSettings(k=9, loss=loss, fit_intercept=False, **given)
    return kind(how, Targets(np.atleast_2d(targets(loss, y)), None), 0)


def margins(made: Any) -> Any:
    """X w of all that is kept, from the columns."""
    kept = made.kept()
    return (kept.weights[:, 0] * kept.scales) @ kept.columns.astype(float)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
@pytest.mark.parametrize("staleness", [0, 1, 5])
def test_the_simulator_is_algorithm_3(loss: str, staleness: int) -> None:
    x, y, _ = data(n=80, p=60)
    made = problem(SimulatedProblem, y, loss=loss, workers=3, staleness=staleness, eta=0.2, m=1.5)
    twin = reference.AsynchronousSubstitution(targets(loss, y), [3, 3, 3], 0.2, loss, 1.5, staleness)
    z = scaled(x)
    workers = made.assign(120)
    assert set(workers) == {0, 1, 2}
    assert workers[:60] != workers[60:]  # what one refused another may take in the next scan
    for at, t in enumerate(workers):
        made.receive(t, at % 60, x[:, at % 60])
        twin.receive(t, at % 60, z[:, at % 60])
    for t in range(3):
        mine = dict(zip(made.workers[t].ids.tolist(), made.workers[t].state()["weights"].tolist(), strict=True))
        theirs = {k: w for k, (w, _) in twin.workers[t].items()}
        assert mine.keys() == theirs.keys()
        assert np.allclose([mine[k] for k in theirs], list(theirs.values()), rtol=1e-9)
    assert np.allclose(made.central.read()[0], twin.u, atol=1e-12)
    assert made.summary()["staleness"] == staleness


@examples(25)
@given(
    turns=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 59), st.booleans()), min_size=5, max_size=120),
    loss=st.sampled_from(["squared", "squared_hinge", "logistic"]),
)
def test_u_is_x_w_under_any_interleaving(turns: list[tuple[int, int, bool]], loss: str) -> None:
    """Workers read, compute and push in any order: what they push may be as late as it likes."""
    x, y, _ = data(n=50, p=60)
    made = problem(SimulatedProblem, y, loss=loss, workers=3, staleness=0)
    pending: dict[int, Any] = {}
    for t, j, at_once in turns:
        if t in pending:
            made.central.push(pending.pop(t), 0)
        seen, _ = made.central.read()
        id = 3 * j + t  # no two workers have the same
        change = made.workers[t].receive(np.ascontiguousarray(x[:, j]), id, seen, 1.0, 3.0, EVEN)
        if change is not None:
            pending[t] = change
        if at_once and t in pending:
            made.central.push(pending.pop(t), 0)
    for change in pending.values():
        made.central.push(change, 0)
    u = made.central.read()[0]
    assert np.abs(u - margins(made)).max() <= 1e-6 * max(1e-3, np.abs(u).max())


@pytest.mark.parametrize("workers", [2, 4])
def test_threads_keep_u_and_find_what_is_there(workers: int) -> None:
    x, y, true = data(n=400, p=300)
    made = problem(AsynchronousProblem, y, workers=workers)
    for _ in range(3):
        for at in range(0, 300, 50):
            ids = np.arange(at, at + 50, dtype=np.uint64)
            made.add(ids, Block(ids, np.ascontiguousarray(x[:, at : at + 50].T), None, at + 50))
            made.solve()
    u = made.central.read()[0] if made.wait() is None else None
    assert np.allclose(u, margins(made), rtol=1e-6, atol=1e-9)
    kept = made.kept()
    assert len(kept.ids) == len(set(kept.ids.tolist())) == 9
    assert len(true & set(kept.ids.tolist())) >= 5
    assert made.summary()["shares"] == {2: [5, 4], 4: [3, 2, 2, 2]}[workers]


@pytest.mark.parametrize("exchange", [1, 20, 200])
@pytest.mark.parametrize("check", [None, True])
def test_exchanges_keep_u_and_find_what_is_there(exchange: int, check: bool | None) -> None:
    x, y, true = data(n=400, p=300)
    made = problem(AsynchronousProblem, y, workers=2, exchange=exchange, check=check)
    for _ in range(3):
        for at in range(0, 300, 50):
            ids = np.arange(at, at + 50, dtype=np.uint64)
            made.add(ids, Block(ids, np.ascontiguousarray(x[:, at : at + 50].T), None, at + 50))
            made.solve()
    made.wait()
    assert np.allclose(made.central.read()[0], margins(made), rtol=1e-6, atol=1e-9)
    assert [worker.ids.tolist() for worker in made.workers] == [w.state()["ids"].tolist() for w in made.workers]
    for worker in made.workers:
        assert np.allclose(worker.pushed, worker.state()["more"][1:], atol=1e-12)
    assert len(true & set(made.kept().ids.tolist())) >= 5
    # An update is an exchange, which has at most that many features.
    updates = made.summary()["updates"]
    assert 900 - 9 * 3 - 100 < updates <= 900 if exchange == 1 else 900 / exchange - 2 <= updates < 200


def test_an_exchange_is_the_algorithm_at_the_margins_it_got() -> None:
    """One worker that exchanges every 7 features does what one does that exchanges after each: nobody else pushes."""
    x, y, _ = data(n=80, p=60)
    spec = WorkerSpec(SubstitutionSettings(k=5, loss="squared", workers=2, eta=0.2), Targets(y[None], None), 5, 0)
    states = []
    for size in (1, 7, 60):
        central, worker = _native.CentralState(80), ExchangingWorker(WorkerHost(spec), spec)
        for at in range(0, 60, size):
            ids = np.arange(at, min(at + size, 60), dtype=np.uint64)
            worker.work(central, np.ascontiguousarray(x[:, at : at + size].T), ids, 1.0, False)
        assert central.updates == -(-60 // size)
        states.append((central.read()[0], worker.state()))
    for u, state in states[1:]:
        assert np.allclose(u, states[0][0], atol=1e-12)
        assert state["ids"].tolist() == states[0][1]["ids"].tolist()
        assert np.allclose(state["weights"], states[0][1]["weights"], atol=1e-12)


def test_exchanging_workers_go_on_from_a_state() -> None:
    x, y, _ = data(n=80, p=60)
    made = problem(AsynchronousProblem, y, workers=2, exchange=8)
    ids = np.arange(60, dtype=np.uint64)
    made.add(ids, Block(ids, np.ascontiguousarray(x.T), None, 60))
    state = made.state()
    other = problem(AsynchronousProblem, y, workers=2, exchange=8)
    other.restore(state)
    assert set(other.kept_ids().tolist()) == set(made.kept_ids().tolist())
    assert np.allclose(other.central.read()[0], margins(other), rtol=1e-6, atol=1e-9)
    other.add(ids, Block(ids, np.ascontiguousarray(x.T), None, 60))
    other.wait()
    assert np.allclose(other.central.read()[0], margins(other), rtol=1e-6, atol=1e-9)


def test_exchanges_are_for_workers() -> None:
    for more in ({}, {"workers": 2, "staleness": 1}):
        with pytest.raises(ThresherError, match="`exchange` is for workers that run at the same time"):
            SubstitutionSettings(k=5, exchange=4, **more)
    with pytest.raises(ThresherError, match="exchange must be at least 1, got 0"):
        SubstitutionSettings(k=5, workers=2, exchange=0)


class Mortal:
    """A worker that dies after some pieces."""

    def __init__(self, worker: Any, pieces: int) -> None:
        self.worker = worker
        self.pieces = pieces

    def work(self, *args: Any) -> int:
        self.pieces -= 1
        if self.pieces < 0:
            raise MemoryError("no more")
        done: int = self.worker.work(*args)
        return done

    def __getattr__(self, name: str) -> Any:
        return getattr(self.worker, name)


@pytest.mark.parametrize("exchange", [None, 4])
def test_a_dead_worker_leaves_everything_to_the_others(exchange: int | None, caplog: Any) -> None:
    x, y, _ = data(n=200, p=80)
    made = problem(AsynchronousProblem, y, workers=3, exchange=exchange)
    made.workers[1] = Mortal(made.workers[1], 1)  # the first block has more pieces for it, however fast the others are
    seen: set[int] = set()
    put = made._put
    made._put = lambda ids, *given, **how: (seen.update(ids.tolist()), put(ids, *given, **how))[1]
    for _ in range(3):
        ids = np.arange(80, dtype=np.uint64)
        made.add(ids, Block(ids, np.ascontiguousarray(x.T), None, 80))
        made.solve()
    kept = made.kept()
    assert made.summary()["dead"] == [1]
    assert "worker 1 failed" in caplog.text
    assert seen == set(range(80))
    assert len(kept.ids) == len(set(kept.ids.tolist())) == 9
    assert [made.workers[t].room for t in made.alive] == [5, 4]
    assert np.allclose(made.central.read()[0], margins(made), rtol=1e-6, atol=1e-9)
    # The capacity that they took over outlasts a checkpoint.
    other = problem(AsynchronousProblem, y, workers=3, exchange=exchange)
    other.restore(made.state())
    other.add(ids, Block(ids, np.ascontiguousarray(x.T), None, 80))
    assert len(other.kept().ids) == 9
    assert [other.workers[t].room for t in other.alive] == [5, 4]


def test_what_a_dead_worker_kept_comes_before_what_waits() -> None:
    x, y, _ = data(n=50, p=40)
    made = problem(AsynchronousProblem, y, workers=2, exchange=8)
    columns, ids = np.ascontiguousarray(x.T), np.arange(40, dtype=np.uint64)
    made.workers[1].work(made.central, columns[:4], ids[:4], 1.0, False)
    made.held[1] = set(made.workers[1].ids.tolist())
    made._columns_of = lambda t: (ids[:4], columns[:4])  # type: ignore[method-assign]
    with made._changed:
        made._put(ids[10:], columns[10:])
    made._remove_worker(1, ids[4:6], columns[4:6], MemoryError("no more"))
    queue = [set(some.tolist()) for some, _ in made._queues[0]]
    assert queue[0] == {0, 1, 2, 3}
    assert queue[-1] <= {4, 5, *range(10, 40)}


def test_when_all_die_that_is_an_error() -> None:
    x, y, _ = data(n=50, p=20)
    made = problem(AsynchronousProblem, y, workers=2)
    made.workers = [Mortal(worker, 0) for worker in made.workers]
    ids = np.arange(20, dtype=np.uint64)
    made.add(ids, Block(ids, np.ascontiguousarray(x.T), None, 20))
    with pytest.raises(ThresherError, match="all workers failed"):
        made.wait()


def test_theorem_2_shortens_the_step() -> None:
    x, y, _ = data(n=50, p=20)
    etas = []
    for tau in (0.0, 1.0, 8.0):
        worker = _native.Worker("squared", 1.0, y[None], EVEN, False, 5, 0.0, 0.95, 1.0, 0.0, 4.0, 1000.0)
        worker.receive(np.ascontiguousarray(x[:, 0]), 0, np.zeros(50), 1.0, tau, EVEN)
        share = 0.5 / 4 + 0.5 / 1000
        assert np.isclose(worker.eta, 0.95 / (2 * (1.0 + share * tau**2)))
        etas.append(worker.eta)
    assert etas == sorted(etas, reverse=True)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_with_the_check_newcomers_never_raise_the_objective(loss: str) -> None:
    """(15) with c = 0, at states that are late and with steps that are too long: what is kept changes only downhill."""
    x, y, _ = data(n=80, p=60)
    y = targets(loss, y)
    made = problem(SimulatedProblem, y, loss=loss, workers=3, staleness=4, eta=2.5, m=50.0, check=True)
    loose = problem(SimulatedProblem, y, loss=loss, workers=3, staleness=4, eta=2.5, m=50.0)
    changed, rises = 0, 0
    for j, t in zip([*range(60)] * 2, made.assign(120), strict=True):
        for one in (made, loose):
            before, full = set(one.kept_ids().tolist()), len(one.workers[t].ids) == one.workers[t].room
            value = reference.loss(loss, one.central.read()[0], y)
            one.receive(t, j, x[:, j])
            if full and set(one.kept_ids().tolist()) != before:
                rose = reference.loss(loss, one.central.read()[0], y) > value * (1 + 1e-12)
                assert not (rose and one is made)
                changed, rises = changed + (one is made), rises + rose
    assert changed > 2
    assert rises > 0  # without it there are some
    assert made.summary()["refused"] > 0
    assert np.allclose(made.central.read()[0], margins(made), rtol=1e-6, atol=1e-9)


def test_the_front_door() -> None:
    x, y, true = data(n=400, p=200)
    late = {"k": 10, "method": "os", "loss": "squared", "workers": 4, "staleness": 4}
    found = th.select(x, y, **late)
    assert same(found, th.select(th.FeatureStream(x, block=7), y, **late))
    assert found.provenance["found_by"][0]["staleness"] == 4
    assert len(true & set(found.keys.tolist())) >= 5
    for check in (None, True):
        simulated = th.SubstitutionRegressor(k=10, workers=2, staleness=2, check=check).fit(x, y)
        assert simulated.score(x, y) > 0.6
        # The scheduling of real threads decides how good a short run gets; it is always better than the mean.
        assert th.SubstitutionRegressor(k=10, workers=2, check=check).fit(x, y).score(x, y) > 0.3
    names = [f"c{j}" for j in range(200)]
    named = th.select(th.FeatureStream(x, names=names), y, k=10, method="os", loss="squared", workers=2)
    assert set(named.names) <= set(names)


def test_simulated_workers_go_on_exactly(tmp_path: Any) -> None:
    x, y, _ = data()
    late = {"k": 8, "method": "os", "loss": "squared", "workers": 3, "staleness": 3, "scans": 2}

    def interrupt(progress: Any) -> None:
        if progress.features > 130:
            raise KeyboardInterrupt

    with pytest.raises(th.Interrupted):
        th.select(x, y, **late, checkpoint=tmp_path / "c", progress=interrupt)
    assert same(th.select(x, y, **late, checkpoint=tmp_path / "c"), th.select(x, y, **late))


def test_no_exchange_is_late_by_more_than_two_rounds_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are as short as the latest exchange demands: workers wait for one that takes long."""
    x, y, _ = data(n=200, p=60)
    made = problem(AsynchronousProblem, y, workers=3, exchange=2)
    others, usual, slow = threading.Event(), WorkerHost.exchange, made.workers[0].host
    exchanges: list[Any] = []

    def exchange(host: WorkerHost, given: Any) -> Any:
        if host is slow:
            others.wait(0.1)  # long enough for dozens of exchanges by the others
        exchanges.append(host)
        return usual(host, given)

    monkeypatch.setattr(WorkerHost, "exchange", exchange)
    ids = np.arange(60, dtype=np.uint64)
    made.add(ids, Block(ids, np.ascontiguousarray(x.T), None, 60))
    made.wait()
    assert len(exchanges) == made.summary()["updates"] >= 30
    assert 2 <= made.summary()["staleness"] <= 4
