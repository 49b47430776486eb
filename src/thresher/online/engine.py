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

METHODS = ("iht",)


@dataclass(frozen=True, kw_only=True)
class OnlineSettings:
    """What an online engine is made of.

    Parameters
    ----------
    k : int
        Features kept at every moment.
    method : {"iht"}
        ``iht``: exact weights for k features, the rest forgotten (iterative hard thresholding).
    loss : str
        See `thresher.losses.Loss`.
    step : "auto" or float
        The step along each example's gradient. ``auto`` is half of what is stable for the longest
        row seen so far, 1 / (2 max ‖x‖²).
    intercept : bool
        Learn a constant too.
    name_cap : int
        Longest name kept, in bytes.
    """

    k: int
    method: str = "iht"
    loss: str = "logistic"
    step: str | float = "auto"
    intercept: bool = True
    name_cap: int = 256

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, (int, np.integer)) or self.k < 1:
            raise SettingsError(f"k is the number of features to keep: a whole number from 1 on, not {self.k!r}")
        if self.method not in METHODS:
            raise SettingsError(f"unknown method {self.method!r}: one of {', '.join(METHODS)}")
        get_loss(self.loss)
        if self.step != "auto" and not (isinstance(self.step, (int, float)) and 0 < self.step < float("inf")):
            raise SettingsError(f'step is "auto" or a positive number, not {self.step!r}')

    def to_dict(self) -> dict[str, Any]:
        """For files."""
        return asdict(self)


class Selected(NamedTuple):
    """The strongest features of an engine, strongest first."""

    keys: NDArray[np.uint64]
    weights: NDArray[np.float64]
    counts: NDArray[np.uint64]
    names: list[bytes]
    bounds: NDArray[np.float64]
    intercept: float


class OnlineEngine:
    """Learns batch by batch; the batches it is cut into make no difference.

    Targets in the batches are what the loss takes (see `thresher.targets.Targets`).
    """

    def __init__(self, settings: OnlineSettings) -> None:
        self.settings = settings
        loss = get_loss(settings.loss)
        self._loop = _native.ExactLoop(
            k=settings.k,
            name_cap=settings.name_cap,
            loss=loss.name,
            delta=loss.delta,
            rate=0.0 if settings.step == "auto" else float(settings.step),
            intercept=settings.intercept,
        )

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
        # An exact store is off by nothing.
        return Selected(keys, weights, counts, names, np.zeros(len(keys)), self._loop.intercept)

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

        Weights are averaged by the number of rows behind them (a feature one side does not keep
        counts as zero there) and truncated to k; counts add up.
        """
        if other.settings != self.settings:
            raise SettingsError("engines of different settings cannot be merged")
        mine, theirs = self.state(), other.state()
        share = self.rows / max(1, self.rows + other.rows)
        features: dict[int, list[Any]] = {}
        for state, part in ((mine, share), (theirs, 1.0 - share)):
            names = container.unpack_strings(state["name_offsets"], state["name_text"])
            for key, weight, count, name in zip(
                state["keys"].tolist(), state["weights"].tolist(), state["counts"].tolist(), names, strict=True
            ):
                entry = features.setdefault(key, [0.0, 0, name])
                entry[0] += part * weight
                entry[1] += count
        ranked = sorted(features.items(), key=lambda item: (-abs(item[1][0]), item[0]))[: self.settings.k]
        offsets, text = container.pack_strings([entry[2] for _, entry in ranked])
        ours, others = mine["scalars"], theirs["scalars"]
        scalars = ours + others  # rows and progressive sums add up
        scalars[1] = share * ours[1] + (1.0 - share) * others[1]
        scalars[2] = max(ours[2], others[2])
        self._restore(
            {
                "keys": np.array([key for key, _ in ranked], np.uint64),
                "weights": np.array([entry[0] for _, entry in ranked], np.float64),
                "counts": np.array([entry[1] for _, entry in ranked], np.uint64),
                "name_offsets": offsets,
                "name_text": text,
                "scalars": scalars,
            }
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything the engine knows, as arrays."""
        keys, weights, counts, names = self._loop.rows(self.settings.k)
        offsets, text = container.pack_strings(names)
        loop = self._loop
        scalars = np.array([loop.rows_seen, loop.intercept, loop.longest, *loop.progressive])
        return {
            "keys": keys,
            "weights": weights,
            "counts": counts,
            "name_offsets": offsets,
            "name_text": text,
            "scalars": scalars,
        }

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
