"""The final fit: the selected features are fitted once more, with an l2 penalty that held-out rows choose.

The features are few, so their columns fit into memory, and the fit is exact: a truncated Newton method minimises

    Σ c_i loss(w'z_i + b, y_i) / Σ c_i + ½ λ ‖w‖²

over all rows (`native/solvers/sparse_refit.hpp`). z are the columns in units: each is divided by the root mean square
of its values, so that the penalty does not depend on the unit of a column, or all sparse columns by that of all their
values, so that the weights of words as they are counted compare. Held-out rows can choose between the two. Columns that
most rows have are always in units of their own, and centred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch
from thresher.core.losses import Loss, get_loss
from thresher.core.scores.metrics import Scores
from thresher.selection.calibration import Calibration
from thresher.sources.base import Source

Floats = NDArray[np.float64]

#: The penalties λ, strongest first. Each fit starts from the one before.
PENALTIES = tuple(10.0 ** (-exponent / 2) for exponent in range(13))
#: A weaker penalty is not tried after this number of fits without a better score.
_PATIENCE = 2
_TOLERANCE, _MAX_STEPS = 1e-4, 50
#: A column that this share of the rows has is centred.
_DENSE = 0.5
#: Bytes of a non-zero, one of its two arrays being joined; of a row besides its outputs; and of each output of a row,
#: with the vectors of the solver.
_ENTRY_BYTES, _ROW_BYTES, _OUTPUT_BYTES = 12, 48, 64
#: The number of non-zeros that are summed at a time.
_SUMMED = 1 << 16


class Columns(NamedTuple):
    """The columns of the selected features, row by row, with encoded targets."""

    indptr: NDArray[np.int64]
    columns: NDArray[np.uint32]
    values: NDArray[np.float32]
    y: Floats
    weight: Floats
    width: int  # the number of columns

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1

    def units(self, *, shared: bool = False) -> tuple[Floats, Floats]:
        """Shift and scale of each column; with ``shared``, one scale for all sparse columns."""
        present, sums, squares = np.zeros((3, self.width))
        for start in range(0, len(self.columns), _SUMMED):
            columns = self.columns[start : start + _SUMMED]
            values = self.values[start : start + _SUMMED].astype(np.float64)
            present += np.bincount(columns, minlength=self.width)
            sums += np.bincount(columns, values, minlength=self.width)
            squares += np.bincount(columns, values**2, minlength=self.width)
        dense = present > _DENSE * self.rows
        shift = np.where(dense, sums / max(1, self.rows), 0.0)
        # A dense column has its standard deviation, a sparse one the root mean square of its non-zeros: a word weighs
        # the same whether it is rare or frequent.
        of_rows = squares / max(1, self.rows) - shift**2
        of_values = squares / np.maximum(1.0, present)
        if shared:
            of_values[:] = squares[~dense].sum() / max(1.0, present[~dense].sum())
        spread = np.where(dense, of_rows, of_values)
        scale = np.sqrt(np.maximum(spread, 0.0))
        negligible = ~(scale > 1e-9 * np.abs(shift)) | ~(scale > 0)
        return np.where(negligible, 0.0, shift), np.where(negligible, 1.0, scale)

    def take(self, which: NDArray[np.intp]) -> Columns:
        """Some of the rows."""
        sizes = np.diff(self.indptr)
        kept = np.zeros(self.rows, np.bool_)
        kept[which] = True
        entries = np.repeat(kept, sizes)
        return Columns(
            np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[which])]),
            self.columns[entries],
            self.values[entries],
            self.y[which],
            self.weight[which],
            self.width,
        )

    def first(self, k: int) -> Columns:
        """The first ``k`` columns."""
        if k >= self.width:
            return self
        stays = self.columns < k
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(stays)])
        return self._replace(indptr=ends[self.indptr], columns=self.columns[stays], values=self.values[stays], width=k)

    def margins(self, weights: Floats, intercept: Floats) -> Floats:
        """w'x + b of each row, as `Selection.margins` computes them."""
        index = _native.KeyIndex(np.arange(self.width, dtype=np.uint64))
        flat = index.margins(
            self.indptr, self.columns.astype(np.uint64), self.values, np.ascontiguousarray(weights).ravel(), intercept
        )
        return flat if len(intercept) == 1 else flat.reshape(-1, len(intercept))


def column_bytes(entries: int, rows: int, outputs: int) -> int:
    """The bytes of columns, with the vectors of a fit."""
    return _ENTRY_BYTES * entries + (_ROW_BYTES + _OUTPUT_BYTES * outputs) * rows


