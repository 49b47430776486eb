"""Workers on Ray: actors on this machine or on the nodes of a cluster."""

from __future__ import annotations

import logging
import pickle
from dataclasses import replace
from typing import Any

from thresher.core.batch import Cursor
from thresher.core.optional import need
from thresher.distributed.ray_connection import check_importable, check_processors, check_version, connect
from thresher.distributed.worker import Base, Round, Share, State, Worker
from thresher.errors import SettingsError, ThresherError
from thresher.online.engine_state import densify, sparsify
from thresher.online.memory_plan import Plan
from thresher.online.settings import OnlineSettings
from thresher.sources.base import Source
from thresher.version import __version__

log = logging.getLogger(__name__)

#: The share of a worker may be lost this number of times in a round.
_MOST_LOSSES = 5
#: Seconds that a lost worker's replacement may take to start: without a free processor it never does.
_START = 60.0


class RemoteWorker:
    """A `Worker` behind an actor: states travel with their zeros left out, errors of the data as values."""

    worker: Worker

    def version(self) -> str:
        """The version of Thresher on this node. Other arguments follow only if it is the same."""
        return __version__

    def begin(self, settings: OnlineSettings, share: Share, source: Source) -> None:
        """Begin a pass over part of a source."""
        if not hasattr(self, "worker"):
            self.worker = Worker(settings, copies=True)
        self.worker.begin(replace(share, source=source))

    def learn(
        self, number: int, changes: State | None, whole: State | None, start: Cursor, rows: int
    ) -> Round | ThresherError | None:
        """Learn a round, see `Worker.learn`; None if that needs the whole model."""
        if whole is None and not self.worker.follows(number):
            return None
        try:
            found = self.worker.learn(SentBase(number, changes, whole), start, rows)
        except ThresherError as error:
            return error
        return found._replace(state=sparsify(found.state))


class SentBase(Base):
    """A base as a worker receives it."""

    def __init__(self, number: int, changes: State | None, whole: State | None) -> None:
        self.number, self.changes = number, changes
        self._sent = whole

    def whole(self) -> State:
        """The whole model."""
        assert self._sent is not None
        return self._sent


class BaseInStore:
    """A base in Ray's object store: each part is put there once, when a worker needs it."""

    def __init__(self, ray: Any, base: Base) -> None:
        self.base = base
        self._ray = ray
        self._changes = None if base.changes is None else ray.put(base.changes)
        self._whole: Any = None

    def arguments(self, *, whole: bool = False) -> tuple[Any, ...]:
        """The first arguments of `RemoteWorker.learn`."""
        if self._whole is None and (whole or self._changes is None):
            self._whole = self._ray.put(self.base.whole())
        return self.base.number, self._changes, self._whole if whole or self._changes is None else None


