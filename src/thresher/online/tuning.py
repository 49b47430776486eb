"""Tuning by successive halving: several settings learn from the same rows, and the worse half is dropped repeatedly."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch
from thresher.core.running_units import UnitChange
from thresher.errors import DataError, SettingsError
from thresher.online.dual_state import History
from thresher.online.engine import OnlineEngine, StateFullError
from thresher.online.engine_state import densify, sparsify
from thresher.online.result import Selected
from thresher.online.settings import THRESHOLDED, OnlineSettings

#: The most candidates that note which features they keep.
_GATHERING = 3
#: The first round ends after this number of rows; every further round doubles the rows seen.
FIRST_ROUND = 200
#: The most rows that candidates learn one after the other, and the share of their memory that all features of these
#: rows may take, at this many bytes each, if all are new.
_PART_ROWS, _PART_SHARE, _SEEN_BYTES = 256, 16, 128
_ETAS = tuple(10.0 ** (p / 2) for p in range(-10, 2))
_L2_PENALTIES = (0.0, 1e-4, 1e-2)
#: λ has the unit of the gradients: this covers features from thousandths to raw counts.
_L1_PENALTIES = tuple(10.0 ** (p / 2) for p in range(-12, 13))


def candidate_settings(settings: OnlineSettings) -> list[OnlineSettings]:
    """The grid of eta and lam; a value that the user set is not varied."""
    plain = replace(settings, tune=False)
    if settings.method in THRESHOLDED and settings.lam is None:
        return [replace(plain, lam=lam) for lam in _L1_PENALTIES]
    etas = (None, *_ETAS) if settings.eta is None else (settings.eta,)
    lams = (0.0,) if settings.method == "sofs" else _L2_PENALTIES if settings.lam is None else (settings.lam,)
    return [
        replace(plain, eta=eta, lam=lam)
        for eta in etas
        for lam in lams
        if not (settings.method == "ofs" and eta is not None and eta * lam >= 1)
    ]


class SuccessiveHalving:
    """Engines with different eta and lam that learn side by side, behind the interface of `OnlineEngine`.

    After 200, 400, 800, … rows the worse half is dropped. Candidates are ranked by their mean loss on the rows of the
    round, each predicted before it was learned. With a soft threshold and no ``lam``, they are ranked by how close
    their number of features is to ``k``. The result does not depend on the batches.
    """

    def __init__(self, settings: OnlineSettings) -> None:
        self.settings = settings
        self._lock = threading.RLock()
        self.candidates = [OnlineEngine(candidate) for candidate in candidate_settings(settings)]
        self._round_start = [(0.0, 0.0)] * len(self.candidates)  # sums of (weight, loss)
        self._round_end = FIRST_ROUND
        self._rows = 0
        self._gather()

    @property
    def ranks_by_count(self) -> bool:
        """Whether candidates are ranked by their number of features."""
        return self.settings.method in THRESHOLDED and self.settings.lam is None

    @property
    def rows(self) -> int:
        """Rows learned so far."""
        return self._rows

    @property
    def best(self) -> OnlineEngine:
        """The best candidate so far."""
        with self._lock:
            return self.candidates[self._order()[0]]

    def step(self, batch: Batch) -> None:
        """Learn from every row of a batch, in order; see `OnlineEngine.step`."""
        with self._lock:
            at = 0
            while at < len(batch):
                end = self._part_end(batch, at)
                part = batch.take(slice(at, end))
                part = replace(part, y=None if batch.y is None else batch.y[at:end])
                interrupted = self._advance(part, at)
                self._rows += end - at
                at = end
                if self._rows == self._round_end:
                    self._halve()
                if interrupted:
                    raise KeyboardInterrupt

    def _part_end(self, batch: Batch, at: int) -> int:
        """The end of the rows from ``at`` on that candidates learn one after the other, before memory is checked."""
        end = min(len(batch), at + _PART_ROWS, at + self._round_end - self._rows)
        if allowed := self.settings.room + self.settings.name_room:
            features = allowed // (_PART_SHARE * _SEEN_BYTES * len(self.candidates))
            fit = int(np.searchsorted(batch.indptr, batch.indptr[at] + features, side="right")) - 1
            end = min(end, max(at + 1, fit))
        return end

    def _advance(self, part: Batch, at: int) -> bool:
        """Let every candidate learn the same rows, and drop those that diverge; raise if all do."""
        interrupted = False
        diverged: list[int] = []
        used = self._used()
        for i, candidate in enumerate(self.candidates):
            begin, used = candidate.rows, used - candidate.seen[1]
            while candidate.rows - begin < len(part):
                done = candidate.rows - begin
                rest = replace(part.take(slice(done, len(part))), y=None if part.y is None else part.y[done:])
                try:
                    candidate.step(rest)
                except KeyboardInterrupt:
                    interrupted = True  # raised once all candidates have learned the same rows
                except DataError as error:
                    if len(error.args) != 2:
                        raise
                    if len(diverged) == len(self.candidates) - 1:
                        raise DataError(error.args[0], at + done + error.args[1]) from None
                    diverged.append(i)
                    break
            # Here, not after all of them: their tables double at about the same row.
            used += candidate.seen[1]
            self._check_memory(used)
        self._keep([i for i in range(len(self.candidates)) if i not in diverged])
        return interrupted

    def _keep(self, which: list[int]) -> None:
        self.candidates = [self.candidates[i] for i in which]
        self._round_start = [self._round_start[i] for i in which]
        self._gather()

    def _gather(self) -> None:
        """Few candidates note which features they keep, for the history of the best; many would take much memory."""
        for candidate in self.candidates:
            candidate.gathers_kept = len(self.candidates) <= _GATHERING

    def _order(self) -> list[int]:
        """Indices of the candidates, best first; ties go to the earlier one."""
        if self.ranks_by_count:
            counts = [candidate.count() for candidate in self.candidates]
            k = self.settings.k
            if len(self.candidates) > 1 and self._rows < self._round_end:
                # At the end: the smallest count of at least k, or else the largest below it.
                return sorted(range(len(counts)), key=lambda i: (counts[i] < k, abs(counts[i] - k)))
            return sorted(range(len(counts)), key=lambda i: abs(math.log((counts[i] + 1) / (k + 1))))
        return sorted(range(len(self.candidates)), key=self._round_loss)

    def _round_loss(self, i: int) -> float:
        weight, loss = self.candidates[i].scores.sums
        start = self._round_start[i]
        mean = (loss - start[1]) / (weight - start[0]) if weight > start[0] else math.inf
        return mean if math.isfinite(mean) else math.inf

    def _halve(self) -> None:
        kept = max(3 if self.ranks_by_count else 1, (len(self.candidates) + 1) // 2)
        self._keep(sorted(self._order()[:kept]))
        self._round_start = [candidate.scores.sums for candidate in self.candidates]
        self._round_end *= 2

    def _used(self) -> int:
        """Bytes of the features that the candidates saw."""
        return sum(candidate.seen[1] for candidate in self.candidates)

    def _check_memory(self, used: int) -> None:
        allowed = self.settings.room + self.settings.name_room
        if 0 < allowed < used:
            raise StateFullError(
                f"the features seen by {len(self.candidates)} settings side by side take {used} bytes, more than the "
                f"{allowed} that memory leaves for them: pass more `memory`, or set `eta` and `lam`."
            )

    # ── the interface of an engine ───────────────────────────────────────────────────────────────

    @property
    def waiting(self) -> bool:
        """Whether there is an incomplete mini-batch."""
        return self.best.waiting

    def flush(self) -> None:
        """Learn from an incomplete mini-batch."""
        with self._lock:
            for candidate in self.candidates:
                candidate.flush()

    def change_units(self, change: UnitChange) -> None:
        """Go on with features in other units."""
        with self._lock:
            for candidate in self.candidates:
                candidate.change_units(change)

    def end_pass(self) -> None:
        """Note the end of a pass."""
        for candidate in self.candidates:
            candidate.end_pass()

    def margins(self, batch: Batch) -> NDArray[np.float64]:
        """The margins of the best candidate."""
        return self.best.margins(batch)

    def selected(self, k: int | None = None) -> Selected:
        """The features of the best candidate."""
        return self.best.selected(k)

    def progressive(self, *, flip_sign: bool = False) -> dict[str, float]:
        """The progressive scores of the best candidate."""
        return self.best.progressive(flip_sign=flip_sign)

    @property
    def history(self) -> History:
        """The history of the best candidate."""
        return self.best.history

    @property
    def seen(self) -> tuple[int, int]:
        """The number of features that the best candidate has seen, and the bytes of all candidates."""
        with self._lock:
            return self.best.seen[0], sum(candidate.seen[1] for candidate in self.candidates)

    def state(self, *, view: bool = False) -> dict[str, NDArray[Any]]:
        """The complete state, as arrays."""
        with self._lock:
            nan = math.nan
            state: dict[str, NDArray[Any]] = {
                "race": np.array([self._rows, self._round_end], np.float64),
                "race_runners": np.array(
                    [
                        [
                            nan if c.settings.eta is None else c.settings.eta,
                            nan if c.settings.lam is None else c.settings.lam,
                        ]
                        for c in self.candidates
                    ]
                ),
                "race_before": np.array(self._round_start),
            }
            for i, candidate in enumerate(self.candidates):
                state |= {f"runner{i}_{name}": array for name, array in candidate.state(view=view).items()}
            return state

    @classmethod
    def from_state(cls, settings: OnlineSettings, state: dict[str, NDArray[Any]]) -> Self:
        """Continue from a state; the result is the same to the bit."""
        tuner = cls(settings)
        tuner._rows, tuner._round_end = (int(value) for value in state["race"])
        tuner._round_start = [(float(a), float(b)) for a, b in state["race_before"]]
        plain = replace(settings, tune=False)
        tuner.candidates = []
        for i, (eta, lam) in enumerate(state["race_runners"].tolist()):
            chosen = replace(plain, eta=None if math.isnan(eta) else eta, lam=None if math.isnan(lam) else lam)
            prefix = f"runner{i}_"
            part = {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}
            tuner.candidates.append(OnlineEngine.from_state(chosen, part))
        tuner._gather()
        return tuner

    def merge(self, other: Any) -> None:
        """Raise: candidates of several settings cannot be merged."""
        raise SettingsError("engines that are still being tuned cannot be merged: set `eta` and `lam`")

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickle_tuner, (self.settings, sparsify(self.state()))


def unpickle_tuner(settings: OnlineSettings, packed: dict[str, Any]) -> SuccessiveHalving:
    """Restore a pickled `SuccessiveHalving`."""
    return SuccessiveHalving.from_state(settings, densify(packed))
