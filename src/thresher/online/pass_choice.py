"""How many passes help: after each one, the features kept are scored on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch
from thresher.core.losses import get_loss
from thresher.core.scores.metrics import Scores
from thresher.core.storage import container
from thresher.online.engine import OnlineEngine
from thresher.online.result import Selected
from thresher.online.settings import OnlineSettings
from thresher.refit import (
    ColumnReader,
    Columns,
    Model,
    Refit,
    choose_refit,
    clearly_better,
    fit_all,
    held_out_loss,
    read_columns,
    row_losses,
)
from thresher.selection.calibration import Calibration
from thresher.sources.base import Source
from thresher.sources.transforms.holdout import Split, hold_out

#: The most passes, and the number of passes without a better score after which no more follow. The scores of fewer rows
#: go up and down by chance: they get all passes.
MOST_PASSES, PATIENCE, _ROWS_FOR_PATIENCE = 20, 2, 100
#: The share of held-out rows, for data of fewer or more than `_FEW_BYTES`.
_SHARE, _SHARE_OF_FEW, _FEW_BYTES = 0.1, 0.2, 8 << 20
#: Larger data is read once; its share is smaller, and at most this many rows of it are used.
LARGE_BYTES, _SHARE_OF_LARGE, _ROWS_OF_LARGE = 64 << 20, 0.02, 2000
#: Fewer held-out rows say nothing; fewer do not calibrate probabilities that a loss has by itself.
_LEAST_ROWS, _ENOUGH_TO_CALIBRATE = 10, 200
#: The learned weights replace a refit that is worse by this number of standard errors: theirs is the least loss of up
#: to `MOST_PASSES` passes, and the weights that follow from all rows are others.
_ERRORS = 2.0
#: Bytes of a feature and of a row while the rows are gathered, and of a feature in a file of text.
_FEATURE_BYTES, _ROW_BYTES, _TEXT_BYTES = 24, 128, 8


class ValidationRows:
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
        training, others = hold_out(source, self.share, seed=self.seed, split=Split.VALIDATION)
        return others if held else training

    def read(self, source: Source, encode: Callable[..., NDArray[np.float64]]) -> None:
        """Read the held-out rows, as many as fit."""
        used = features = 0
        for whole, cursor in (held := self.split(source, held=True)).batches():
            # Row by row, so that the rows that fit do not depend on the batches.
            ends = used + _FEATURE_BYTES * whole.indptr[1:] + _ROW_BYTES * np.arange(1, len(whole) + 1)
            most = max(0, _ROWS_OF_LARGE - self.rows) if self.large else len(whole)
            fit = min(most, int(np.searchsorted(ends, self.room, side="right")))
            batch = whole if fit == len(whole) else whole.take(slice(0, fit))
            if len(batch):
                used = int(ends[len(batch) - 1])
                y = encode(batch, lambda row, c=cursor, b=batch: held.where(c, b, row))
                self.batches.append(Batch(batch.indptr, batch.keys, batch.values, y=y, weight=batch.weight))
                features += batch.nnz
            if len(batch) < len(whole):
                self.large = True
                break
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
        reader = ColumnReader(keys, 1)
        for batch in self.batches:
            reader.add(batch, np.asarray(batch.y))
        return reader.read()


class PassChoice:
    """Scores every pass on the held-out rows, keeps the features of the best one, and fits features once more.

    It keeps the selected features of that pass, not an engine. If the number of passes is set, the last one counts.
    When the choice is made, all rows are learned anew with that number of passes, the held-out ones included. Some
    methods find other features then, at times poor ones: if these predict the held-out rows worse than those of the
    best pass, which did not learn them, the latter stay. Large data, of which few rows are held out, is not learned
    again.

    Attributes
    ----------
    final : bool
        Whether all rows are being learned.
    kept_best : bool
        Whether the features of the best pass are the answer, although all rows were learned.

    Parameters
    ----------
    saved : mapping
        The `choice_state` to continue from.
    """

    def __init__(
        self, held: ValidationRows, settings: OnlineSettings, saved: Mapping[str, NDArray[Any]] | None = None
    ) -> None:
        self.held = held
        self.settings = settings
        self.automatic = settings.passes == "auto"
        self.most = (1 if held.large else MOST_PASSES) if self.automatic else settings.passes_set
        self.final = False
        self.losses: list[float] = []
        self.best: Selected | None = None
        self.refitted: Refit | None = None
        self.used_refit = False
        self.kept_best = False
        self.scores: Scores | None = None
        if saved:
            self._restore(saved)

    def add(self, engine: OnlineEngine) -> None:
        """Score the features that the engine keeps after a pass."""
        selected = engine.selected()
        rows = self.held.columns(selected.keys)
        margins = rows.margins(selected.weights, selected.intercept)
        loss = held_out_loss(self.model.loss, margins, rows.y, rows.weight)
        if not (self.automatic and self.losses) or loss < min(self.losses):
            self.best = selected
        self.losses.append(loss)

    @property
    def model(self) -> Model:
        """The form of the model."""
        settings = self.settings
        return Model(get_loss(settings.loss), settings.outputs, settings.multilabel, settings.fit_intercept)

    @property
    def best_pass(self) -> int:
        """The number of the pass whose features are taken, from 1; 0 before the first."""
        return int(np.argmin(self.losses)) + 1 if self.losses and self.automatic else len(self.losses)

    @property
    def most_passes(self) -> int:
        """The number of passes over the rows that are learned now, or the most that may follow."""
        return self.best_pass if self.final else self.most

    @property
    def learns_again(self) -> bool:
        """Whether all rows are learned anew once the number of passes is chosen."""
        return not self.final and not self.held.large

    def choose(
        self,
        found: Selected | None,
        source: Callable[[str], Source],
        encode: Callable[..., NDArray[np.float64]],
        room: int,
    ) -> tuple[Selected, Calibration | None]:
        """The features found in all rows (None: those of the best pass) or their refit, and the calibration.

        A refit is the answer unless the weights that the method learned are clearly better. Whether to refit, with
        which penalty, and the calibration follow from the best pass over the training rows and from the held-out rows.
        ``source`` gives the rows for a phase of this name.
        """
        assert self.best is not None
        selected, model = self.best, self.model
        held = self.held.columns(selected.keys)
        margins = held.margins(selected.weights, selected.intercept)
        if found is not None and self._worse(found, selected, 1.0):
            found, self.kept_best = selected, True
        if self.settings.refits and len(selected.keys):
            training = self.held.split(source("choosing a penalty"), held=False)
            self.refitted = choose_refit(
                read_columns(training, selected.keys, encode, room, model.outputs), held, model, units=(True, False)
            )
            refitted = self.refitted and selected._replace(
                weights=self.refitted.weights, intercept=self.refitted.intercept
            )
            if (
                refitted
                and self.refitted
                and (self.settings.refit is True or not self._worse(refitted, selected, _ERRORS))
            ):
                self.used_refit = True
                margins = held.margins(self.refitted.weights, self.refitted.intercept)
                if found is None:  # of large data few rows are held out: they are not fitted
                    found, weights, intercept = selected, self.refitted.weights, self.refitted.intercept
                else:
                    rows = read_columns(
                        source("refitting the selected features"), found.keys, encode, room, model.outputs
                    )
                    weights, intercept = fit_all(rows, self.refitted.penalty, model, shared=self.refitted.shared)
                exact = np.zeros(len(found.keys))
                found = found._replace(weights=weights, intercept=intercept, errors=exact).by_weight(
                    None, self.settings.pinned_keys
                )
        selected = selected if found is None else found
        self.scores = Scores(model.loss, model.outputs)
        self.scores.add(margins, held.y, held.weight)
        if model.loss.task == "real":
            return selected, None
        if self.held.rows < _ENOUGH_TO_CALIBRATE and model.loss.part in ("logistic", "softmax"):
            return selected, None  # these losses have probabilities of their own, better than those that few rows give
        if self.used_refit and model.kind != "rest":
            # The penalty is the best one for the log loss of these rows. A function fitted to their margins, which are
            # those of a fit of fewer rows, made the probabilities of new rows worse.
            own = Calibration.of_own_probabilities(model.fitted_loss, margins, held.y, held.weight)
            return selected, own.bent(margins, held.y, held.weight)
        fitted = Calibration.fit(model.loss, margins, held.y, held.weight)
        return selected, fitted.bent(margins, held.y, held.weight)

    def _worse(self, one: Selected, other: Selected, errors: float) -> bool:
        """Whether the first predicts the held-out rows worse than the second, by more than some standard errors."""
        losses = []
        for model in (one, other):
            rows = self.held.columns(model.keys)
            margins = rows.margins(model.weights, model.intercept)
            losses.append(row_losses(self.model.loss, margins, rows.y, rows.weight, self.model.multilabel)[0])
        return clearly_better(losses[1], losses[0], rows.weight, errors)

    def facts(self, *, flip_sign: bool) -> dict[str, Any]:
        """What was chosen and why, for the provenance."""
        facts: dict[str, Any] = {"passes": {"losses": self.losses, "best": self.best_pass, "share": self.held.share}}
        if self.kept_best:
            facts["passes"]["kept_best"] = True
        if self.scores is not None:
            facts["validation"] = self.scores.result(flip_sign=flip_sign)
        if self.refitted is not None:
            score = {
                "loss": self.refitted.score,
                "penalty": self.refitted.penalty,
                "shared_unit": self.refitted.shared,
            }
            facts["refit"] = {"used": self.used_refit, **score}
        return facts

    @property
    def finished(self) -> bool:
        """Whether another pass is not worth it."""
        done = len(self.losses)
        patience = PATIENCE if self.held.rows >= _ROWS_FOR_PATIENCE else MOST_PASSES
        return done >= self.most or (done > 0 and done - self.best_pass >= patience)

    def state(self) -> dict[str, NDArray[Any]]:
        """The scores and the best selection, as arrays."""
        state: dict[str, NDArray[Any]] = {
            "choice_losses": np.array(self.losses),
            "choice_final": np.array([self.final], np.int64),
        }
        if self.best is not None:
            offsets, text = container.pack_strings(self.best.names)
            parts = self.best._asdict() | {"name_offsets": offsets, "name_text": text}
            state |= {f"choice_{name}": part for name, part in parts.items() if name != "names"}
        return state

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self.losses = [float(loss) for loss in state["choice_losses"]]
        self.final = bool(state["choice_final"][0])
        if self.losses:
            names = container.unpack_strings(state["choice_name_offsets"], state["choice_name_text"])
            found = {name: state[f"choice_{name}"] for name in Selected._fields if name != "names"}
            self.best = Selected(**found, names=names)


def choice_state(state: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The part of a saved state that is a choice; KeyError or ValueError if it is none."""
    found = {name: array for name, array in state.items() if name.startswith("choice_")}
    if not found:
        return found
    losses, final = found["choice_losses"], found["choice_final"]
    if losses.ndim != 1 or final.shape != (1,) or (final[0] and not len(losses)):
        raise ValueError("no pass was scored before all rows were learned")
    if len(losses):
        names = container.unpack_strings(found["choice_name_offsets"], found["choice_name_text"])
        parts = {name: found[f"choice_{name}"] for name in Selected._fields if name != "names"}
        if len({len(names), len(parts["keys"]), len(parts["counts"]), parts["weights"].shape[-1]}) > 1:
            raise ValueError("the best selection has columns of different lengths")
    return found
