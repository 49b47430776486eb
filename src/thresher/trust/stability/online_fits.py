"""The fits of an online method on halves of the rows: all engines learn from one reading of each batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch, Cursor
from thresher.core.losses import get_loss
from thresher.errors import DataError
from thresher.online.pass_choice import LARGE_BYTES
from thresher.online.run import OnlineRun, learn
from thresher.online.several_engines import BareEngine, engine_bytes, engine_settings
from thresher.sources.registry import is_file_source
from thresher.trust.stability.classes import one_class_in_a_half
from thresher.trust.stability.distinct import BYTES, DistinctKeys
from thresher.trust.stability.frequencies import Keys
from thresher.trust.stability.pairs import Pairs
from thresher.trust.stability.settings import Stability

#: Up to so many rows, each pair has readings of its own, whatever their bytes.
_FEW_ROWS = 2000


class OnlineFits:
    """Two engines for each pair, that learn halves of the rows of a run, as often as its own engine did.

    Small data is read for each pair, in an order of its own: the order of few rows matters, and frequencies are to be
    those of any order. Of larger data all engines learn from one reading.

    Created before the run, which has then planned its memory; the engines have the memory of its own engine.

    Parameters
    ----------
    run : OnlineRun
    stability : Stability
    """

    def __init__(self, run: OnlineRun, stability: Stability) -> None:
        pairs = stability.pairs
        self._run, self._seed, self._pairs = run, stability.seed, pairs
        self.distinct = DistinctKeys()
        plan = run.plan
        self._engine_settings = partial(
            engine_settings, parts=plan.to_dict(), engines=2 * pairs, memory=plan.memory, limited=plan.limited
        )
        self.settings = self._engine_settings(run.settings)  # refused before the first row

    def fits(self, done: int) -> Iterator[Keys]:
        """The features of each fit, strongest first. ``done`` fits are skipped."""
        run = self._run
        self.settings = self._engine_settings(run.engine.best.settings)  # with the eta and lam that were found
        self._passes = run.passes_done
        run.release()  # the plan has no room for its engine beside the others
        run.release_buffers()
        together = range(self._pairs)
        groups = [together] if self.at_once else [together[pair : pair + 1] for pair in together[done // 2 :]]
        for pairs in groups:
            for number, keys in enumerate(self._learned(pairs), 2 * pairs[0]):
                if number >= done:
                    yield keys

    @property
    def at_once(self) -> bool:
        """Whether all pairs learn from the same reading."""
        source = self._run.source
        size, rows = source.total_bytes, source.total_rows
        few = rows is not None and rows <= _FEW_ROWS
        return not few and (size is None or size > LARGE_BYTES)

    @property
    def bytes(self) -> int:
        """The bytes of the engines that are there together, and of the sketch that counts features."""
        return (2 * self._pairs if self.at_once else 2) * engine_bytes(self.settings) + BYTES

    def _learned(self, pairs: range) -> Iterator[Keys]:
        """Learn some pairs from the same readings; the features of both halves of each."""
        engines: list[BareEngine | None] = [BareEngine(self.settings) for _ in range(2 * len(pairs))]
        seen = np.zeros((len(engines), self._classes), bool)
        for number in range(self._passes):
            for batch, cursor in self._batches(pairs, number):
                self._learn(engines, pairs, seen, batch, cursor, first=number == 0)
            for engine in engines:
                assert engine is not None
                engine.flush()
            if number == 0:
                self._check_classes(pairs, seen)
        for place, engine in enumerate(engines):
            assert engine is not None
            keys = engine.selected().keys
            engines[place] = engine = None  # frees it
            yield keys

    @property
    def _classes(self) -> int:
        settings = self._run.settings
        return settings.outputs if get_loss(settings.loss).task == "classes" else 2

    def _batches(self, pairs: range, number: int) -> Iterator[tuple[Batch, Cursor]]:
        run = self._run
        name = f"learning halves of the rows, {pairs[-1] + 1} of {self._pairs} pairs"
        if self._passes > 1 and self.at_once:
            name += f", pass {number + 1} of {self._passes}"
        self._reading = source = run.watched(run.rows_of_pass(pairs[0] * self._passes + number), name)
        self._halves = Pairs(source, self._seed)
        if is_file_source(source) and source.rewindable:
            source = source.prefetched(1, heavy=run.plan.heavy_batch)
        return source.batches(run.options.batch_rows)

    def _learn(
        self,
        engines: Sequence[BareEngine | None],
        pairs: range,
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
        sides = self._halves.sides(batch, pairs)
        if first and pairs[0] == 0:
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

    def _check_classes(self, pairs: range, seen: NDArray[np.bool_]) -> None:
        run = self._run
        if get_loss(run.settings.loss).task == "real" or run.settings.multilabel or seen.all():
            return
        number, label = (int(at[0]) for at in np.nonzero(~seen))
        classes = run.targets.classes or []
        if run.targets.orientation < 0:
            classes = classes[::-1]
        raise DataError(one_class_in_a_half(run.source.describe(), pairs[number // 2], [classes[label]]))
