"""The engine of the online loop: it learns from batches and returns features. No files, no scikit-learn."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch
from thresher.core.losses import get_loss
from thresher.core.running_units import UnitChange
from thresher.core.scores.metrics import Scores
from thresher.core.scores.recent_margins import RecentMargins
from thresher.errors import DataError, SettingsError
from thresher.online.dual_state import History, memory_message, warn_of_spill
from thresher.online.moments import Moments
from thresher.online.settings import THRESHOLDED
from thresher.online.settings import OnlineSettings as OnlineSettings

if TYPE_CHECKING:
    from thresher.online.result import Selected

#: More rows than any stream has: batch-iht then ends a mini-batch by its number of features.
_NO_ROW_LIMIT = 2**62
#: The state of a kept feature: the factor that turns its sums into weights, their energy, then one sum per output.
INVERSE, ENERGY, HEADER = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Kept:
    """The features of one table, strongest first."""

    keys: NDArray[np.uint64]
    ranks: NDArray[np.float64]
    counts: NDArray[np.uint64]
    names: list[bytes]
    state: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Any, size: int) -> Kept:
        """Create from a table of the native loop, with a state of ``size`` numbers per feature."""
        keys, ranks, counts, names, state = rows
        return cls(keys, ranks, counts, names, state.reshape(-1, size))

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights, (features, outputs), in the store's unit."""
        weights: NDArray[np.float64] = self.state[:, HEADER:] * self.state[:, INVERSE, None]
        return weights

    @property
    def noise(self) -> NDArray[np.float64]:
        """The standard error of each weight, in the store's unit."""
        noise: NDArray[np.float64] = np.sqrt(self.state[:, ENERGY]) * self.state[:, INVERSE]
        return noise

    def first(self, k: int) -> Kept:
        """The ``k`` strongest features."""
        return Kept(self.keys[:k], self.ranks[:k], self.counts[:k], self.names[:k], self.state[:k])

    def arrays(self) -> tuple[Any, ...]:
        """The arguments of the native loop's ``restore_table``."""
        parts = (self.keys, self.ranks, self.counts)
        state = np.ascontiguousarray(self.state).ravel()
        return (*map(np.ascontiguousarray, parts), self.names, state)


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
        #: What the fit looked like while it learned; None: this is not gathered.
        self.moments: Moments | None = Moments(settings.k)
        self.gathers_kept = True
        self._reset()

    def _reset(self, *, again: bool = False) -> None:
        """Forget everything learned; with ``again``, only what restoring a state does not replace."""
        self.forget_scores()
        if again:
            self._loop.clear_tables()
            return
        if hasattr(self, "_loop"):
            del self._loop  # the plan has no room for two
        self._loop: _native.OnlineLoop = _native.OnlineLoop(**_loop_settings(self.settings))
        if pinned := self.settings.pinned:
            names = [name.encode("utf-8", "surrogateescape") for name, _ in pinned]
            self._loop.pin(np.array(self.settings.pinned_keys, np.uint64), names)

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
        with self._lock:
            now, self._loop.step = self._loop.step, step.tolist()
            prior, self._loop.step = float(self._loop.prior), now
            return prior

    def step(self, batch: Batch) -> None:
        """Learn from every row of a batch, in order.

        If a prediction is not finite, raises `DataError` with the index of the row in the batch as its second
        argument. A KeyboardInterrupt leaves the engine between two rows.
        """
        with self._lock:
            if batch.y is None:
                raise DataError("the batch has no targets: pass y.")
            y = np.ascontiguousarray(batch.y, dtype=np.float64)
            begin = 0
            while begin < len(batch):
                moments = self.moments
                end = len(batch) if moments is None else moments.end(self.rows, batch.indptr, begin)
                self._learn(batch, y, begin, end)
                self.note_moment(int(batch.indptr[end] - batch.indptr[begin]))
                begin = end

    def _learn(self, batch: Batch, y: NDArray[np.float64], begin: int, end: int) -> None:
        """Learn from the rows of a batch from ``begin`` to ``end``."""
        names, first, last = batch.names, batch.indptr[begin], batch.indptr[end]
        whole = begin == 0 and end == len(batch)
        y, weight = y[begin:end], None if batch.weight is None else batch.weight[begin:end]
        spilled = self.spilled_at
        try:
            done, margins, interrupted = self._loop.learn(
                batch.indptr if whole else batch.indptr[begin : end + 1] - first,
                batch.keys if whole else batch.keys[first:last],
                batch.values if whole or batch.values is None else batch.values[first:last],
                y.ravel(),
                weight,
                None if names is None else names.words if whole else names.words[first:last],
                None if names is None else names.text,
                [] if names is None else names.prefixes,
                None if names is None else names.parents,
            )
        except OverflowError:
            raise StateFullError(memory_message(self.settings, self.rows)) from None
        if spilled != self.spilled_at:
            warn_of_spill(self.settings, self.spilled_at)
        shaped = self._shaped(margins)
        weight = None if weight is None else weight[:done]
        self.scores.add(shaped[:done], y[:done], weight)
        self.recent.add(shaped[:done], y[:done], weight)
        if interrupted:
            raise KeyboardInterrupt
        if done < end - begin:
            raise DataError(
                f"the prediction became {np.ravel(shaped[-1])[0]:g} after {self.rows} rows: the steps are too "
                "long for this data. Scale the features, or pass a smaller `step`.",
                begin + done,
            )

    # ── what the fit looked like ─────────────────────────────────────────────────────────────────

    def note_moment(self, features: int, *, round_end: bool = False) -> None:
        """Note the loss and the features kept, if these features learned lead to the next moment."""
        if self.moments is None:
            return
        self.moments.learned(features)
        if self.moments.due(self.rows, round_end=round_end):
            kept = self._kept_now() if self.gathers_kept else None
            scanned = 0
            if kept is not None and self.settings.method in THRESHOLDED:
                # They have no table: all features seen are scanned, and any number is ordered.
                scanned = 4 * self.seen[0] + 40 * kept[0]
            self.moments.note(self.rows, self.scores.sums, kept, scanned)

    def end_pass(self) -> None:
        """Note the end of a pass."""
        if self.moments is not None:
            self.moments.end_pass(self.rows)

    def all_moments(self) -> Moments:
        """The moments noted, and as the last one this."""
        moments = Moments(self.settings.k)
        if self.moments is not None:
            moments.restore(self.moments.state(), self.rows)
        if moments.rows[-1:] != [self.rows]:
            moments.note(self.rows, self.scores.sums, self._kept_now())
        return moments

    def _kept_now(self) -> tuple[int, NDArray[np.uint64]] | None:
        """The number of features (or groups) kept now, and the keys of the strongest; None without kept features."""
        noted = self.settings.noted
        if self.settings.method == "hashing" or noted < 1:
            return None
        if self.settings.method in THRESHOLDED:
            from thresher.online.result import select_strongest

            keys, counts, weights = _native.dual_weights(self._loop)
            if len(keys) <= noted:
                return len(keys), np.sort(keys)  # their order in the table is not part of the state
            return len(keys), select_strongest(keys, counts, weights, 1.0, np.zeros(self.settings.outputs), noted).keys
        tables = self._loop.tables
        most, full = max(1, noted // tables), self.settings.k * tables
        if not (known := self.moments is not None and self.moments.sizes[-1:] == [full]):
            most = self.settings.k  # a table that is full stays so, and its size is known
        found = [self._loop.table(t, most)[0] for t in range(tables)]
        size = full if known else sum(map(len, found))
        return size, np.concatenate([keys[: max(1, noted // tables)] for keys in found])

    @property
    def waiting(self) -> bool:
        """Whether there is an incomplete mini-batch."""
        with self._lock:
            rows, _, keys, _, _ = self._loop.gathered()
            return rows > 0 or len(keys) > 0

    def flush(self) -> None:
        """Learn from an incomplete mini-batch, at the end of the data."""
        with self._lock:
            self._loop.flush()

    def change_units(self, change: UnitChange) -> None:
        """Go on with features in other units: their sums become what the rows so far would give in these.

        Gradients stay as they were. An incomplete mini-batch is learned first. The intercept moves with the centres.
        """
        with self._lock:
            self._loop.change_units(*change)

    def margins(self, batch: Batch) -> NDArray[np.float64]:
        """The margins of the current model: (rows,), or (rows, outputs)."""
        with self._lock:
            return self._shaped(self._loop.predict(batch.indptr, batch.keys, batch.values))

    def _shaped(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        return margins if self.settings.outputs == 1 else margins.reshape(-1, self.settings.outputs)

    def selected(self, k: int | None = None) -> Selected:
        """The ``k`` strongest features (default: all that are kept).

        ``errors`` are 0 for an exact store, the standard error of the weight where the store holds evidence, and the
        error bound of the sketch's estimates otherwise.
        """
        from thresher.online.result import strongest

        with self._lock:
            return strongest(self, self._loop, self.settings.k if k is None else k)

    @property
    def groups(self) -> list[tuple[int, bytes]]:
        """The groups kept, strongest first: key (of a listed group its index) and name."""
        with self._lock:
            if self.settings.groups is None:
                return []
            (table,) = self.kept()
            return list(zip(table.keys.tolist(), table.names, strict=True))

    def kept(self, limit: int | None = None) -> list[Kept]:
        """The tables of kept features, in the store's unit."""
        with self._lock:
            limit = self.settings.k if limit is None else limit
            return [Kept.of(self._loop.table(t, limit), self._loop.kept_size) for t in range(self._loop.tables)]

    @property
    def best(self) -> OnlineEngine:
        """This engine; `online.tuning.SuccessiveHalving` returns its best candidate."""
        return self

    def count(self) -> int:
        """The number of features with a weight."""
        with self._lock:
            if self.settings.method in THRESHOLDED:
                return len(_native.dual_weights(self._loop)[0])
            return sum(len(table.keys) for table in self.kept())

    @property
    def seen(self) -> tuple[int, int]:
        """The number of features that a budgeted method has seen, and their bytes; (0, 0) for other methods."""
        with self._lock:
            return _native.dual_size(self._loop) if self.settings.budgeted else (0, 0)

    @property
    def history(self) -> History:
        """The features kept over time; empty for a method without a budget."""
        with self._lock:
            return History.of(self._loop) if self.settings.budgeted else History()

    def progressive(self, *, flip_sign: bool = False) -> dict[str, float]:
        """The progressive (prequential) scores: every row is predicted before it is learned."""
        with self._lock:
            return self.scores.result(flip_sign=flip_sign)

    def merge(self, other: OnlineEngine) -> None:
        """Merge another engine of the same settings that learned from other rows; see `online.merge`."""
        from thresher.online.merge import merged_state

        if self.settings.budgeted:
            raise SettingsError(f"engines of {self.settings.method} cannot be merged: fit one engine on all rows")
        self._restore(merged_state(self, other))

    def state(self, *, view: bool = False, scores: bool = True) -> dict[str, NDArray[Any]]:
        """The complete state, as arrays; with ``view``, the cells of the sketch are the engine's own.

        A view changes with the next step. It is for a checkpoint, which is written at once and has no room for a copy.
        Without ``scores`` it is the model alone.
        """
        from thresher.online.engine_state import loop_state

        with self._lock:
            state = loop_state(self._loop, self.settings, self.sketch, self.kept(), view=view)
            if not scores:
                return state
            moments = {} if self.moments is None else self.moments.state()
            return state | self.scores.state() | self.recent.state() | moments

    @classmethod
    def from_state(cls, settings: OnlineSettings, state: dict[str, NDArray[Any]]) -> Self:
        """Continue from a state; the result is the same to the bit."""
        engine = cls(settings)
        engine._restore(state)
        return engine

    def __reduce__(self) -> tuple[Any, ...]:
        from thresher.online.engine_state import sparsify

        return unpickle_engine, (self.settings, sparsify(self.state()))

    def _restore(self, state: dict[str, NDArray[Any]]) -> None:
        self.restore_model(state)
        self.scores.restore(state)
        self.recent.restore(state)
        if self.moments is not None:
            self.moments.restore(state, self.rows)

    def restore_model(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from the model of a state, with no scores."""
        from thresher.online.engine_state import restore_loop

        with self._lock:
            self._reset(again=not self.settings.budgeted)
            restore_loop(self._loop, self.settings, state)

    # ── the changes of a round, for the workers of b-arda (see `online.dual_rounds`) ─────────────

    def record_changes(self) -> None:
        """List the features that are touched from now on."""
        with self._lock:
            _native.dual_record(self._loop)

    def changes(self) -> dict[str, NDArray[Any]]:
        """The features touched since the last call, with the scalars of the model."""
        from thresher.online import dual_rounds

        with self._lock:
            return dual_rounds.changes(self, self._loop)

    def apply_changes(self, state: dict[str, NDArray[Any]]) -> None:
        """Set the model to that of the engine with these changes, if all others are made already."""
        from thresher.online import dual_rounds

        with self._lock:
            dual_rounds.apply_changes(self, self._loop, state)

    def mean_of_duals(self, touched: list[Any], shares: list[float]) -> tuple[Any, ...]:
        """The mean of the features that workers touched: keys, occurrences and sums."""
        with self._lock:
            return _native.mean_of_duals(self._loop, touched, shares)

    def forget_scores(self) -> None:
        """Begin new scores."""
        self.scores = Scores(get_loss(self.settings.loss), self.settings.outputs)
        labels = self.settings.multilabel
        self.recent = RecentMargins(get_loss(self.settings.loss), self.settings.outputs, labels=labels)


def unpickle_engine(settings: OnlineSettings, packed: dict[str, Any]) -> OnlineEngine:
    """Restore a pickled engine."""
    from thresher.online.engine_state import densify

    return OnlineEngine.from_state(settings, densify(packed))


def _loop_settings(settings: OnlineSettings) -> dict[str, Any]:
    """The keyword arguments of the native loop."""
    loss = get_loss(settings.loss)
    step = settings.step_rule
    if settings.sketch is None and settings.method != "iht" and not settings.budgeted:
        raise SettingsError(f"{settings.method} needs a sketch: pass `sketch`, its rows and its width")
    rows, width = settings.sketch or (1, settings.spill_width if settings.spills else 1)
    gathers = settings.method == "batch-iht"
    return settings.by_name() | {
        "store": _store(settings),
        "outputs": _outputs(settings),
        "lanes": settings.outputs,
        "split": settings.per_class and settings.outputs > 1,
        "loss": loss.part,
        "delta": loss.delta,
        "rule": step.rule,
        "rate": step.rate,
        "intercept": settings.fit_intercept,
        "minibatch": _NO_ROW_LIMIT if gathers and settings.minibatch == 1 else settings.minibatch,
        "gather": rows * width if gathers else 0,
        "fade": settings.decay,
        "rows": rows,
        "width": width,
        "eta": settings.native_eta,
        "lam": settings.lam or 0.0,
        "smoothing": settings.delta,
        "naive": settings.truncation == "naive",
        "factor": settings.loss_factor,
        "most_bytes": settings.room,
        "keep_names": settings.names_seen,
        "most_name_bytes": settings.name_room,
        "groups": settings.native_groups,
    }


def _outputs(settings: OnlineSettings) -> str:
    loss = get_loss(settings.loss)
    if loss.task == "classes":
        return "rest" if loss.rest else "softmax"
    return "many" if settings.multilabel else "one"


def _store(settings: OnlineSettings) -> str:
    if settings.budgeted:
        return settings.method + ("-sketch" if settings.approximate else "-spill" if settings.spills else "")
    if settings.method == "hashing":
        return "hashed"
    if settings.method != "mission":
        return "forget"
    return "exact" if settings.active == "exact" else "estimates"
