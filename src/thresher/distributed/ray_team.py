"""Workers on Ray: actors on this machine or on the nodes of a cluster."""

from __future__ import annotations

import logging
import os
import pickle
import socket
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from thresher.core.batch import Cursor
from thresher.core.optional import need
from thresher.display import quoted
from thresher.distributed.worker import Round, Share, State, Worker
from thresher.errors import SettingsError, ThresherError
from thresher.online.engine_state import densify, sparsify
from thresher.online.memory_plan import Plan
from thresher.online.settings import OnlineSettings
from thresher.sources.base import Source
from thresher.version import __version__

log = logging.getLogger(__name__)

#: The share of a worker may be lost this number of times in a round.
_MOST_LOSSES = 5
#: Seconds to wait for the first answer of an address.
_PATIENCE = 10.0
#: Bytes of the object store of a Ray that is started here, besides the models of a round.
_STORE = 256 << 20


class RemoteWorker:
    """A `Worker` behind an actor: states travel with their zeros left out, errors of the data as values."""

    def __init__(self, settings: OnlineSettings) -> None:
        self.worker = Worker(settings, copies=True)

    def begin(self, share: Share, source: Source) -> str:
        """Begin a pass over part of a source; returns the version of Thresher on this node."""
        self.worker.begin(replace(share, source=source))
        return __version__

    def learn(self, base: State, start: Cursor, rows: int) -> Round | ThresherError:
        """Learn a round, see `Worker.learn`."""
        try:
            found = self.worker.learn(base, start, rows)
        except ThresherError as error:
            return error
        return found._replace(state=sparsify(found.state))


class RayTeam:
    """Workers on Ray. One that is lost is replaced, and its round done again: a round follows from its base."""

    def __init__(self, settings: OnlineSettings, count: int, cluster: str, plan: Plan) -> None:
        self._ray = need("ray", "ray")
        self._settings = settings
        model = plan.table + plan.sketch + plan.scores + plan.margins
        self._started = connect(self._ray, cluster, count, 2 * (count + 1) * model)
        processors = int(self._ray.cluster_resources().get("CPU", 0))
        if processors < count:
            self.close()
            raise SettingsError(
                f"`workers={count}` need a processor each, and the cluster {quoted(cluster)} has {processors}: pass "
                f"`workers={max(1, processors)}`, or add nodes"
            )
        # `memory` is what Ray schedules by: a node gets no more workers than it has room for.
        self._actor = self._ray.remote(num_cpus=1, memory=plan.memory)(RemoteWorker)
        self._workers = [self._actor.remote(settings) for _ in range(count)]
        self._shares: list[Any] = []
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
                "temporary file or a cache of this process: save them to uncompressed files that every node can read"
            ) from None
        self._shares = [(replace(share, source=None), source) for share in shares]
        for number in range(len(shares)):
            self._begin(number)

    def _begin(self, number: int) -> None:
        share, source = self._shares[number]
        lost = self._lost_errors()
        for _ in range(_MOST_LOSSES):
            try:
                there = self._ray.get(self._workers[number].begin.remote(share, source))
                break
            except lost as error:
                self._replace(number, error)
        else:
            raise ThresherError(f"worker {number} was lost {_MOST_LOSSES} times: see the logs of Ray")
        if there != __version__:
            raise SettingsError(
                f"this is Thresher {__version__}, and a node of the cluster has {there}: install the same version"
            )

    def round(self, base: State, starts: list[Cursor], rows: int) -> list[Round]:
        """Let every worker learn ``rows`` rows; the results are in the order of the shares."""
        shared = self._ray.put(base)
        waiting = [self._workers[n].learn.remote(shared, start, rows) for n, start in enumerate(starts)]
        found: list[Round] = []
        for number, start in enumerate(starts):
            one = self._result(number, waiting[number], shared, start, rows)
            if isinstance(one, ThresherError):
                raise one
            found.append(one._replace(state=densify(one.state)))
        return found

    def _result(self, number: int, waiting: Any, base: Any, start: Cursor, rows: int) -> Any:
        lost = self._lost_errors()
        for _ in range(_MOST_LOSSES):
            try:
                return self._ray.get(waiting)
            except lost as error:
                self._replace(number, error)
                self._begin(number)
                waiting = self._workers[number].learn.remote(base, start, rows)
        raise ThresherError(f"worker {number} was lost {_MOST_LOSSES} times in a round: see the logs of Ray")

    def _lost_errors(self) -> tuple[type[Exception], ...]:
        errors = self._ray.exceptions
        return errors.RayActorError, errors.ObjectLostError

    def _replace(self, number: int, error: Exception) -> None:
        log.warning("worker %d was lost (%s) and is replaced; its round is done again", number, type(error).__name__)
        self._ray.kill(self._workers[number])
        self._workers[number] = self._actor.remote(self._settings)
        self.replaced += 1

    def close(self) -> None:
        """End the workers, and Ray if it was started here."""
        for worker in getattr(self, "_workers", []):
            self._ray.kill(worker)
        if self._started:
            self._ray.shutdown()


def connect(ray: Any, cluster: str, workers: int, models: int) -> bool:
    """Connect to a Ray; returns whether it was started here. ``models``: the bytes of the models of a round."""
    if ray.is_initialized():
        return False
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    if cluster != "ray" or os.environ.get("RAY_ADDRESS"):
        address = os.environ["RAY_ADDRESS"] if cluster == "ray" else cluster
        _check_reachable(address)
        try:
            ray.init(address=address, **quiet)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise SettingsError(f"the Ray cluster {quoted(address)} cannot be used: {error}") from None
        return True
    ray.init(
        num_cpus=max(workers, os.cpu_count() or 1),
        object_store_memory=_STORE + models,
        include_dashboard=False,
        **quiet,
    )
    return True


def _check_reachable(address: str) -> None:
    """Raise unless something answers at HOST:PORT: Ray itself waits for minutes."""
    if address in ("auto", "local"):
        return
    parts = urlsplit(address if "://" in address else f"//{address}")
    try:
        port = parts.port
    except ValueError:
        port = None
    if not parts.hostname or port is None:
        raise SettingsError(
            f'cluster must be "ray", or an address such as "10.0.0.1:6379" or "ray://10.0.0.1:10001", got {address!r}'
        )
    try:
        socket.create_connection((parts.hostname, port), _PATIENCE).close()
    except OSError as error:
        raise SettingsError(
            f"no Ray cluster answers at {quoted(address)} ({error}): start Ray there, or check the address"
        ) from None
