"""Several settings that learn from the same rows, side by side: steps without tuning, and a count of features by λ."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch
from thresher.errors import DataError, SettingsError
from thresher.online.dual_state import History
from thresher.online.engine import OnlineEngine, Selected
from thresher.online.pickling import freeze, thaw
from thresher.online.settings import THRESHOLDED, OnlineSettings

#: The first selection among the runners is after so many rows, the next after twice as many, and so on.
FIRST_HEAT = 200
_STEPS = tuple(10.0 ** (p / 2) for p in range(-10, 2))
_DECAYS = (0.0, 1e-4, 1e-2)
#: From values of a thousandth to raw counts: λ is in the unit of the gradients.
_LADDER = tuple(10.0 ** (p / 2) for p in range(-12, 13))


def candidates(settings: OnlineSettings) -> list[OnlineSettings]:
    """What runs against each other: what the user said stays as it is."""
    plain = replace(settings, tune=False)
    if settings.method in THRESHOLDED and settings.lam is None:
        return [replace(plain, lam=lam) for lam in _LADDER]
    steps = (None, *_STEPS) if settings.eta is None else (settings.eta,)
    decays = (0.0,) if settings.method == "sofs" else _DECAYS if settings.lam is None else (settings.lam,)
    return [
        replace(plain, eta=eta, lam=lam)
        for eta in steps
        for lam in decays
        if not (settings.method == "ofs" and eta is not None and eta * lam >= 1)
    ]


class Race:
    """An engine of engines, with settings that differ in eta and lam.

    After 200, 400, 800, … rows the worse half leaves: by the mean loss of the rows predicted since the last time
    (before they were learned), or where a number of features is wanted of a soft threshold, by how far each is
    from it. Where batches end changes nothing.
    """

    def __init__(self, settings: OnlineSettings) -> None:
        self.settings = settings
        self.runners = [OnlineEngine(runner) for runner in candidates(settings)]
        self._before = [(0.0, 0.0)] * len(self.runners)  # (weight, loss) at the last selection
        self._heat = FIRST_HEAT
        self._rows = 0

    @property
    def counting(self) -> bool:
        """Whether runners are compared by their number of features."""
        return self.settings.method in THRESHOLDED and self.settings.lam is None

    @property
    def rows(self) -> int:
        """Rows learned so far."""
        return self._rows

    @property
    def leader(self) -> OnlineEngine:
        """The best as things stand."""
        return self.runners[self._order()[0]]

    def step(self, batch: Batch) -> None:
        """Learn from every row of a batch, in order; as `OnlineEngine.step`."""
        at = 0
        while at < len(batch):
            end = min(len(batch), at + 256, at + self._heat - self._rows)
            part = batch.take(slice(at, end))
            part = replace(part, y=None if batch.y is None else batch.y[at:end])
            interrupted = self._advance(part, at)
            self._rows += end - at
            at = end
            if self._rows == self._heat:
                self._select()
            if interrupted:
                raise KeyboardInterrupt
        self._check_room()

    def _advance(self, part: Batch, at: int) -> bool:
        """Let every runner learn the same rows; who stumbles is out, unless nobody is left."""
        interrupted = False
        fallen: list[int] = []
        for i, runner in enumerate(self.runners):
            begin = runner.rows
            while runner.rows - begin < len(part):
                done = runner.rows - begin
                rest = replace(part.take(slice(done, len(part))), y=None if part.y is None else part.y[done:])
                try:
                    runner.step(rest)
                except KeyboardInterrupt:
                    interrupted = True  # all others have to come as far first
                except DataError as error:
                    if len(error.args) != 2:
                        raise
                    if len(fallen) == len(self.runners) - 1:
                        raise DataError(error.args[0], at + done + error.args[1]) from None
                    fallen.append(i)
                    break
        self._keep([i for i in range(len(self.runners)) if i not in fallen])
        return interrupted

    def _keep(self, which: list[int]) -> None:
        self.runners = [self.runners[i] for i in which]
        self._before = [self._before[i] for i in which]

    def _order(self) -> list[int]:
        """The numbers of the runners, best first; of equal ones the earlier."""
        if self.counting:
            counts = [runner.count() for runner in self.runners]
            k = self.settings.k
            if len(self.runners) > 1 and self._rows < self._heat:  # at the end: who has just enough, then who has most
                return sorted(range(len(counts)), key=lambda i: (counts[i] < k, abs(counts[i] - k)))
            return sorted(range(len(counts)), key=lambda i: abs(math.log((counts[i] + 1) / (k + 1))))
        return sorted(range(len(self.runners)), key=self._recent_loss)

    def _recent_loss(self, i: int) -> float:
        weight, loss = self.runners[i].scores.sums
        before = self._before[i]
        mean = (loss - before[1]) / (weight - before[0]) if weight > before[0] else math.inf
        return mean if math.isfinite(mean) else math.inf

    def _select(self) -> None:
        left = max(3 if self.counting else 1, (len(self.runners) + 1) // 2)
        self._keep(sorted(self._order()[:left]))
        self._before = [runner.scores.sums for runner in self.runners]
        self._heat *= 2

    def _check_room(self) -> None:
        taken = sum(runner.seen[1] for runner in self.runners)
        allowed = self.settings.room + self.settings.name_room
        if 0 < allowed < taken:
            raise SettingsError(
                f"{len(self.runners)} settings learn side by side, and what they know of the features seen takes "
                f"{taken} bytes together, more than the {allowed} that the memory leaves: give more memory, "
                "or say what eta and lam are to be."
            )

    # ── as an engine ─────────────────────────────────────────────────────────────────────────────

    @property
    def waiting(self) -> bool:
        """Whether there is a mini-batch that is not full yet."""
        return self.leader.waiting

    def flush(self) -> None:
        """Learn from a mini-batch that is not full yet."""
        for runner in self.runners:
            runner.flush()

    def margins(self, batch: Batch) -> NDArray[np.float64]:
        """What the leader says of each row."""
        return self.leader.margins(batch)

    def selected(self, k: int | None = None) -> Selected:
        """The features of the leader."""
        return self.leader.selected(k)

    def progressive(self, *, flip_sign: bool = False) -> dict[str, float]:
        """How well the leader predicted."""
        return self.leader.progressive(flip_sign=flip_sign)

    @property
    def history(self) -> History:
        """What the leader kept when."""
        return self.leader.history

    @property
    def seen(self) -> tuple[int, int]:
        """Features the leader knows, and the bytes of all runners."""
        return self.leader.seen[0], sum(runner.seen[1] for runner in self.runners)

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything the race has come to, as arrays."""
        nan = math.nan
        state: dict[str, NDArray[Any]] = {
            "race": np.array([self._rows, self._heat], np.float64),
            "race_runners": np.array(
                [
                    [
                        nan if r.settings.eta is None else r.settings.eta,
                        nan if r.settings.lam is None else r.settings.lam,
                    ]
                    for r in self.runners
                ]
            ),
            "race_before": np.array(self._before),
        }
        for i, runner in enumerate(self.runners):
            state |= {f"runner{i}_{name}": array for name, array in runner.state().items()}
        return state

    @classmethod
    def from_state(cls, settings: OnlineSettings, state: dict[str, NDArray[Any]]) -> Self:
        """A race that goes on exactly where the one that gave ``state`` stood."""
        race = cls(settings)
        race._rows, race._heat = (int(value) for value in state["race"])
        race._before = [(float(a), float(b)) for a, b in state["race_before"]]
        plain = replace(settings, tune=False)
        race.runners = []
        for i, (eta, lam) in enumerate(state["race_runners"].tolist()):
            chosen = replace(plain, eta=None if math.isnan(eta) else eta, lam=None if math.isnan(lam) else lam)
            prefix = f"runner{i}_"
            part = {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}
            race.runners.append(OnlineEngine.from_state(chosen, part))
        return race

    def merge(self, other: Any) -> None:
        """Races cannot be merged."""
        raise SettingsError("settings that still race cannot be merged: say what eta and lam are to be")

    def __reduce__(self) -> tuple[Any, ...]:
        return thawed_race, (self.settings, freeze(self.state()))


def thawed_race(settings: OnlineSettings, frozen: dict[str, Any]) -> Race:
    """A race from what was pickled of it."""
    return Race.from_state(settings, thaw(frozen))