class ColumnReader:
    """Gathers the columns of some features from batches.

    If they take more than ``room`` bytes, every second row goes, chosen by a hash of its number, and so on: the rows
    that stay are a sample of all, in whatever order they come.
    """

    def __init__(self, keys: NDArray[np.uint64], outputs: int, room: int | None = None) -> None:
        self._index = _native.KeyIndex(np.ascontiguousarray(keys))
        self._width, self._room = len(keys), room
        self._outputs = outputs
        self._seen = self._used = self._halvings = 0
        self._parts: list[tuple[NDArray[np.int64], Columns]] = []  # the numbers of the rows, and the rows

    def add(self, batch: Batch, y: Floats) -> None:
        """Add rows with their encoded targets."""
        indptr, positions, where = self._index.keep(batch.indptr, batch.keys)
        weight = np.ones(len(batch)) if batch.weight is None else np.asarray(batch.weight, np.float64)
        values = np.ones(len(where), np.float32) if batch.values is None else batch.values[where]
        numbers = np.arange(self._seen, self._seen + len(batch))
        self._seen += len(batch)
        rows = Columns(indptr, positions.astype(np.uint32), values, np.array(y, np.float64), weight, self._width)
        self._keep(numbers, rows)
        while self._room is not None and self._used > self._room and self._halvings < 63:
            self._halvings += 1
            parts, self._parts, self._used = self._parts[::-1], [], 0
            while parts:
                self._keep(*parts.pop())

    def _keep(self, numbers: NDArray[np.int64], rows: Columns) -> None:
        if self._halvings:
            mixed = _native.mix_keys(numbers.astype(np.uint64))
            stays = np.flatnonzero(mixed >> np.uint64(64 - self._halvings) == 0)
            numbers, rows = numbers[stays], rows.take(stays)
        if len(numbers):
            self._parts.append((numbers, rows))
            self._used += column_bytes(len(rows.columns), rows.rows, self._outputs)

    def read(self) -> Columns:
        """The columns; the reader is empty afterwards."""
        # One array at a time, so that only one of them exists twice.
        parts = {name: [getattr(rows, name) for _, rows in self._parts] for name in Columns._fields[:-1]}
        self._parts, self._used = [], 0
        sizes = [np.zeros(1, np.int64), *(np.diff(indptr) for indptr in parts.pop("indptr"))]
        empty = {"columns": np.empty(0, np.uint32), "values": np.empty(0, np.float32)}
        joined: dict[str, NDArray[Any]] = {
            name: np.concatenate(arrays) if (arrays := parts.pop(name)) else empty.get(name, np.empty(0))
            for name in list(parts)
        }
        return Columns(np.cumsum(np.concatenate(sizes)), **joined, width=self._width)


def read_columns(
    source: Source, keys: NDArray[np.uint64], encode: Callable[..., Floats], room: int | None, outputs: int
) -> Columns:
    """Read the columns of some features: all rows, or a sample that ``room`` bytes hold; None: no limit."""
    reader = ColumnReader(keys, outputs, room)
    for batch, cursor in source.batches(keys=keys):
        if len(batch):
            reader.add(batch, encode(batch, partial(source.where, cursor, batch)))
    return reader.read()


class Refit(NamedTuple):
    """A fit of the selected features; ``score`` is its loss on the held-out rows, see `held_out_loss`."""

    weights: Floats
    intercept: Floats
    penalty: float
    score: float
    shared: bool = False  # whether the sparse columns share a unit


class Model(NamedTuple):
    """The form of the model: its loss and outputs."""

    loss: Loss
    outputs: int
    multilabel: bool
    fit_intercept: bool

    @property
    def kind(self) -> str:
        """The kind of outputs as the solver names it."""
        if self.multilabel:
            return "many"
        if self.loss.task != "classes":
            return "one"
        return "softmax" if self.loss.name == "softmax" else "rest"

    @property
    def fitted_loss(self) -> Loss:
        """The loss of the refit: for two classes, and each class against the rest, the logistic loss.

        It predicted best on features that the squared hinge loss selected, and the hinge loss has no second derivative.
        """
        if self.loss.task == "real" or self.loss.name == "softmax":
            return self.loss
        return get_loss("rest:logistic" if self.loss.rest else "logistic")

    def solver(self, rows: Columns, units: tuple[Floats, Floats]) -> _native.SparseRefit:
        """The solver of these rows."""
        return _native.SparseRefit(
            rows.indptr,
            rows.columns,
            rows.values,
            *units,
            np.ascontiguousarray(rows.y).ravel(),
            rows.weight,
            self.fitted_loss.part,
            self.fitted_loss.delta,
            self.kind,
            self.outputs,
            self.fit_intercept,
        )

    def unpack(self, solver: _native.SparseRefit, point: Floats) -> tuple[Floats, Floats]:
        """Weights (features,) or (outputs, features) in the unit of the data, and intercepts."""
        table = solver.in_data_units(point).reshape(self.outputs, -1)
        weights = np.ascontiguousarray(table[:, :-1])
        return (weights[0] if self.outputs == 1 else weights), np.ascontiguousarray(table[:, -1])


def held_out_loss(loss: Loss, margins: Floats, y: Floats, weight: Floats | None) -> float:
    """The loss of margins on held-out rows, by which passes and the refit are compared.

    For classes it is the log loss of calibrated probabilities, so that a model is not judged by the scale of its
    margins; for numbers it is the mean of the loss.
    """
    if not np.isfinite(margins).all():
        return np.inf
    return (
        Calibration.fit(loss, margins, y, weight).log_loss
        if loss.task != "real"
        else mean_loss(loss, margins, y, weight)
    )


