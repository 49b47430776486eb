"""The fits of an online method on halves of the rows: all engines learn from one reading of each batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch, Cursor
from thresher.core.losses import get_loss
from thresher.errors import DataError
from thresher.online.engine import OnlineEngine
from thresher.online.run import OnlineRun, learn
from thresher.online.several_engines import BareEngine, engine_bytes, engine_settings
from thresher.sources.registry import is_file_source
from thresher.trust.stability.classes import one_class_in_a_half
from thresher.trust.stability.distinct import BYTES, DistinctKeys
from thresher.trust.stability.frequencies import Keys
from thresher.trust.stability.pairs import Pairs


class OnlineFits:
    """2 x ``pairs`` engines that learn halves of the rows of a run, as often as its own engine did.

    Created before the run, which has then planned its memory; the engines have the memory of its own engine.

    Parameters
    ----------
    run : OnlineRun
    pairs : int
    """

    def __init__(self, run: OnlineRun, pairs: int) -> None:
        self._run, self._pairs = run, pairs
        self.distinct = DistinctKeys()
        plan = run.plan
        self._plan = plan.to_dict()
        self._engine_settings = partial(
            engine_settings, parts=self._plan, engines=2 * pairs, memory=plan.memory, limited=plan.limited
        )
        self.settings = self._engine_settings(run.settings)  # refused before the first row

    def fits(self, done: int) -> Iterator[Keys]:
        """The features of each fit, strongest first; nothing while the rows are read. ``done`` fits are skipped."""
        run = self._run
        tuned = run.engine.best.settings  # with the eta and lam that were found
        passes = run.passes_done
        run.release()  # the plan has no room for its engine beside the others
        run.release_buffers()
        self.settings = self._engine_settings(tuned)
        engines: list[OnlineEngine | None] = [BareEngine(self.settings) for _ in range(2 * self._pairs)]
        seen = np.zeros((len(engines), self._classes), bool)
        for number in range(passes):
            name = f"learning {len(engines)} halves of the rows" + (f", pass {number + 1} of {passes}" * (passes > 1))
            for batch, cursor in self._batches(number, name):
                self._learn(engines, seen, batch, cursor, first=number == 0)
            for engine in engines:
                assert engine is not None
                engine.flush()
            if number == 0:
                self._check_classes(seen)
        for number, engine in enumerate(engines):
            assert engine is not None
            keys = engine.selected().keys
            engines[number] = engine = None  # frees it
            if number >= done:
                yield keys

    @property
    def bytes(self) -> int:
        """The bytes of all engines, and of the sketch that counts features."""
        return 2 * self._pairs * engine_bytes(self.settings) + BYTES

    @property
    def _classes(self) -> int:
        settings = self._run.settings
        return settings.outputs if get_loss(settings.loss).task == "classes" else 2

    def _batches(self, number: int, name: str) -> Iterator[tuple[Batch, Cursor]]:
        run = self._run
        self._reading = source = run.watched(run.rows_of_pass(number), name)
        self._halves = Pairs(source, run.settings.seed, self._pairs)
        if is_file_source(source) and source.rewindable:
            source = source.prefetched(1, heavy=run.plan.heavy_batch)
        return source.batches(run.options.batch_rows)

    def _learn(
        self,
        engines: list[OnlineEngine | None],
        seen: NDArray[np.bool_],
        batch: Batch,
        cursor: Cursor,
        *,
        first: bool,
    ) -> None:
        run, where = self._run, partial(self._reading.where, cursor, batch)
        if not len(batch):
            return
        encoded = run.targets.encode(batch, where)
        batch = replace(batch, y=encoded, y_indptr=None)
        sides = self._halves.sides(batch)
        if first:
            self.distinct.add(batch.keys)
        task = get_loss(run.settings.loss).task
        counted = first and task != "real" and not run.settings.multilabel
        classes = (encoded if task == "classes" else encoded > 0).astype(np.intp) if counted else None
        for number, engine in enumerate(engines):
            assert engine is not None
            rows = np.flatnonzero(sides[number // 2] == number % 2)
            if not len(rows):
                continue
            if classes is not None:
                seen[number, classes[rows]] = True
            learn(engine, batch.take(rows), lambda row, rows=rows: where(int(rows[row])))  # type: ignore[misc]

    def _check_classes(self, seen: NDArray[np.bool_]) -> None:
        run = self._run
        if get_loss(run.settings.loss).task == "real" or run.settings.multilabel or seen.all():
            return
        number, label = (int(at[0]) for at in np.nonzero(~seen))
        classes = run.targets.classes or []
        if run.targets.orientation < 0:
            classes = classes[::-1]
        raise DataError(one_class_in_a_half(run.source.describe(), number // 2, [classes[label]]))
