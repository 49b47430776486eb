"""A worker: it learns its share of the rows, a round at a time. The same code runs on threads and on Ray."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch, Cursor
from thresher.core.labels import Label, Targets
from thresher.core.losses import get_loss
from thresher.online.engine import OnlineEngine
from thresher.online.run import learn
from thresher.online.settings import OnlineSettings
from thresher.sources.base import Source

State = dict[str, NDArray[Any]]


class Stopped(Exception):
    """The round was stopped; it changed nothing."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """What a worker learns from in a pass: part ``number`` of ``of`` parts of the rows, whose ``labels`` are known.

    The source is None on its way, where it is sent once for all workers.
    """

    number: int
    of: int
    source: Source | None
    labels: list[Label]
    batch_rows: int


class Base:
    """The model that a round starts from: whole, or as the changes since the base of the round before.

    Parameters
    ----------
    engine : OnlineEngine
        The engine with this model.
    number : int
        The number of the round.
    changes : State, optional
        What leads here from the base of round ``number - 1``; None if only the whole model does.
    """

    def __init__(self, engine: OnlineEngine, number: int, changes: State | None = None) -> None:
        self.number = number
        self.changes = changes
        self._engine = engine
        self._lock = threading.Lock()
        self._whole: State | None = None

    def whole(self) -> State:
        """The whole model; valid until the round is merged."""
        with self._lock:
            if self._whole is None:
                self._whole = self._engine.state(view=True, scores=False)
            return self._whole


class Round(NamedTuple):
    """The result of a round: the state, the rows and features learned, and the position behind them."""

    state: State
    rows: int
    features: int
    cursor: Cursor
    ended: bool


class Worker:
    """Learns a share of the rows. A round follows from the base and the position alone, so it can be done again.

    Parameters
    ----------
    settings : OnlineSettings
        Those of the engine.
    copies : bool
        The state of a round is a copy; otherwise it is valid until the next round.
    """

    def __init__(self, settings: OnlineSettings, *, copies: bool = False) -> None:
        self.engine = OnlineEngine(settings)
        self.engine.moments = None  # the merged model notes them
        self.copies = copies
        self._share: Share | None = None
        self._rows: Source | None = None
        self._reading: Iterator[tuple[Batch, Cursor]] = iter(())
        self._position: Cursor | None = None  # that of `_reading`; None: not known
        self._learned: int | None = None  # the round from whose base the engine has learned; None: a part of one
        self._left: tuple[Batch, Cursor, Cursor] | None = None  # the rest of a batch, the cursors before and behind it

    def begin(self, share: Share) -> None:
        """Begin a pass."""
        assert share.source is not None
        self._share, self._rows = share, share.source.nth_part(share.number, share.of)
        self._position = None

    def follows(self, number: int) -> bool:
        """Whether changes lead to the base of this round."""
        return self._learned == number - 1

    def learn(self, base: Base, start: Cursor, rows: int, stop: threading.Event | None = None) -> Round:
        """Learn the next ``rows`` rows from ``start`` on, beginning with the model ``base``."""
        share, source = self._share, self._rows
        assert share is not None
        assert source is not None
        self._start_from(base, share.number)
        targets = Targets(self._loss, share.labels, multilabel=self.engine.settings.multilabel)
        if start != self._position:
            names = not source.space.invertible
            self._reading = source.batches(share.batch_rows, start=start, want_names=names)
            self._left = None
        self._position = None
        done = features = 0
        place, ended = start, False
        while done < rows and not ended:
            if stop is not None and stop.is_set():
                raise Stopped
            found = self._next(place)
            if found is None:
                ended = True
                break
            batch, before, after = found
            taken = min(len(batch), rows - done)
            part = batch if taken == len(batch) else batch.take(slice(0, taken))

            def where(row: int, batch: Batch = batch, after: Cursor = after) -> str:
                return source.where(after, batch, row)

            learn(self.engine, replace(part, y=targets.encode(part, where)), where)
            done, features = done + taken, features + part.nnz
            if taken == len(batch):
                self._left, place = None, after
            else:
                place = replace(before, skip=before.skip + taken)
                self._left = batch.take(slice(taken, None)), place, after
        self.engine.flush()
        self._position, self._learned = place, base.number
        return Round(self._state(), done, features, place, ended)

    def _start_from(self, base: Base, number: int) -> None:
        follows, self._learned = base.changes is not None and self.follows(base.number), None
        if follows:
            assert base.changes is not None
            # They have every feature that a worker touched, so also those of this one.
            self.engine.apply_changes(base.changes)
            self.engine.forget_scores()
            return
        whole = base.whole()
        self.engine.restore_model(whole | _own_random(whole, number))
        if self.engine.settings.budgeted:
            self.engine.record_changes()

    def _state(self) -> State:
        engine = self.engine
        if engine.settings.budgeted:
            return engine.changes() | engine.scores.state() | engine.recent.state()
        return engine.state(view=not self.copies)

    @property
    def _loss(self) -> Any:
        return get_loss(self.engine.settings.loss)

    def _next(self, place: Cursor) -> tuple[Batch, Cursor, Cursor] | None:
        """The next rows and the cursors before and behind them; None at the end."""
        if self._left is not None:
            return self._left
        found = next(self._reading, None)
        return None if found is None else (found[0], place, found[1])

    def close(self) -> None:
        """Stop reading."""
        self._reading, self._left, self._position = iter(()), None, None


def _own_random(base: State, number: int) -> State:
    """The state of the random rounding of a worker: equal ones would round all sums the same way."""
    if number == 0 or "random" not in base:
        return {}
    return {"random": np.random.SeedSequence([int(base["random"][0]), number]).generate_state(1, np.uint64)}
