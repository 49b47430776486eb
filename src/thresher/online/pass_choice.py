"""How many passes help: after each one, the features kept are scored on held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core import container
from thresher.core.batch import Batch
from thresher.core.losses import get_loss
from thresher.online.engine import OnlineEngine
from thresher.online.result import Selected
from thresher.refit import Columns, held_out_loss
from thresher.sources.base import Source
from thresher.sources.transforms.holdout import HeldOut, Split

#: The most passes, and the number of passes without a better score after which no more follow.
MOST_PASSES, PATIENCE = 20, 2
#: The share of held-out rows, for data of fewer or more than `_FEW_BYTES`.
_SHARE, _SHARE_OF_FEW, _FEW_BYTES = 0.1, 0.2, 8 << 20
#: Larger data is read once; its share is smaller, and at most this many rows of it are used.
LARGE_BYTES, _SHARE_OF_LARGE, _ROWS_OF_LARGE = 64 << 20, 0.02, 2000
#: Fewer held-out rows say nothing.
_LEAST_ROWS = 10
#: Bytes of a feature and of a row while the rows are gathered, and of a feature in a file of text.
_FEATURE_BYTES, _ROW_BYTES, _TEXT_BYTES = 24, 64, 8


class HeldRows:
    """The rows that passes and the refit are compared on.

    Attributes
    ----------
    share : float
        The share of rows that are held out.
    large : bool
        Whether the data is large: it is then read once.
    batches : list of Batch
        The held-out rows, with encoded targets.
    """

    def __init__(self, source: Source, seed: int, room: int) -> None:
        size = source.total_bytes
        self.large = size is not None and size > LARGE_BYTES
        few = size < _FEW_BYTES if size is not None else (source.total_rows or 0) < 10_000
        self.share = _SHARE_OF_LARGE if self.large else _SHARE_OF_FEW if few else _SHARE
        self.seed = seed
        self.room = room
        self.batches: list[Batch] = []

    def split(self, source: Source, *, held: bool) -> Source:
        """The held-out rows of a source, or all others."""
        return HeldOut(source, self.share, held=held, seed=self.seed, split=Split.VALIDATION)

    def read(self, source: Source, encode: Callable[..., NDArray[np.float64]]) -> None:
        """Read the held-out rows, as many as fit."""
        used = features = 0
        for batch, cursor in (held := self.split(source, held=True)).batches():
            used += _FEATURE_BYTES * batch.nnz + _ROW_BYTES * len(batch)
            if used > self.room or (self.large and self.rows >= _ROWS_OF_LARGE):
                self.large = True
                break
            if len(batch):
                y = encode(batch, lambda row, c=cursor, b=batch: held.where(c, b, row))
                self.batches.append(Batch(batch.indptr, batch.keys, batch.values, y=y, weight=batch.weight))
                features += batch.nnz
        self.large |= _TEXT_BYTES * features > self.share * LARGE_BYTES

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(map(len, self.batches))

    @property
    def usable(self) -> bool:
        """Whether there are enough rows, and two of them differ in their target."""
        if self.rows < _LEAST_ROWS:
            return False
        y = np.concatenate([np.asarray(batch.y).ravel() for batch in self.batches])
        return bool((y != y[0]).any())

    def columns(self, keys: NDArray[np.uint64]) -> Columns:
        """The columns of these features."""
        return Columns.of(self.batches, keys)


class PassChoice:
    """Scores every pass on the held-out rows, and keeps the features of the best one.

    It keeps the selected features of that pass, not an engine: learning goes on from the last one.
    """

    def __init__(self, held: HeldRows, most: int) -> None:
        self.held = held
        self.most = 1 if held.large else most
        self.losses: list[float] = []
        self.best: Selected | None = None

    def add(self, engine: OnlineEngine) -> None:
        """Score the features that the engine keeps after a pass."""
        selected = engine.selected()
        loss = self.loss_of(engine, selected)
        if not self.losses or loss < min(self.losses):
            self.best = selected
        self.losses.append(loss)

    def loss_of(self, engine: OnlineEngine, selected: Selected) -> float:
        """The held-out loss of a selection."""
        rows = self.held.columns(selected.keys)
        margins = rows.margins(selected.weights, selected.intercept)
        return held_out_loss(get_loss(engine.settings.loss), margins, rows.y, rows.weight)

    @property
    def best_pass(self) -> int:
        """The number of the best pass, from 1; 0 before the first."""
        return int(np.argmin(self.losses)) + 1 if self.losses else 0

    @property
    def finished(self) -> bool:
        """Whether another pass is not worth it."""
        done = len(self.losses)
        return done >= self.most or (done > 0 and done - self.best_pass >= PATIENCE)

    def state(self) -> dict[str, NDArray[Any]]:
        """The scores and the best selection, as arrays."""
        state: dict[str, NDArray[Any]] = {"choice_losses": np.array(self.losses)}
        if self.best is not None:
            offsets, text = container.pack_strings(self.best.names)
            parts = self.best._asdict() | {"name_offsets": offsets, "name_text": text}
            state |= {f"choice_{name}": part for name, part in parts.items() if name != "names"}
        return state

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        """Continue from a `state`; KeyError or ValueError if it does not fit."""
        self.losses = [float(loss) for loss in state["choice_losses"]]
        if not self.losses:
            return
        names = container.unpack_strings(state["choice_name_offsets"], state["choice_name_text"])
        found = {name: state[f"choice_{name}"] for name in Selected._fields if name != "names"}
        if len({len(names), len(found["keys"]), len(found["counts"]), found["weights"].shape[-1]}) > 1:
            raise ValueError("the best selection has columns of different lengths")
        self.best = Selected(**found, names=names)