class RayTeam:
    """Workers on Ray. One that is lost is replaced, and its round done again: a round follows from its base.

    If no node has room for the replacement, this process learns the share from then on. It does so for one share at a
    time, with one engine for all of them.
    """

    def __init__(self, settings: OnlineSettings, count: int, cluster: str, plan: Plan) -> None:
        self._ray = need("ray", "ray")
        self._settings = settings
        self._workers: list[Any] = []
        self._here: Worker | None = None  # learns the shares that no node has room for
        model = plan.table + plan.sketch + plan.scores + plan.margins + plan.seen
        self._started = connect(self._ray, cluster, count, 2 * (count + 1) * model)
        try:
            check_processors(self._ray, cluster, count)
        except SettingsError:
            self.close()
            raise
        # `memory` is what Ray schedules by: a node gets no more workers than it has room for.
        self._actor = self._ray.remote(num_cpus=1, memory=plan.memory)(RemoteWorker)
        self._workers = [self._actor.remote() for _ in range(count)]
        self._shares: list[Any] = []
        self._whole: Source | None = None
        self._reads = -1  # the share that it reads
        #: The numbers of these shares.
        self.moved: set[int] = set()
        #: The number of workers that were replaced.
        self.replaced = 0

    def begin(self, shares: list[Share]) -> None:
        """Begin a pass; each worker gets its share of the rows."""
        # The data is put once; a share names its part of it.
        whole = shares[0].source
        assert whole is not None
        try:
            source = self._ray.put(whole)
        except (TypeError, pickle.PicklingError, AttributeError):
            raise SettingsError(
                f"{whole.describe()}: the rows cannot be sent to the workers of Ray, since they are read through a "
                "temporary file or a cache of this process: save them to uncompressed files that every node can read, "
                "or convert them once, `thresher convert DATA rows.thc`, and pass that file"
            ) from None
        self._whole, self._reads = whole, -1
        self._shares = [(replace(share, source=None), source) for share in shares]
        for number in range(len(shares)):
            self._begin(number)

    def _begin(self, number: int) -> None:
        if number in self.moved:
            return
        share, source = self._shares[number]
        lost = self._lost_errors()
        for _ in range(_MOST_LOSSES):
            patience = _START if self.replaced else None  # the first workers wait until the cluster has room
            worker = self._workers[number]
            try:
                check_version(self._ray.get(worker.version.remote(), timeout=patience))
                self._ray.get(worker.begin.remote(self._settings, share, source), timeout=patience)
                return
            except self._ray.exceptions.GetTimeoutError:
                self._move(number)
                return
            except lost as error:
                self._replace(number, error)
        raise ThresherError(f"worker {number} was lost {_MOST_LOSSES} times: see the logs of Ray")

    def round(self, base: Base, starts: list[Cursor], rows: int) -> list[Round]:
        """Let every worker learn ``rows`` rows; the results are in the order of the shares."""
        shared = BaseInStore(self._ray, base)
        waiting = [
            None if n in self.moved else self._workers[n].learn.remote(*shared.arguments(), start, rows)
            for n, start in enumerate(starts)
        ]
        found: list[Round] = []
        for number, start in enumerate(starts):
            one = self._result(number, waiting[number], shared, start, rows)
            if one is None:
                found.append(self._learn_here(number, base, start, rows))
                continue
            if isinstance(one, ThresherError):
                raise one
            found.append(one._replace(state=densify(one.state)))
        return found

    def _result(self, number: int, waiting: Any, base: BaseInStore, start: Cursor, rows: int) -> Any:
        """The round of a worker; None if this process learns its share."""
        lost = self._lost_errors()
        for _ in range(_MOST_LOSSES):
            if number in self.moved:
                return None
            try:
                found = self._ray.get(waiting)
                if found is not None:
                    return found
            except lost as error:
                self._replace(number, error)
                self._begin(number)
            if number not in self.moved:
                waiting = self._workers[number].learn.remote(*base.arguments(whole=True), start, rows)
        raise ThresherError(f"worker {number} was lost {_MOST_LOSSES} times in a round: see the logs of Ray")

    def _lost_errors(self) -> tuple[type[Exception], ...]:
        errors = self._ray.exceptions
        return errors.RayActorError, errors.ObjectLostError

    def _replace(self, number: int, error: Exception) -> None:
        check_importable(error)
        log.warning("worker %d was lost (%s) and is replaced; its round is done again", number, type(error).__name__)
        self._ray.kill(self._workers[number])
        self._workers[number] = self._actor.remote()
        self.replaced += 1

    def _move(self, number: int) -> None:
        log.warning(
            "no node has room for worker %d within %g s: this process learns its share, which takes the memory of one "
            "more worker here; %d of %d workers are left",
            number,
            _START,
            len(self._workers) - len(self.moved) - 1,
            len(self._workers),
        )
        self._ray.kill(self._workers[number])  # a node that joins later must not start it
        self.moved.add(number)

    def _learn_here(self, number: int, base: Base, start: Cursor, rows: int) -> Round:
        """Learn the round of a share in this process: the same bits, since the same code learns it."""
        self._here = self._here or Worker(self._settings, copies=True)
        if self._reads != number:
            self._here.begin(replace(self._shares[number][0], source=self._whole))
            self._reads = number
        return self._here.learn(base, start, rows)

    def close(self) -> None:
        """End the workers, and Ray if it was started here."""
        for worker in self._workers:
            self._ray.kill(worker)
        if self._here is not None:
            self._here.close()
        if self._started:
            self._ray.shutdown()
