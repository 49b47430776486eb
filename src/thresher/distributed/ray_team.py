"""Workers on Ray: actors on this machine or on the nodes of a cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from thresher.core.batch import Cursor
from thresher.distributed.ray_actors import RayActors
from thresher.distributed.worker import Base, Round, Share, State, Worker
from thresher.errors import ThresherError
from thresher.online.engine_state import densify, sparsify
from thresher.online.memory_plan import Plan
from thresher.online.settings import OnlineSettings
from thresher.sources.base import Source
from thresher.version import __version__


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
        self._settings = settings
        self._here: Worker | None = None  # learns the shares that no node has room for
        self._shares: list[Share] = []
        self._whole: Source | None = None
        self._sent: Any = None  # the same in Ray's object store
        self._reads = -1  # the share that this process reads
        model = plan.table + plan.sketch + plan.scores + plan.margins + plan.seen
        self._actors = RayActors(
            RemoteWorker,
            count,
            cluster,
            memory=plan.memory,
            store=2 * (count + 1) * model,
            prepare=lambda worker, number: worker.begin.remote(settings, self._shares[number], self._sent),
            again="its round is done again",
            here="learns its share",
        )
        self._ray = self._actors.ray

    def begin(self, shares: list[Share]) -> None:
        """Begin a pass; each worker gets its share of the rows."""
        # The data is put once; a share names its part of it.
        whole = shares[0].source
        assert whole is not None
        self._whole, self._sent, self._reads = whole, self._actors.put(whole), -1
        self._shares = [replace(share, source=None) for share in shares]
        for number in range(len(shares)):
            self._actors.begin(number)

    def round(self, base: Base, starts: list[Cursor], rows: int) -> list[Round]:
        """Let every worker learn ``rows`` rows; the results are in the order of the shares."""
        shared = BaseInStore(self._ray, base)
        actors = self._actors
        waiting = [
            None if n in actors.moved else actors.workers[n].learn.remote(*shared.arguments(), start, rows)
            for n, start in enumerate(starts)
        ]
        found: list[Round] = []
        for number, start in enumerate(starts):

            def again(worker: Any, start: Cursor = start) -> Any:
                return worker.learn.remote(*shared.arguments(whole=True), start, rows)

            one = actors.result(number, waiting[number], again)
            if one is None:
                found.append(self._learn_here(number, base, start, rows))
                continue
            if isinstance(one, ThresherError):
                raise one
            found.append(one._replace(state=densify(one.state)))
        return found

    def _learn_here(self, number: int, base: Base, start: Cursor, rows: int) -> Round:
        """Learn the round of a share in this process: the same bits, since the same code learns it."""
        self._here = self._here or Worker(self._settings, copies=True)
        if self._reads != number:
            self._here.begin(replace(self._shares[number], source=self._whole))
            self._reads = number
        return self._here.learn(base, start, rows)

    def close(self) -> None:
        """End the workers, and Ray if it was started here."""
        if self._here is not None:
            self._here.close()
        self._actors.close()