def mean_loss(loss: Loss, margins: Floats, y: Floats, weight: Floats | None) -> float:
    """The mean of the loss itself, by which penalties are compared: calibration would hide a wrong intercept."""
    scores = Scores(loss, margins.shape[1] if margins.ndim == 2 else 2)
    scores.add(margins, y, weight)
    total, of_rows = scores.sums
    return of_rows / total if total > 0 else np.inf


#: The least probability of a row's class that is scored.
_LEAST = 1e-12


def row_losses(
    loss: Loss, margins: Floats, y: Floats, weight: Floats, multilabel: bool
) -> tuple[Floats, Calibration | None]:
    """The loss of each held-out row, and the calibration: the log loss of calibrated probabilities, or squared error.

    Margins that are not finite have an infinite loss.
    """
    if not np.isfinite(margins).all():
        return np.full(len(margins), np.inf), None
    if loss.task == "real":
        squares: Floats = (margins - y) ** 2
        return squares, None
    calibration = Calibration.fit(loss, margins, y, weight)
    chances = calibration.probabilities(margins)
    losses: Floats
    if multilabel:
        losses = -np.log(np.maximum(np.where(y > 0, chances, 1.0 - chances), _LEAST)).sum(axis=1)
    else:
        of_class = (y > 0).astype(np.intp) if margins.ndim == 1 else y.astype(np.intp)
        losses = -np.log(np.maximum(chances[np.arange(len(margins)), of_class], _LEAST))
    return losses, calibration


class PathFit(NamedTuple):
    """A fit of the training rows: its penalty, weights, intercepts, and the margins and loss of the held-out rows."""

    penalty: float
    weights: Floats
    intercept: Floats
    margins: Floats
    loss: float


def penalty_path(
    train: Columns,
    held: Columns,
    model: Model,
    *,
    penalties: Sequence[float] = PENALTIES,
    patience: int = _PATIENCE,
    tolerance: float = _TOLERANCE,
    shared: bool = False,
) -> Iterator[PathFit]:
    """Fits of the training rows, each from the one before, until ``patience`` of them do not lower the loss."""
    if not train.rows or not train.width:
        return
    solver = model.solver(train, train.units(shared=shared))
    best, worse = np.inf, 0
    point = np.zeros(model.outputs * (train.width + 1))
    for penalty in penalties:
        point, *_ = solver.fit(penalty, point, tolerance, _MAX_STEPS)
        weights, intercept = model.unpack(solver, point)
        margins = held.margins(weights, intercept)
        loss = mean_loss(model.fitted_loss, margins, held.y, held.weight)
        yield PathFit(penalty, weights, intercept, margins, loss)
        worse = 0 if loss < best else worse + 1
        best = min(best, loss)
        if worse == patience:
            return


def choose_refit(train: Columns, held: Columns, model: Model, *, units: Sequence[bool] = (False,)) -> Refit | None:
    """The fit of the training rows whose penalty is best on the held-out rows; None if there is nothing to fit.

    ``units`` says whether the sparse columns share a unit. If both are tried, the second is taken only if it is clearly
    better.
    """
    found: tuple[PathFit, bool, Floats] | None = None
    for shared in units:
        best = min(penalty_path(train, held, model, shared=shared), key=lambda fit: fit.loss, default=None)
        if best is None:
            return None
        losses, _ = row_losses(model.fitted_loss, best.margins, held.y, held.weight, model.multilabel)
        if found is None or clearly_better(losses, found[2], held.weight):
            found = best, shared, losses
    if found is None:
        return None
    fit, shared, _ = found
    score = held_out_loss(model.loss, fit.margins, held.y, held.weight)
    return Refit(fit.weights, fit.intercept, fit.penalty, score, shared)


def clearly_better(losses: Floats, than: Floats, weight: Floats, errors: float = 1.0) -> bool:
    """Whether the mean of some losses is below that of others, by more than ``errors`` standard errors.

    Both are the losses of the same rows, so the error is that of their differences.
    """
    if not np.isfinite(than).all():
        return bool(np.isfinite(losses).all())
    if not np.isfinite(losses).all() or not weight.sum() > 0:
        return False
    gains = than - losses
    shares = weight / weight.sum()
    mean = float(shares @ gains)
    return mean > errors * float(np.sqrt((shares**2) @ (gains - mean) ** 2))


def fit_all(rows: Columns, penalty: float, model: Model, *, shared: bool = False) -> tuple[Floats, Floats]:
    """Weights and intercepts of a fit of all rows."""
    solver = model.solver(rows, rows.units(shared=shared))
    point, *_ = solver.fit(penalty, np.zeros(model.outputs * (rows.width + 1)), _TOLERANCE, _MAX_STEPS)
    return model.unpack(solver, point)
