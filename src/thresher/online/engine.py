"""The engine of the online loop: it learns from batches and returns features. No files, no scikit-learn."""

from __future__ import annotations

import logging
import threading
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core import container
from thresher.core.batch import Batch
from thresher.core.locking import locked
from thresher.core.losses import get_loss
from thresher.core.metrics import Scores
from thresher.errors import DataError, SettingsError
from thresher.online.dual_state import History, dual_arrays, restore_dual_arrays
from thresher.online.loop_settings import loop_settings
from thresher.online.pickling import densify, sparsify
from thresher.online.result import Kept, join_tables, pack_tables, select_buckets, select_strongest, unpack_tables
from thresher.online.result import Selected as Selected
from thresher.online.settings import THRESHOLDED
from thresher.online.settings import OnlineSettings as OnlineSettings

log = logging.getLogger(__name__)

#: The version of the bucket hash: cells saved with another version cannot be used.
_HASHING = np.array([2])


class StateFullError(SettingsError):
    """The features seen so far do not fit into their share of the memory."""


class OnlineEngine:
    """An online learner. The result does not depend on how the rows are divided into batches.

    Targets are encoded for the loss (see `thresher.core.labels.Targets`): -1 and +1, numbers, class indices, or for
    multi-label problems a row of -1 and +1. Threads that share an engine take turns.
    """

    def __init__(self, settings: OnlineSettings) -> None:
        self.settings = settings
        self._lock = threading.RLock()
        self._reset()

    def _reset(self) -> None:
        """Forget everything learned."""
        settings = self.settings
        self.scores = Scores(get_loss(settings.loss), settings.outputs)
        self._loop = _native.OnlineLoop(**loop_settings(settings))

    @property
    def sketch(self) -> _native.CountSketch | _native.EvidenceSketch | None:
        """The sketch of the features that are not kept; None if the method has none."""
        return self._loop.count_sketch or self._loop.evidence_sketch

    @property
    def spilled_at(self) -> int:
        """The step at which b-arda ran out of memory and switched from exact sums to a sketch; 0 if it did not."""
        return _native.dual_spilled_at(self._loop) if self.settings.spills else 0

    @property
    def approximate(self) -> bool:
        """Whether a budgeted method holds the features it does not keep in a sketch."""
        return self.settings.approximate or self.spilled_at > 0

    @property
    def rows(self) -> int:
        """Rows learned so far."""
        return int(self._loop.rows_seen)

    @property
    def shrink(self) -> float:
        """The accumulated decay of all weights, by which the sums of the store are multiplied."""
        return float(self._loop.shrink)

    def prior(self, step: NDArray[np.float64]) -> float:
        """The prior energy that a step rule in this state adds to every feature."""
        probe = OnlineEngine(self.settings)._loop
        probe.step = step.tolist()
        return float(probe.prior)

    @locked
    def step(self, batch: Batch) -> None:
        """Learn from every row of a batch, in order.

        If a prediction is not finite, raises `DataError` with the index of the row in the batch as its second
        argument. A KeyboardInterrupt leaves the engine between two rows.
        """
        names = batch.names
        if batch.y is None:
            raise DataError("the batch has no targets: pass y.")
        y = np.ascontiguousarray(batch.y, dtype=np.float64)
        spilled = self.spilled_at
        try:
            done, margins, interrupted = self._loop.learn(
                batch.indptr,
                batch.keys,
                batch.values,
                y.ravel(),
                batch.weight,
                None if names is None else names.words,
                None if names is None else names.text,
                [] if names is None else names.prefixes,
                None if names is None else names.parents,
            )
        except OverflowError:
            raise StateFullError(_memory_message(self.settings, self.rows)) from None
        if spilled != self.spilled_at:
            log.warning(
                "after %d steps the features seen no longer fit into the %d bytes that memory leaves for them: "
                "features that are not kept now share %d cells, and the result is approximate. Pass more `memory`, or "
                "none, for an exact result.",
                self.spilled_at,
                self.settings.room,
                self.settings.spill_width,
            )
        shaped = self._shaped(margins)
        self.scores.add(shaped[:done], y[:done], None if batch.weight is None else batch.weight[:done])
        if interrupted:
            raise KeyboardInterrupt
        if done < len(batch):
            raise DataError(
                f"the prediction became {np.ravel(shaped[-1])[0]:g} after {self.rows} rows: the steps are too long for "
                "this data. Scale the features, or pass a smaller `step`.",
                done,
            )

    @property
    @locked
    def waiting(self) -> bool:
        """Whether there is an incomplete mini-batch."""
        rows, _, keys, _, _ = self._loop.gathered()
        return rows > 0 or len(keys) > 0

    @locked
    def flush(self) -> None:
        """Learn from an incomplete mini-batch, at the end of the data."""
        self._loop.flush()

    @locked
    def margins(self, batch: Batch) -> NDArray[np.float64]:
        """The margins of the current model: (rows,), or (rows, outputs)."""
        return self._shaped(self._loop.predict(batch.indptr, batch.keys, batch.values))

    def _shaped(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        return margins if self.settings.outputs == 1 else margins.reshape(-1, self.settings.outputs)

    @locked
    def selected(self, k: int | None = None) -> Selected:
        """The ``k`` strongest features (default: all that are kept).

        ``errors`` are 0 for an exact store, the standard error of the weight where the store holds evidence, and the
        error bound of the sketch's estimates otherwise.
        """
        limit = self.settings.k if k is None else k
        if self.settings.method == "hashing":
            assert self.sketch is not None
            return select_buckets(self.sketch, self.settings.outputs, self._loop)
        unit, lanes = self._loop.unit, self.settings.outputs
        intercept = np.array(self._loop.intercepts)
        if self.settings.groups is not None or self.settings.method in THRESHOLDED:
            every = None if self.settings.groups is not None else limit
            found = select_strongest(*_native.dual_weights(self._loop), unit, intercept, every)
            return found._replace(names=_native.names_of(self._loop, found.keys))
        tables = self.kept(self.settings.k if self.settings.budgeted else limit)
        if len(tables) == 1:
            table = tables[0]
            weights = (unit * table.weights).T
            weights = weights[0] if lanes == 1 else np.ascontiguousarray(weights)
            found = Selected(table.keys, weights, table.counts, table.names, self._errors(table), intercept)
            return found.by_weight(limit) if self.settings.budgeted else found
        return join_tables(tables, [self._errors(table) for table in tables], unit, intercept)

    @property
    @locked
    def groups(self) -> list[tuple[int, bytes]]:
        """The groups kept, strongest first: key (of a listed group its index) and name."""
        if self.settings.groups is None:
            return []
        (table,) = self.kept()
        return list(zip(table.keys.tolist(), table.names, strict=True))

    @locked
    def kept(self, limit: int | None = None) -> list[Kept]:
        """The tables of kept features, in the store's unit."""
        limit = self.settings.k if limit is None else limit
        return [Kept.of(self._loop.table(t, limit), self._loop.kept_size) for t in range(self._loop.tables)]

    def _errors(self, table: Kept) -> NDArray[np.float64]:
        unit = abs(self._loop.unit)
        if isinstance(self.sketch, _native.EvidenceSketch) or self.approximate:
            return unit * table.noise
        return np.full(len(table.keys), 0.0 if self.sketch is None else unit * self.sketch.bound())

    @property
    def best(self) -> OnlineEngine:
        """This engine; `online.tuning.SuccessiveHalving` returns its best candidate."""
        return self

    @locked
    def count(self) -> int:
        """The number of features with a weight."""
        if self.settings.method in THRESHOLDED:
            return len(_native.dual_weights(self._loop)[0])
        return sum(len(table.keys) for table in self.kept())

    @property
    @locked
    def seen(self) -> tuple[int, int]:
        """The number of features that a budgeted method has seen, and their bytes; (0, 0) for other methods."""
        return _native.dual_size(self._loop) if self.settings.budgeted else (0, 0)

    @property
    @locked
    def history(self) -> History:
        """The features kept over time; empty for a method without a budget."""
        return History.of(self._loop) if self.settings.budgeted else History()

    @locked
    def progressive(self, *, flip_sign: bool = False) -> dict[str, float]:
        """The progressive (prequential) scores: every row is predicted before it is learned."""
        return self.scores.result(flip_sign=flip_sign)

    def merge(self, other: OnlineEngine) -> None:
        """Merge another engine of the same settings that learned from other rows; see `online.merge`."""
        from thresher.online.merge import merged_state

        if self.settings.budgeted:
            raise SettingsError(f"engines of {self.settings.method} cannot be merged: fit one engine on all rows")
        self._restore(merged_state(self, other))

    @locked
    def state(self) -> dict[str, NDArray[Any]]:
        """The complete state, as arrays."""
        loop = self._loop
        rows, slopes, keys, sums, names = loop.gathered()
        offsets, text = container.pack_strings(names)
        state: dict[str, NDArray[Any]] = {
            **pack_tables(self.kept()),
            "loop": np.array([loop.rows_seen, loop.shrink, rows], np.float64),
            "step": np.array(loop.step),
            "bias": np.array(loop.bias),
            "gathered_slopes": np.array(slopes),
            "gathered_keys": keys,
            "gathered_sums": sums,
            "gathered_name_offsets": offsets,
            "gathered_name_text": text,
            **self.scores.state(),
        }
        if self.settings.budgeted:
            state |= dual_arrays(loop)
        if self.sketch is not None:
            state |= {"cells": self.sketch.cells, "factor": np.array([self.sketch.factor]), "hashing": _HASHING}
        if isinstance(self.sketch, _native.EvidenceSketch):
            state["random"] = np.array([self.sketch.random], np.uint64)
        return state

    @classmethod
    def from_state(cls, settings: OnlineSettings, state: dict[str, NDArray[Any]]) -> Self:
        """Continue from a state; the result is the same to the bit."""
        engine = cls(settings)
        engine._restore(state)
        return engine

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickle_engine, (self.settings, sparsify(self.state()))

    @locked
    def _restore(self, state: dict[str, NDArray[Any]]) -> None:
        self._reset()
        loop = self._loop
        if self.settings.spills and "cells" in state:
            _native.dual_spill(loop)
        for t, table in enumerate(unpack_tables(state, loop.tables, loop.kept_size)):
            loop.restore_table(t, *table.arrays())
        rows, loop.shrink, gathered = state["loop"].tolist()
        loop.rows_seen = int(rows)
        loop.step, loop.bias = state["step"].tolist(), state["bias"].tolist()
        loop.restore_gathered(
            int(gathered),
            state["gathered_slopes"].tolist(),
            np.ascontiguousarray(state["gathered_keys"]),
            np.ascontiguousarray(state["gathered_sums"]),
            container.unpack_strings(state["gathered_name_offsets"], state["gathered_name_text"]),
        )
        self.scores.restore(state)
        if self.settings.budgeted:
            restore_dual_arrays(loop, state)
        if self.sketch is not None:
            if not np.array_equal(state["hashing"], _HASHING):
                raise ValueError("sketch cells of another hash function")
            cells: Any = np.ascontiguousarray(state["cells"])
            self.sketch.cells = cells
            self.sketch.factor = float(state["factor"][0])
        if isinstance(self.sketch, _native.EvidenceSketch):
            self.sketch.random = int(state["random"][0])


def unpickle_engine(settings: OnlineSettings, packed: dict[str, Any]) -> OnlineEngine:
    """Restore a pickled engine."""
    return OnlineEngine.from_state(settings, densify(packed))


def _memory_message(settings: OnlineSettings, rows: int) -> str:
    """The error message for features that no longer fit into memory."""
    held, instead = "every feature seen", ", or choose mission or b-arda (which switches to a sketch)"
    if settings.groups is not None:
        held, instead = "every feature seen and its group", ""
    return (
        f"after {rows} rows the state of {settings.method} no longer fits into the {settings.room} bytes that memory "
        f"leaves for it: it holds {held}. Pass more `memory`, or none{instead}."
    )
