"""Labels as people write them to targets as losses take them, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.batch import Batch
from thresher.errors import DataError, SettingsError
from thresher.losses import Loss

Label = float | str


class Targets:
    """Labels of any convention (0/1, ±1, 1/2, strings) to targets, in one reading.

    Of two classes, the larger one (by number or alphabet) is the positive one, but in a stream that
    is known only once both were seen. So the label met first trains as +1, and `orientation` says at
    the end whether that has to be turned round: every binary loss here is symmetric, so turning all
    labels round negates the model and nothing else.
    """

    def __init__(self, loss: Loss, seen: list[Label] | None = None) -> None:
        if loss.task == "classes":
            raise SettingsError(f"the {loss} loss needs a method for several classes")
        self.loss = loss
        self.seen: list[Label] = list(seen or [])

    def encode(self, batch: Batch, where: Callable[[int], str]) -> NDArray[np.float64]:
        """The targets of a batch; ``where(row)`` says for people where a row stands."""
        y = batch.y
        if y is None:
            raise DataError("the data has no labels.")
        if batch.y_indptr is not None:
            raise DataError("rows with several labels: this method takes one label a row.")
        return self._binary(y, where) if self.loss.task == "binary" else self._real(y, where)

    def _real(self, y: NDArray[Any], where: Callable[[int], str]) -> NDArray[np.float64]:
        if y.dtype != object:
            bad = ~np.isfinite(y)
            if not bad.any():
                return y.astype(np.float64)
        else:
            bad = np.ones(len(y), bool)
        row = int(np.argmax(bad))
        raise DataError(
            f"{where(row)}: the target is {_shown(y[row])}, and the {self.loss} loss takes finite numbers. "
            "Mend the target, or choose a classification loss such as logistic."
        )

    def _binary(self, y: NDArray[Any], where: Callable[[int], str]) -> NDArray[np.float64]:
        missing = np.array([_is_missing(label) for label in y], bool) if y.dtype == object else np.isnan(y)
        if missing.any():
            row = int(np.argmax(missing))
            raise DataError(f"{where(row)}: the label is missing. Give every row to learn from a label.")
        if y.dtype != object and np.isinf(y).any():
            row = int(np.argmax(np.isinf(y)))
            raise DataError(f"{where(row)}: the label is infinite, which is no class. Mend the label.")
        if y.dtype == object:
            plain = np.empty(len(y), object)
            plain[:] = [_plain(label) for label in y]
            y = plain
        if not self.seen and len(y):
            self.seen.append(_plain(y[0]))
        first = np.asarray(y == self.seen[0]) if len(y) else np.empty(0, bool)
        others = ~first
        if others.any():
            if len(self.seen) == 1:
                row = int(np.argmax(others))
                self.seen.append(_plain(y[row]))
                if isinstance(self.seen[0], str) != isinstance(self.seen[1], str):
                    raise DataError(
                        f"{where(row)}: the label {_shown(y[row])} after {_shown(self.seen[0])}: one is text and the "
                        "other a number, so neither is the larger. Write all labels the same way."
                    )
            third = others & (y != self.seen[1])
            if third.any():
                row = int(np.argmax(third))
                raise DataError(
                    f"{where(row)}: the label {_shown(y[row])} is a third one after {_shown(self.seen[0])} and "
                    f"{_shown(self.seen[1])}, and the {self.loss} loss tells two classes apart. For numbers as "
                    "targets choose the squared loss."
                )
        return np.where(first, 1.0, -1.0)

    def check_complete(self) -> None:
        """After all rows: raise if there was nothing to tell apart."""
        if self.loss.task == "binary" and len(self.seen) == 1:
            raise DataError(
                f"every label is {_shown(self.seen[0])}: there is only one class, and nothing to tell apart. "
                "Check the labels, or choose a regression loss such as squared."
            )

    @property
    def classes(self) -> list[Label] | None:
        """The two classes, the positive one last; None for numbers."""
        return sorted(self.seen) if self.loss.task == "binary" else None

    @property
    def orientation(self) -> float:
        """-1 if the trained model must be negated for the last class to be the positive one."""
        classes = self.classes
        return -1.0 if classes is not None and len(classes) > 1 and self.seen[0] == classes[0] else 1.0


def known_targets(
    batch: Batch, classes: list[Any] | None, loss: Loss, where: Callable[[int], str]
) -> NDArray[np.float64]:
    """The targets of rows to score a learned model on: its ``classes`` are all there are."""
    if batch.y is None or batch.y_indptr is not None:
        raise DataError("to score against, every row must have one label.")
    y, bad = _numbers(batch.y) if classes is None else _positions(batch.y, classes)
    if bad.any():
        row = int(np.argmax(bad))
        wanted = "a finite number" if classes is None else f"one of the classes learned, {classes}"
        raise DataError(f"{where(row)}: the label {batch.y[row]!r} is not {wanted}.")
    return 2.0 * y - 1.0 if loss.task == "binary" else y


def _numbers(y: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The targets as numbers, and which of them are none."""
    if y.dtype == object:
        return np.zeros(len(y)), np.ones(len(y), bool)
    numbers = y.astype(np.float64)
    return numbers, np.logical_not(np.isfinite(numbers))


def _positions(y: NDArray[Any], classes: list[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The number of each label's class, and which labels have none."""
    same = np.stack([[_equal(value, label) for value in y] if y.dtype == object else y == label for label in classes])
    return same.argmax(axis=0).astype(np.float64), np.logical_not(same.any(axis=0))


def _equal(value: Any, label: Any) -> bool:
    try:
        return bool(value == label)
    except TypeError:  # pandas.NA, of which nothing is known
        return False


def _is_missing(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA, which is neither the same as itself nor different
        return True


def _plain(label: Any) -> Label:
    value = label.item() if hasattr(label, "item") else label
    if isinstance(value, (int, float)):
        return float(value) + 0.0  # there is one zero
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _shown(label: Any) -> str:
    plain = _plain(label)
    return repr(plain) if isinstance(plain, str) else f"{plain:g}"
