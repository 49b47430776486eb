"""Encoding of labels in any convention as the targets of a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch
from thresher.core.losses import Loss
from thresher.display import quoted
from thresher.errors import DataError, SettingsError

Label = float | str


class ThirdLabel(DataError):
    """A third label for a loss of two classes; ``what`` says which one and where."""

    def __init__(self, what: str, advice: str) -> None:
        super().__init__(f"{what}{advice}")
        self.what = what
        self.advice = advice

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.advice)


class Targets:
    """Encodes labels of any convention (0/1, ±1, 1/2, strings) as targets, in one pass.

    Of two classes the larger one, by number or alphabet, is the positive one. In a stream that is known only when
    both have occurred. So the first label is encoded as +1, and `orientation` is -1 if the sign must be flipped at the
    end. This is exact: all binary losses are symmetric, so flipping the sign of all targets negates the model.

    Several classes (the softmax loss) and several labels a row (``multilabel``) must be known before the first row,
    since they are the outputs of the model. `label_classes` finds them in a source.
    """

    def __init__(
        self,
        loss: Loss,
        seen: list[Label] | None = None,
        *,
        multilabel: bool = False,
    ) -> None:
        self.loss = loss
        self.multilabel = multilabel
        self.seen: list[Label] = list(seen or [])
        if self.fixed and len(self.seen) < 2:
            raise DataError(
                f"{len(self.seen)} classes: the {loss} loss needs two or more. Check the labels, or name the "
                "classes (`classes`)."
            )

    @property
    def fixed(self) -> bool:
        """Whether the classes must be known from the start."""
        return self.multilabel or self.loss.task == "classes"

    def encode(self, batch: Batch, where: Callable[[int], str]) -> NDArray[np.float64]:
        """The targets of a batch: (rows,), or (rows, labels) of -1 and +1 for several labels a row.

        ``where(row)`` describes a row in messages.
        """
        y = batch.y
        if y is None:
            raise DataError("the data has no labels.")
        if self.multilabel:
            return self._labels(batch, y, where)
        if batch.y_indptr is not None:
            raise DataError("rows with several labels: pass `multilabel=True`, or give every row one label.")
        if self.loss.task == "classes":
            return self._classes(y, where)
        return self._binary(y, where) if self.loss.task == "binary" else self._real(y, where)

    def _classes(self, y: NDArray[Any], where: Callable[[int], str]) -> NDArray[np.float64]:
        positions, bad = _positions(y, self.seen)
        if bad.any():
            row = int(np.argmax(bad))
            raise DataError(
                f"{where(row)}: the label {_shown(y[row])} is none of the known classes, {listed(self.seen)}. Name "
                "all of them (`classes`)."
            )
        return positions

    def _labels(self, batch: Batch, y: NDArray[Any], where: Callable[[int], str]) -> NDArray[np.float64]:
        counts = np.ones(len(batch), np.int64) if batch.y_indptr is None else np.diff(batch.y_indptr)
        positions, bad = _positions(y, self.seen)
        rows = np.repeat(np.arange(len(batch)), counts)
        if bad.any():
            at = int(np.argmax(bad))
            raise DataError(
                f"{where(int(rows[at]))}: the label {_shown(y[at])} is none of the known ones, {listed(self.seen)}."
            )
        targets = np.full((len(batch), len(self.seen)), -1.0)
        targets[rows, positions.astype(np.intp)] = 1.0
        return targets

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
            "Fix the target, or choose a classification loss such as logistic."
        )

    def _binary(self, y: NDArray[Any], where: Callable[[int], str]) -> NDArray[np.float64]:
        y = _checked_classes(y, where)
        if not self.seen and len(y):
            self.seen.append(plain_label(y[0]))
        first = np.asarray(y == self.seen[0]) if len(y) else np.empty(0, bool)
        if not first.all():
            self._check_other_labels(y, ~first, where)
        return np.where(first, 1.0, -1.0)

    def _check_other_labels(self, y: NDArray[Any], others: NDArray[np.bool_], where: Callable[[int], str]) -> None:
        """Note the second label, and refuse a third one."""
        if len(self.seen) == 1:
            row = int(np.argmax(others))
            self.seen.append(plain_label(y[row]))
            if isinstance(self.seen[0], str) != isinstance(self.seen[1], str):
                raise DataError(
                    f"{where(row)}: the label {_shown(y[row])} after {_shown(self.seen[0])}: one is text and the "
                    "other a number, so neither is the larger. Write all labels the same way."
                )
        third = others & (y != self.seen[1])
        if third.any():
            row = int(np.argmax(third))
            raise ThirdLabel(
                f"{where(row)}: the label {_shown(y[row])} is a third one after {_shown(self.seen[0])} and "
                f"{_shown(self.seen[1])}",
                f", and the {self.loss} loss takes two classes. For several classes choose the softmax loss, for "
                "numbers as targets the squared loss.",
            )

    @property
    def complete(self) -> bool:
        """Whether there are at least two classes, or numeric targets."""
        return self.loss.task == "real" or len(self.seen) >= 2

    def check_complete(self) -> None:
        """After all rows: raise if there was only one class."""
        if not self.complete and len(self.seen) == 1:
            raise one_class_error(self.seen[0])

    @property
    def classes(self) -> list[Label] | None:
        """The classes, the positive one of two last; None for numeric targets."""
        if self.fixed:
            return list(self.seen)
        return sorted(self.seen) if self.loss.task == "binary" else None

    @property
    def orientation(self) -> float:
        """-1 if the trained model must be negated so that the last class is the positive one."""
        classes = None if self.fixed else self.classes
        return -1.0 if classes is not None and len(classes) > 1 and self.seen[0] == classes[0] else 1.0


def one_class_error(label: Label) -> DataError:
    """The error for data whose labels are all the same."""
    return DataError(
        f"every label is {_shown(label)}: there is only one class. Check the labels, or choose a regression loss such "
        "as squared."
    )


def distinct_labels(batch: Batch, where: Callable[[int], str]) -> set[Label]:
    """The distinct labels of a batch; a missing one is an error."""
    labels = np.empty(0) if batch.y is None else batch.y
    distinct = np.unique(labels) if labels.dtype != object else list(dict.fromkeys(labels))
    if any(is_missing(label) for label in distinct):
        row = int(np.argmax([is_missing(label) for label in labels]))
        raise DataError(f"{where(row)}: the label is missing. Give every row a label.")
    return {plain_label(label) for label in distinct}


def sort_labels(labels: Iterable[Any]) -> list[Label]:
    """The distinct labels as numbers or strings, sorted; an error if there are both."""
    plain = [plain_label(label) for label in labels]
    if len({isinstance(label, str) for label in plain}) > 1:
        raise DataError("some labels are text and others numbers. Write all labels the same way.")
    return sorted(set(plain))


def class_weights(
    class_weight: Mapping[Any, float] | str, counts: Callable[[], Mapping[Label, int]]
) -> dict[Label, float]:
    """The weight of each class: as given, or ``n / (classes * n_c)`` for ``balanced``, where n_c is its count."""
    if class_weight == "balanced":
        found = counts()
        return {label: sum(found.values()) / (len(found) * count) for label, count in found.items()}
    if isinstance(class_weight, str):
        raise SettingsError(f'class_weight must be "balanced" or a mapping from label to weight, got {class_weight!r}')
    weights = {plain_label(label): float(weight) for label, weight in class_weight.items()}
    if any(not np.isfinite(weight) or weight < 0 for weight in weights.values()):
        raise SettingsError(f"class weights must be finite and not negative, got {class_weight}")
    return weights


def check_class_weight(class_weight: Mapping[Any, float] | str | None, loss: Loss, *, multilabel: bool) -> None:
    """Raise if rows have no classes that could be weighted."""
    if class_weight is not None and (loss.task == "real" or multilabel):
        what = "rows with several labels have none" if multilabel else f"the {loss} loss is for numbers"
        raise SettingsError(
            f"`class_weight` needs rows of one class each, and {what}: leave it out"
            + ("" if multilabel else ", or choose a loss for classes, such as logistic")
        )


def check_weighted_labels(weighted: Iterable[Any], known: list[Label]) -> None:
    """Raise if a label that has a class weight is not among the labels of the data."""
    if unknown := [label for label in map(plain_label, weighted) if label not in known]:
        raise SettingsError(
            f"`class_weight` has a weight for the label {_shown(unknown[0])}, but the labels of the data are "
            f"{listed(known)}"
        )


def listed(labels: list[Label]) -> str:
    """Labels as text, the first ten if there are more."""
    shown = ", ".join(_shown(label) for label in labels[:10])
    return shown + (f" … ({len(labels)} in all)" if len(labels) > 10 else "")


def known_targets(
    batch: Batch, classes: list[Any] | None, loss: Loss, where: Callable[[int], str], *, multilabel: bool = False
) -> NDArray[np.float64]:
    """The targets of rows on which a model with these ``classes`` is scored."""
    if multilabel:
        return Targets(loss, classes, multilabel=True).encode(batch, where)
    if batch.y is None or batch.y_indptr is not None:
        raise DataError("scoring needs rows with one label each.")
    y, bad = _as_numbers(batch.y) if classes is None else _positions(batch.y, classes)
    if bad.any():
        row = int(np.argmax(bad))
        expected = "a finite number" if classes is None else f"one of the classes learned, {listed(classes)}"
        raise DataError(f"{where(row)}: the label {_shown(batch.y[row])} is not {expected}.")
    return 2.0 * y - 1.0 if loss.task == "binary" else y


def _checked_classes(y: NDArray[Any], where: Callable[[int], str]) -> NDArray[Any]:
    """Labels that can all be classes, objects among them as floats or strings."""
    is_object = y.dtype == object
    missing = np.array([is_missing(label) for label in y], bool) if is_object else np.isnan(y)
    if missing.any():
        row = int(np.argmax(missing))
        raise DataError(f"{where(row)}: the label is missing. Give every row to learn from a label.")
    if is_object:
        plain = np.empty(len(y), object)
        plain[:] = [plain_label(label) for label in y]
        return plain
    if np.isinf(y).any():
        row = int(np.argmax(np.isinf(y)))
        raise DataError(f"{where(row)}: the label is infinite, which is no class. Fix the label.")
    return y


def _as_numbers(y: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The labels as numbers, and which of them are not finite numbers."""
    if y.dtype == object:
        return np.zeros(len(y)), np.ones(len(y), bool)
    numbers = y.astype(np.float64)
    return numbers, np.logical_not(np.isfinite(numbers))


def _positions(y: NDArray[Any], classes: list[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The position of each label among the classes, and which labels are not among them."""
    if y.dtype != object:
        known = np.array([np.nan if isinstance(label, str) else label for label in classes], np.float64)
        order = np.argsort(known)
        at = order[np.searchsorted(known, y, sorter=order).clip(0, len(known) - 1)]
        return at.astype(np.float64), known[at] != y
    numbers = {label: float(i) for i, label in enumerate(classes)}
    found = np.array([-1.0 if is_missing(value) else numbers.get(plain_label(value), -1.0) for value in y])
    return found, found < 0


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN or pandas.NA."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA has no truth value
        return True


def plain_label(label: Any) -> Label:
    """A label as a Python float or string."""
    value = label.item() if hasattr(label, "item") else label
    if isinstance(value, (int, float)):
        return float(value) + 0.0  # -0.0 becomes 0.0
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _shown(label: Any) -> str:
    plain = plain_label(label)
    return quoted(plain) if isinstance(plain, str) else f"{plain:g}"
