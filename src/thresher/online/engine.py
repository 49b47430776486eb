"""The engine of the online loop: settings in, batches through, features out. No files, no scikit-learn."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thresher import _native, container
from thresher.batch import Batch
from thresher.errors import DataError, SettingsError
from thresher.losses import get_loss

METHODS = ("mission", "iht")
ACTIVE = ("exact", "sketch")


@dataclass(frozen=True, kw_only=True)
class OnlineSettings:
    """What an online engine is made of.

    Parameters
    ----------
    k : int
        Features kept at every moment.
    method : {"mission", "iht"}
        ``mission``: the k strongest in a table, everything else in a count-sketch, where weak gradients
        add up until they show. ``iht``: exact weights for k features, the rest forgotten (iterative
        hard thresholding).
    loss : str
        See `thresher.losses.Loss`.
    step : "auto" or float
        The step along each example's gradient. ``auto`` is half of what is stable for the longest
        row seen so far, 1 / (2 max ‖x‖²).
    intercept : bool
        Learn a constant too.
    name_cap : int
        Longest name kept, in bytes.
    sketch : (rows, width), optional
        The shape of the count-sketch; ``mission`` needs one (`thresher.memory.make_plan` finds one).
    active : {"exact", "sketch"}
        What the table holds for a kept feature under ``mission``: its exact weight from when it came
        in, or the sketch's estimate, as in the paper.
    seed : int
        Where the sketch's hashes come from.
    """

    k: int
    method: str = "mission"
    loss: str = "logistic"
    step: str | float = "auto"
    intercept: bool = True
    name_cap: int = 256
    sketch: tuple[int, int] | None = None
    active: str = "exact"
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, (int, np.integer)) or self.k < 1:
            raise SettingsError(f"k is the number of features to keep: a whole number from 1 on, not {self.k!r}")
        if self.method not in METHODS:
            raise SettingsError(f"unknown method {self.method!r}: one of {', '.join(METHODS)}")
        get_loss(self.loss)
        if self.step != "auto" and not (isinstance(self.step, (int, float)) and 0 < self.step < float("inf")):
            raise SettingsError(f'step is "auto" or a positive number, not {self.step!r}')
        if self.active not in ACTIVE:
            raise SettingsError(f'active is "exact" or "sketch", not {self.active!r}')
        if self.sketch is not None:
            check_sketch(self.sketch)

    def to_dict(self) -> dict[str, Any]:
        """For files, in what JSON has."""
        return {**asdict(self), "sketch": None if self.sketch is None else list(self.sketch)}


def check_sketch(sketch: tuple[int, int]) -> None:
    """Raise unless this is the shape of a sketch."""
    if len(sketch) != 2 or not (1 <= sketch[0] <= 16 and sketch[1] >= 1 and sketch[0] * sketch[1] < 2**32):
        raise SettingsError(f"a sketch is (rows, width) with 1 to 16 rows and 1 to 2^32 - 1 cells, not {sketch!r}")


class Selected(NamedTuple):
    """The strongest features of an engine, strongest first."""

    keys: NDArray[np.uint64]
    weights: NDArray[np.float64]
    counts: NDArray[np.uint64]
    names: list[bytes]
    bounds: NDArray[np.float64]
    intercept: float


@dataclass(frozen=True, slots=True)
class _Entry:
    """A feature of the table."""

    weight: float
    count: int
    name: bytes


class OnlineEngine:
    """Learns batch by batch; the batches it is cut into make no difference.

    Targets in the batches are what the loss takes (see `thresher.targets.Targets`).
    """

    def __init__(self, settings: OnlineSettings) -> None:
        self.settings = settings
        loss = get_loss(settings.loss)
        common: dict[str, Any] = {
            "k": settings.k,
            "name_cap": settings.name_cap,
            "loss": loss.name,
            "delta": loss.delta,
            "rate": 0.0 if settings.step == "auto" else float(settings.step),
            "intercept": settings.intercept,
        }
        self._sketch: _native.CountSketch | None = None
        self._loop: _native.ExactLoop | _native.SketchLoop
        if settings.method == "iht":
            self._loop = _native.ExactLoop(**common)
        elif settings.sketch is None:
            raise SettingsError("mission needs the shape of its sketch: sketch=(rows, width)")
        else:
            rows, width = settings.sketch
            sketched = _native.SketchLoop(
                **common, rows=rows, width=width, seed=settings.seed, exact=settings.active == "exact"
            )
            self._loop, self._sketch = sketched, sketched.sketch

    @property
    def rows(self) -> int:
        """Rows learned so far."""
        return int(self._loop.rows_seen)

    def step(self, batch: Batch) -> None:
        """Learn from every row of a batch, in order.

        Raises `DataError` with the number of the row (in the batch) as its second argument when a
        prediction is not finite. A KeyboardInterrupt leaves the engine between two rows.
        """
        names = batch.names
        if batch.y is None:
            raise DataError("the batch has no targets to learn from.")
        done, margins = self._loop.learn(
            batch.indptr,
            batch.keys,
            batch.values,
            batch.y,
            batch.weight,
            None if names is None else names.words,
            None if names is None else names.text,
            [] if names is None else names.prefixes,
            None if names is None else names.parents,
        )
        if done < len(batch):
            raise DataError(
                f"the prediction became {margins[-1]:g} after {self.rows} rows, and no finite step leads on: "
                "the steps are too long for this data. Scale the features, or pass a smaller step.",
                done,
            )

    def selected(self, k: int | None = None) -> Selected:
        """The ``k`` strongest features (all that are kept, by default)."""
        keys, weights, counts, names = self._loop.rows(self.settings.k if k is None else k)
        # An exact store is off by nothing; a weight that came from a sketch, by what its estimates are off by.
        bound = 0.0 if self._sketch is None else self._sketch.bound()
        return Selected(keys, weights, counts, names, np.full(len(keys), bound), self._loop.intercept)

    def progressive(self) -> dict[str, float]:
        """How well each row was predicted before it was learned."""
        weight, loss, right = self._loop.progressive
        if weight == 0:
            return {}
        if get_loss(self.settings.loss).task == "real":
            return {"loss": loss / weight}
        return {"accuracy": right / weight, "loss": loss / weight}

    def merge(self, other: OnlineEngine) -> None:
        """Take in what another engine of the same settings learned from other rows.

        Weights (and sketches, by linearity) are averaged by the number of rows behind them and
        truncated to k; a feature that one side keeps no weight of counts there with its estimate, or
        zero without a sketch. Counts add up.
        """
        if other.settings != self.settings:
            raise SettingsError("engines of different settings cannot be merged")
        share = self.rows / max(1, self.rows + other.rows)
        mine, theirs = self._table(), other._table()
        keys = np.array(sorted({*mine, *theirs}), np.uint64)
        weights = share * self._weights(keys, mine) + (1.0 - share) * other._weights(keys, theirs)
        order = np.lexsort((keys, -np.abs(weights)))
        kept, left = order[: self.settings.k], order[self.settings.k :]
        state = self.state()
        if self._sketch is not None and other._sketch is not None:
            rows, width = self.settings.sketch or (0, 0)
            merged = _native.CountSketch(rows, width, self.settings.seed)
            merged.merge(other._sketch)
            merged.scale((1.0 - share) / share if share else 1.0)
            merged.merge(self._sketch)
            merged.scale(share if share else 1.0)
            if self.settings.active == "exact":
                merged.add(keys[left], weights[left] - merged.query(keys[left]))
            state["cells"], state["factor"] = merged.cells, np.array([merged.factor])
        both = [(mine.get(key), theirs.get(key)) for key in keys[kept].tolist()]
        names = [next(entry.name for entry in pair if entry is not None) for pair in both]
        counts = [sum(entry.count for entry in pair if entry is not None) for pair in both]
        ours, others = state["scalars"], other.state()["scalars"]
        scalars = ours + others  # rows and progressive sums add up
        scalars[1] = share * ours[1] + (1.0 - share) * others[1]
        scalars[2] = max(ours[2], others[2])
        state["name_offsets"], state["name_text"] = container.pack_strings(names)
        state |= {
            "keys": keys[kept],
            "weights": weights[kept],
            "counts": np.array(counts, np.uint64),
            "scalars": scalars,
        }
        self._restore(state)

    def _table(self) -> dict[int, _Entry]:
        keys, weights, counts, names = self._loop.rows(self.settings.k)
        entries = map(_Entry, weights.tolist(), counts.tolist(), names)
        return dict(zip(keys.tolist(), entries, strict=True))

    def _weights(self, keys: NDArray[np.uint64], table: dict[int, _Entry]) -> NDArray[np.float64]:
        """The weights of these features: from the table, else from the sketch, else zero."""
        weights = np.zeros(len(keys)) if self._sketch is None else self._sketch.query(keys)
        for i, key in enumerate(keys.tolist()):
            if key in table:
                weights[i] = table[key].weight
        return weights

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything the engine knows, as arrays."""
        keys, weights, counts, names = self._loop.rows(self.settings.k)
        offsets, text = container.pack_strings(names)
        loop = self._loop
        scalars = np.array([loop.rows_seen, loop.intercept, loop.longest, *loop.progressive])
        state: dict[str, NDArray[Any]] = {
            "keys": keys,
            "weights": weights,
            "counts": counts,
            "name_offsets": offsets,
            "name_text": text,
            "scalars": scalars,
        }
        if self._sketch is not None:
            state |= {"cells": self._sketch.cells, "factor": np.array([self._sketch.factor])}
        return state

    @classmethod
    def from_state(cls, settings: OnlineSettings, state: dict[str, NDArray[Any]]) -> Self:
        """An engine that goes on exactly where the one that gave ``state`` stood."""
        engine = cls(settings)
        engine._restore(state)
        return engine

    def _restore(self, state: dict[str, NDArray[Any]]) -> None:
        OnlineEngine.__init__(self, self.settings)
        names = container.unpack_strings(state["name_offsets"], state["name_text"])
        keys, weights, counts = (np.ascontiguousarray(state[name]) for name in ("keys", "weights", "counts"))
        self._loop.restore(keys, weights, counts, names)
        rows, self._loop.intercept, self._loop.longest, *sums = state["scalars"].tolist()
        self._loop.rows_seen = int(rows)
        self._loop.progressive = sums
        if self._sketch is not None:
            self._sketch.cells = np.ascontiguousarray(state["cells"])
            self._sketch.factor = float(state["factor"][0])
