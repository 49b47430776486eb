"""A worker of Asy-OS that exchanges with the central state once for several features: both sides of the exchange.

`ExchangingWorker` is the side of the central state: it reads u, hands it to the host of the worker with the features,
and adds the change that comes back. `WorkerHost` is the other side, which may be in another process.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Floats, Ids
from thresher.core.losses import get_loss
from thresher.substitution.problem import Targets
from thresher.substitution.settings import SubstitutionSettings

State = dict[str, NDArray[Any]]
#: Exchanges of a worker whose staleness counts: one delay long ago must not shorten all later steps.
_RECENT = 16


class WorkerSpec(NamedTuple):
    """What a worker is made from."""

    settings: SubstitutionSettings
    targets: Targets
    capacity: int
    others: int

    def make(self) -> Any:
        """The worker of the native core."""
        settings, loss = self.settings, get_loss(self.settings.loss)
        return _native.Worker(
            loss.name,
            loss.delta,
            np.ascontiguousarray(self.targets.y),
            self.targets.shares,
            settings.fit_intercept,
            self.capacity,
            settings.eta or 0.0,
            settings.rate,
            settings.slowness,
            settings.c,
            settings.workers,
            self.others,
        )


class Exchange(NamedTuple):
    """What a worker receives: u, how late its changes are, a bound of L_f, and features to process."""

    margins: Floats
    staleness: float
    bound: float
    ids: Ids
    columns: NDArray[np.float32]
    check: bool


class Answer(NamedTuple):
    """What a worker answers: its change of u, the features it keeps, and its constants."""

    change: Floats
    ids: Ids
    lambda_: float
    eta: float
    rejected: int


class Host(Protocol):
    """Where a worker is: in this process or behind a transport."""

    def exchange(self, given: Exchange) -> Answer:
        """Process features."""

    def grow(self, capacity: int) -> None:
        """Raise the number of features that the worker may keep."""

    def state(self) -> State:
        """The state of the worker."""

    def restore(self, state: State) -> None:
        """Continue from a `state`."""


class WorkerHost:
    """Holds a worker and processes the features of one exchange after the other: no others change u in between."""

    def __init__(self, spec: WorkerSpec) -> None:
        self.worker = spec.make()

    def exchange(self, given: Exchange) -> Answer:
        """Process features, each at u with the changes by those before it."""
        worker, margins = self.worker, np.array(given.margins)
        before = worker.pushed
        for id, column in zip(given.ids.tolist(), given.columns, strict=True):
            fresh = margins if given.check else np.empty(0)
            change = worker.receive(column, id, margins, given.bound, given.staleness, fresh)
            if change is not None:
                margins += change
        return Answer(worker.pushed - before, worker.ids, worker.lambda_, worker.eta, worker.rejected)

    def grow(self, capacity: int) -> None:
        """Raise the number of features that the worker may keep."""
        self.worker.grow(capacity)

    def state(self) -> State:
        """The state of the worker."""
        state: State = self.worker.state()
        return state

    def restore(self, state: State) -> None:
        """Continue from a `state`."""
        self.worker.restore(**state)


class ExchangingWorker:
    """A worker as the central state sees it, wherever its host is; it has the interface of `thresher._native.Worker`.

    Staleness is counted in exchanges: an update of the central state is one exchange of one worker.
    """

    def __init__(self, host: Host, spec: WorkerSpec) -> None:
        self.host = host
        self.room = spec.capacity
        self.outputs = len(spec.targets.y)
        #: The sum of its changes in the central state.
        self.pushed: Floats = np.zeros(spec.targets.y.size)
        self.ids: Ids = np.empty(0, np.uint64)
        self.lambda_ = self.eta = 0.0
        self.rejected = 0
        self._late: deque[int] = deque([0], maxlen=_RECENT)

    def work(self, central: Any, columns: NDArray[np.float32], ids: Ids, all: float, check: bool) -> None:
        """Process features, and push what they change; nothing is pushed if the host fails."""
        margins, seen = central.read()
        answer = self.host.exchange(Exchange(margins, float(max(self._late)), all, ids, columns, check))
        self._late.append(central.updates - seen)
        central.push(np.ascontiguousarray(answer.change), seen)
        self.pushed = self.pushed + answer.change
        _, self.ids, self.lambda_, self.eta, self.rejected = answer

    def grow(self, room: int) -> None:
        """Raise the number of features that the worker may keep."""
        self.host.grow(room)
        self.room = room

    def state(self) -> State:
        """The state of the worker."""
        return self.host.state()

    def restore(self, **state: NDArray[Any]) -> None:
        """Continue from a `state`."""
        self.host.restore(state)
        self.ids = np.array(state["ids"], np.uint64)
        self.room = max(self.room, len(self.ids))
        self.pushed = np.array(state["more"][self.outputs :], float)
        self.lambda_ = float(state["step"][0])
