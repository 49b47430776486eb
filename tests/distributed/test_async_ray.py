"""Actors of Asy-OS that are lost at any moment, on a stand-in for Ray that runs them in this process."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from thresher.distributed.async_ray import RayProblem, RemoteHost
from thresher.errors import ThresherError
from thresher.substitution.arriving.feature_stream import Block
from thresher.substitution.problem import Targets
from thresher.substitution.settings import SubstitutionSettings


class ActorDied(Exception):
    """Ray's error for a call of an actor that is gone."""


class Actor:
    """An actor that is lost after some calls."""

    def __init__(self, calls: float = np.inf) -> None:
        self.calls, self.host = calls, RemoteHost()

    def __getattr__(self, name: str) -> Any:
        return SimpleNamespace(remote=lambda *given: (self, name, given))


def get(call: tuple[Actor, str, tuple[Any, ...]]) -> Any:
    actor, name, given = call
    actor.calls -= 1
    if actor.calls < 0:
        raise ActorDied
    return getattr(actor.host, name)(*given)


def kill(actor: Actor) -> None:
    actor.calls = 0


RAY = SimpleNamespace(
    get=get, kill=kill, exceptions=SimpleNamespace(RayActorError=ActorDied, ObjectLostError=ActorDied)
)


def started(*calls: float) -> tuple[RayProblem, list[Actor], Any]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 120)).astype(np.float32)  # a column per row
    y = x[:4].sum(axis=0) * 3.0 + 0.1 * rng.normal(size=120)
    how = SubstitutionSettings(k=9, loss="squared", fit_intercept=False, workers=len(calls), exchange=5)
    made, actors = RayProblem(how, Targets(y[None], None), 0), [Actor(some) for some in calls]
    for worker, actor in zip(made.workers, actors, strict=True):
        worker.host.start(RAY, actor)
    return made, actors, x


def scan(made: RayProblem, x: Any) -> None:
    ids = np.arange(len(x), dtype=np.uint64)
    made.add(ids, Block(ids, x, None, len(x)))
    made.solve()


def check(made: RayProblem, dead: list[int], *, least: int = 9) -> None:
    """u is the margins of what is kept, which is k features, each once; at least so many after a loss at the end."""
    kept = made.kept()
    assert made.summary()["dead"] == dead
    assert least <= len(kept.ids) == len(set(kept.ids.tolist())) <= 9
    margins = (kept.weights[:, 0] * kept.scales) @ kept.columns.astype(float)
    assert np.allclose(made.central.read()[0], margins, rtol=1e-6, atol=1e-9)
    assert {0, 1, 2, 3} <= set(kept.ids.tolist())


@pytest.mark.parametrize("calls", [1, 2, 4, 6])
def test_the_others_take_over(calls: int) -> None:
    """The capacity of a lost worker is used as further features arrive."""
    made, _, x = started(np.inf, calls, np.inf)
    left = 3
    while left:
        scan(made, x)
        made.wait()  # so that all features arrive again, however fast the workers are
        left -= bool(made.summary()["dead"])
    made.collect()
    check(made, [1])
    made.stop()
    check(made, [1])  # the states are here


@pytest.mark.parametrize("asked", ["state", "collect", "stop"])
def test_one_that_is_lost_when_its_state_is_asked_for(asked: str) -> None:
    made, actors, x = started(np.inf, np.inf)
    for _ in range(3):
        scan(made, x)
        made.wait()
    kill(actors[0])
    state = getattr(made, asked)()
    check(made, [0], least=5)
    if asked == "state":
        assert state["alive"].tolist() == [1]


def test_features_come_after_the_workers_ended() -> None:
    """As further features in another scan: new actors begin with the states of the old ones."""
    made, _, x = started(np.inf, np.inf)
    scan(made, x[:30])
    made.stop()
    for worker in made.workers:
        worker.host.start(RAY, Actor())
    for _ in range(3):
        scan(made, x)
    made.stop()
    check(made, [])


def test_when_all_are_lost_that_is_an_error() -> None:
    made, _, x = started(2, 2)
    with pytest.raises(ThresherError, match="all workers failed"):
        scan(made, x)  # raises, unless it ends before they are lost
        made.collect()
    made.stop()
