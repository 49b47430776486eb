"""The fits of an online method on halves of the rows: all engines learn from one reading of each batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.losses import get_loss
from thresher.errors import DataError
from thresher.online.run import OnlineRun, learn
from thresher.online.several_engines import BareEngine, engine_bytes, engine_settings
from thresher.sources.base import Source
from thresher.sources.registry import is_file_source
from thresher.trust.stability.classes import one_class_in_a_half
from thresher.trust.stability.distinct import BYTES, DistinctKeys
from thresher.trust.stability.frequencies import Keys
from thresher.trust.stability.pairs import Pairs
from thresher.trust.stability.settings import Stability

#: Bytes of a row and of a value while they are held: one copy, and the rows of a half in another order.
_ROW_BYTES, _VALUE_BYTES = 64, 2 * 12
#: The distance of the seeds of two orders.
_SEEDS_APART = 1_000_003


class OnlineFits:
    """Two engines for each pair, that learn halves of the rows of a run, as often as its own engine did.

    All engines learn from one reading of each batch. Rows that fit into the memory are held instead, and each pair
    learns them in orders of its own: the order of few rows matters, and frequencies are to be those of any order.

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
        self.bytes = 2 * pairs * engine_bytes(self.settings) + BYTES

    def fits(self, done: int) -> Iterator[Keys]:
        """The features of each fit, strongest first. ``done`` fits are skipped."""
        run = self._run
        self.settings = self._engine_settings(run.engine.best.settings)  # with the eta and lam that were found
        self._passes = run.passes_done
        run.release()  # the plan has no room for its engine beside the others
        run.release_buffers()
        held = self._held_rows()
        if held is None:
            fits = self._learned_together()
        else:
            first = done // 2
            done -= 2 * first
            fits = (keys for pair in range(first, self._pairs) for keys in self._learned_alone(held, pair))
        for number, keys in enumerate(fits):
            if number >= done:
                yield keys

    def _engine(self, number: int) -> BareEngine:
        """The engine of a fit, with hash functions of its own: features that collide in all would share their fate."""
        return BareEngine(replace(self.settings, seed=self.settings.seed + number))

    # ── rows that are held ───────────────────────────────────────────────────────────────────────

    def _held_rows(self) -> Batch | None:
        """All rows with their targets, if they fit where the other engines would be."""
        run = self._run
        if not run.settings.shuffles:
            return None
        room = run.plan.shuffle + (2 * self._pairs - 2) * engine_bytes(self.settings)
        source = self._read(0, "reading the rows")
        held, used = [], 0
        for batch, cursor in source.batches(run.options.batch_rows):
            used += _VALUE_BYTES * batch.nnz + _ROW_BYTES * len(batch)
            if used > room:
                return None
            held.append(self._encoded(batch, cursor))
        return Batch.concat(held) if held else None

    def _learned_alone(self, rows: Batch, pair: int) -> Iterator[Keys]:
        """Learn a pair from rows that are held, in orders of its own."""
        name = f"learning halves of the rows, pair {pair + 1} of {self._pairs}"
        sides = self._halves.sides(rows, [pair])[0]
        if pair == 0:
            self.distinct.add(rows.keys)
        for side in (0, 1):
            mine = np.flatnonzero(sides == side)
            seen = np.zeros(self._classes, bool)
            self._see(seen, rows, mine)
            self._check_classes([pair], seen[None])
            engine = self._engine(2 * pair + side)
            for number in range(self._passes):
                self._run.watch.show(phase=name)
                seed = (self._seed * _SEEDS_APART + pair) * _SEEDS_APART + number
                order = mine[np.argsort(_native.hash_keys(mine.astype(np.uint64), seed & (1 << 64) - 1), kind="stable")]
                learn(engine, rows.take(order), lambda row: "a row")
                engine.flush()
            yield engine.selected().keys

    # ── rows that are read ───────────────────────────────────────────────────────────────────────

    def _learned_together(self) -> Iterator[Keys]:
        """Learn all pairs from the same readings; the features of both halves of each."""
        engines: list[BareEngine | None] = [self._engine(number) for number in range(2 * self._pairs)]
        seen = np.zeros((len(engines), self._classes), bool)
        for number in range(self._passes):
            name = f"learning {len(engines)} halves of the rows"
            name += f", pass {number + 1} of {self._passes}" if self._passes > 1 else ""
            for batch, cursor in self._batches(number, name):
                self._learn(engines, seen, batch, cursor, first=number == 0)
            for engine in engines:
                assert engine is not None
                engine.flush()
            if number == 0:
                self._check_classes(range(self._pairs), seen)
        for place, engine in enumerate(engines):
            assert engine is not None
            keys = engine.selected().keys
            engines[place] = engine = None  # frees it
            yield keys

    def _read(self, number: int, name: str) -> Source:
        """The rows in the order of a pass."""
        self._reading = source = self._run.watched(self._run.rows_of_pass(number), name)
        self._halves = Pairs(source, self._seed)
        return source

    def _batches(self, number: int, name: str) -> Iterator[tuple[Batch, Cursor]]:
        source = self._read(number, name)
        if is_file_source(source) and source.rewindable:
            source = source.prefetched(1, heavy=self._run.plan.heavy_batch)
        return source.batches(self._run.options.batch_rows)

    def _encoded(self, batch: Batch, cursor: Cursor) -> Batch:
        targets = self._run.targets.encode(batch, partial(self._reading.where, cursor, batch))
        return replace(batch, y=targets, y_indptr=None, names=None)

    def _learn(
        self,
        engines: Sequence[BareEngine | None],
        seen: NDArray[np.bool_],
        batch: Batch,
        cursor: Cursor,
        *,
        first: bool,
    ) -> None:
        if not len(batch):
            return
        where = partial(self._reading.where, cursor, batch)
        batch = self._encoded(batch, cursor)
        sides = self._halves.sides(batch, range(self._pairs))
        if first:
            self.distinct.add(batch.keys)
        for number, engine in enumerate(engines):
            assert engine is not None
            rows = np.flatnonzero(sides[number // 2] == number % 2)
            if not len(rows):
                continue
            if first:
                self._see(seen[number], batch, rows)
            learn(engine, batch.take(rows), lambda row, rows=rows: where(int(rows[row])))  # type: ignore[misc]

    # ── classes ──────────────────────────────────────────────────────────────────────────────────

    @property
    def _classes(self) -> int:
        settings = self._run.settings
        return settings.outputs if get_loss(settings.loss).task == "classes" else 2

    def _see(self, seen: NDArray[np.bool_], batch: Batch, rows: NDArray[np.intp]) -> None:
        """Mark the classes of some rows."""
        task = get_loss(self._run.settings.loss).task
        if task == "real" or self._run.settings.multilabel:
            seen[:] = True
            return
        targets = np.asarray(batch.y)[rows]
        seen[(targets if task == "classes" else targets > 0).astype(np.intp)] = True

    def _check_classes(self, pairs: Sequence[int], seen: NDArray[np.bool_]) -> None:
        """Raise if a half of a pair lacks a class."""
        run = self._run
        if seen.all():
            return
        number, label = (int(at[0]) for at in np.nonzero(~seen))
        classes = run.targets.classes or []
        if run.targets.orientation < 0:
            classes = classes[::-1]
        raise DataError(one_class_in_a_half(run.source.describe(), pairs[number // 2], [classes[label]]))
