"""Asy-OS on Ray: the workers are actors, and this process holds the central state and the pool of features."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.columns.types import Ids
from thresher.core.memory import show_size
from thresher.core.optional import need
from thresher.distributed.ray_connection import check_importable, check_processors, check_version, connect
from thresher.errors import SettingsError, ThresherError
from thresher.run import RunOptions
from thresher.substitution.async_threads import AsynchronousProblem
from thresher.substitution.async_worker import Answer, Exchange, ExchangingWorker, State, WorkerHost, WorkerSpec
from thresher.substitution.factory import features_not_kept
from thresher.substitution.problem import StreamProblem, Targets
from thresher.substitution.run import SubstitutionRun
from thresher.substitution.settings import SubstitutionSettings
from thresher.version import __version__

log = logging.getLogger(__name__)

#: New features of an exchange by default.
EXCHANGE = 8


class WorkerLost(ThresherError):
    """A worker or its node is gone."""


class RemoteHost:
    """A `WorkerHost` as an actor."""

    host: WorkerHost

    def version(self) -> str:
        """The version of Thresher on this node. Other arguments follow only if it is the same."""
        return __version__

    def begin(self, spec: WorkerSpec, state: State | None) -> None:
        """Begin with no features, or with those of a state."""
        self.host = WorkerHost(spec)
        if state is not None:
            self.host.restore(state)

    def exchange(self, given: Exchange) -> Answer:
        """Process features."""
        return self.host.exchange(given)

    def grow(self, capacity: int) -> None:
        """Raise the number of features that the worker may keep."""
        self.host.grow(capacity)

    def state(self) -> State:
        """The state without the columns, which the other side has."""
        state = self.host.state()
        del state["columns"]
        return state


class RayHost:
    """A worker behind an actor, and a copy of the columns that it keeps: if it is lost, others get them.

    Without an actor, before and after the fit, it is the state of the worker.
    """

    def __init__(self, spec: WorkerSpec) -> None:
        self._spec = spec
        self._rows = spec.targets.y.shape[1]
        self._ray: Any = None
        self._actor: Any = None
        self._state: State | None = None
        self._columns: dict[int, NDArray[np.float32]] = {}

    def start(self, ray: Any, actor: Any) -> None:
        """Let an actor be the worker."""
        self._ray, self._actor = ray, actor
        self._call("begin", self._spec, self._state)

    def stop(self) -> None:
        """End the actor. What `state` returned before is the worker from now on."""
        if self._actor is not None:
            self._ray.kill(self._actor)
            self._actor = None

    def _call(self, name: str, *given: Any) -> Any:
        try:
            return self._ray.get(getattr(self._actor, name).remote(*given))
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.ObjectLostError) as error:
            raise WorkerLost(f"lost: {type(error).__name__}") from error

    def exchange(self, given: Exchange) -> Answer:
        """Process features, and keep a copy of the columns that the worker keeps."""
        self._state = None
        answer: Answer = self._call("exchange", given)
        new = dict(zip(given.ids.tolist(), given.columns, strict=True))
        self._columns = {id: self._columns[id] if id in self._columns else new[id].copy() for id in answer.ids.tolist()}
        return answer

    def grow(self, capacity: int) -> None:
        """Raise the number of features that the worker may keep."""
        self._state = None
        self._call("grow", capacity)
        self._spec = self._spec._replace(capacity=capacity)

    def state(self) -> State:
        """The state of the worker."""
        if self._state is None:
            if self._actor is None:
                return WorkerHost(self._spec).state()
            state: State = self._call("state")
            self._state = {**state, "columns": self.columns(state["ids"]).ravel()}
        return self._state

    def columns(self, ids: Ids) -> NDArray[np.float32]:
        """The columns of features that the worker keeps."""
        return np.array([self._columns[id] for id in ids.tolist()], np.float32).reshape(len(ids), self._rows)

    def restore(self, state: State) -> None:
        """Begin from a `state`."""
        WorkerHost(self._spec).restore(state)  # a damaged one is refused here
        columns = np.array(state["columns"]).reshape(len(state["ids"]), self._rows)
        self._state, self._columns = state, dict(zip(state["ids"].tolist(), columns, strict=True))


class RayProblem(AsynchronousProblem):
    """Asy-OS with actors as workers: each thread of this process waits for one of them."""

    def _make_worker(self, spec: WorkerSpec) -> Any:
        return ExchangingWorker(RayHost(spec), spec)

    def _columns_of(self, t: int) -> tuple[Ids, NDArray[np.float32]]:
        worker = self.workers[t]
        return worker.ids, worker.host.columns(worker.ids)

    def collect(self) -> None:
        """Wait for all work, and get the states. The others take over what a worker had that is lost by now."""
        self.wait()
        for t in list(self.alive):
            try:
                self.workers[t].state()
            except WorkerLost as error:
                self._remove_worker(t, np.empty(0, np.uint64), np.empty((0, self.rows), np.float32), error)
                self.collect()
                return

    def state(self) -> State:
        self.collect()
        return super().state()

    def stop(self) -> None:
        """Get the states of all workers, and end them."""
        try:
            with suppress(ThresherError):  # no worker is left: the fit has raised this already
                self.collect()
        finally:
            for worker in self.workers:
                worker.host.stop()


class RaySubstitutionRun(SubstitutionRun):
    """One fit of Asy-OS whose workers run on Ray."""

    def __init__(
        self, data: Any, settings: SubstitutionSettings, options: RunOptions, *given: Any, **more: Any
    ) -> None:
        if settings.method != "os" or settings.workers == 1:
            raise SettingsError("`cluster` is where workers run: pass their number, `workers=N`, and the method os")
        if settings.staleness is not None:
            raise SettingsError("`staleness` simulates workers in this process: leave out `cluster`")
        settings = replace(settings, exchange=settings.exchange or EXCHANGE)
        super().__init__(data, settings, options, *given, **more)

    def _make_problem(self, settings: SubstitutionSettings, targets: Targets) -> StreamProblem:
        return RayProblem(settings, targets, features_not_kept(settings, self.stream))

    def _problem(self) -> RayProblem:
        (problem,) = self.engine.problems
        assert isinstance(problem, RayProblem)
        return problem

    def _steps(self) -> Iterator[None]:
        yield from super()._steps()
        self._problem().collect()

    def run(self) -> None:
        """Fit to the end with actors, which end with it."""
        ray, cluster, workers = need("ray", "ray"), self.options.cluster, self.settings.workers
        assert cluster is not None
        exchange = self.settings.exchange or EXCHANGE
        started = connect(ray, cluster, workers, 2 * workers * self._plan.exchanged(exchange))
        problem = self._problem()
        try:
            check_processors(ray, cluster, workers)
            memory = self._plan.of_worker(max(self.settings.shares), exchange)
            log.info(
                "%d workers on Ray, of %s each, %s in all", workers, show_size(memory), show_size(workers * memory)
            )
            actor = ray.remote(num_cpus=1, memory=memory)(RemoteHost)
            actors = [(problem.workers[t].host, actor.remote()) for t in problem.alive]
            for host, one in actors:
                _start(ray, host, one)
            super().run()
        finally:
            problem.stop()
            if started:
                ray.shutdown()


def _start(ray: Any, host: RayHost, actor: Any) -> None:
    try:
        check_version(ray.get(actor.version.remote()))
        host.start(ray, actor)
    except ray.exceptions.RayActorError as error:
        check_importable(error)
        raise ThresherError(f"a worker did not start ({type(error).__name__}): see the logs of Ray") from error
