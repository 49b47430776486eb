"""Actors on Ray, one for each share of a fit: lost ones are replaced, or given up where no node has room."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from typing import Any

from thresher.core.optional import need
from thresher.distributed.ray_connection import check_importable, check_processors, check_version, connect
from thresher.errors import SettingsError, ThresherError
from thresher.sources.base import Source

log = logging.getLogger(__name__)

#: The share of a worker may be lost this number of times in a round.
MOST_LOSSES = 5
#: Seconds that a lost worker's replacement may take to start: without a free processor it never does.
START = 60.0


class RayActors:
    """The actors, and what to do when one is lost.

    Parameters
    ----------
    kind : type
        The class of the actors; it has a method ``version``.
    count : int
        Their number.
    cluster : str
        See `thresher.run.RunOptions`.
    memory : int
        Bytes of an actor, by which Ray schedules: a node gets no more of them than it has room for.
    store : int
        Bytes of a Ray's object store, if the Ray is started here.
    prepare : callable
        Tells an actor its share: called with the actor and its number, returns what to wait for.
    again, here : str
        What a replacement does again, and what this process does if there is none, for messages.
    reads_by_ray : bool
        Tasks of Ray read the data: without a processor of their own they would wait for the workers forever.
    """

    def __init__(
        self,
        kind: type,
        count: int,
        cluster: str,
        *,
        memory: int,
        store: int,
        prepare: Callable[[Any, int], Any],
        again: str,
        here: str,
        reads_by_ray: bool = False,
    ) -> None:
        self.ray = need("ray", "ray")
        self._prepare = prepare
        self._again, self._here = again, here
        #: The actors by number.
        self.workers: list[Any] = []
        #: The numbers of the shares that this process has taken over.
        self.moved: set[int] = set()
        #: The number of workers that were replaced.
        self.replaced = 0
        self._started = connect(self.ray, cluster, count, store)
        try:
            check_processors(self.ray, cluster, count, reads_by_ray=reads_by_ray)
        except SettingsError:
            self.close()
            raise
        self._actor = self.ray.remote(num_cpus=1, memory=memory)(kind)
        self.workers = [self._actor.remote() for _ in range(count)]
        errors = self.ray.exceptions
        #: What is raised if a worker, or what it has sent, is lost.
        self.lost: tuple[type[Exception], ...] = (errors.RayActorError, errors.ObjectLostError)

    def put(self, source: Source) -> Any:
        """Send the data to the cluster, once for all workers."""
        try:
            return self.ray.put(source)
        except (TypeError, pickle.PicklingError, AttributeError):
            raise SettingsError(
                f"{source.describe()}: the rows cannot be sent to the workers of Ray, since they are read through a "
                "temporary file or a cache of this process: save them to uncompressed files that every node can read, "
                "or convert them once, `thresher convert DATA rows.thc`, and pass that file"
            ) from None

    def begin(self, number: int) -> None:
        """Tell an actor its share; replace it if it is lost. Without room for it, this process takes over."""
        if number in self.moved:
            return
        for _ in range(MOST_LOSSES):
            patience = START if self.replaced else None  # the first workers wait until the cluster has room
            worker = self.workers[number]
            try:
                check_version(self.ray.get(worker.version.remote(), timeout=patience))
                answer = self.ray.get(self._prepare(worker, number), timeout=patience)
                if isinstance(answer, ThresherError):
                    raise answer
                return
            except self.ray.exceptions.GetTimeoutError:
                self._move(number)
                return
            except self.lost as error:
                self.replace(number, error)
        raise ThresherError(f"worker {number} was lost {MOST_LOSSES} times: see the logs of Ray")

    def result(self, number: int, waiting: Any, again: Callable[[Any], Any]) -> Any:
        """What a worker returns, never None; None if this process has taken over.

        ``again`` asks the actor again, if it was replaced or has returned None.
        """
        for _ in range(MOST_LOSSES):
            if number in self.moved:
                return None
            try:
                found = self.ray.get(waiting)
                if found is not None:
                    return found
            except self.lost as error:
                self.replace(number, error)
                self.begin(number)
            if number not in self.moved:
                waiting = again(self.workers[number])
        raise ThresherError(f"worker {number} was lost {MOST_LOSSES} times in a round: see the logs of Ray")

    def replace(self, number: int, error: Exception) -> None:
        """Start another actor in the place of a lost one."""
        check_importable(error)
        log.warning("worker %d was lost (%s) and is replaced; %s", number, type(error).__name__, self._again)
        self.ray.kill(self.workers[number])
        self.workers[number] = self._actor.remote()
        self.replaced += 1

    def _move(self, number: int) -> None:
        log.warning(
            "no node has room for worker %d within %g s: this process %s, which takes the memory of one more worker "
            "here; %d of %d workers are left",
            number,
            START,
            self._here,
            len(self.workers) - len(self.moved) - 1,
            len(self.workers),
        )
        self.ray.kill(self.workers[number])  # a node that joins later must not start it
        self.moved.add(number)

    def close(self) -> None:
        """End the workers, and Ray if it was started here."""
        for worker in self.workers:
            self.ray.kill(worker)
        if self._started:
            self.ray.shutdown()
