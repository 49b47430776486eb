"""What an estimator with a selection predicts: classes and probabilities, or numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from thresher.core.losses import get_loss
from thresher.errors import SettingsError
from thresher.estimators.base import Task
from thresher.selection.selection import Selection
from thresher.sources.base import Source


def _gives_probabilities(estimator: Any) -> bool:
    if estimator.loss not in ("logistic", "softmax"):
        raise AttributeError(f"the {estimator.loss} loss gives no probabilities: use decision_function")
    return True


def allows_label_matrix(y: Any) -> dict[str, bool]:
    """Whether scikit-learn's check of the targets is to let a matrix of labels pass."""
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    return {"multi_output": len(shape) == 2 and (shape[1] > 1 or hasattr(y, "tocsr"))}


class SelectionClassifierMixin(ClassifierMixin):
    """The model of two classes, several, or several labels a row, for an estimator that has a ``selection_``."""

    loss: str
    classes_: NDArray[Any]
    selection_: Selection
    _margins: Callable[[Any], NDArray[np.float64]]
    _stored_score: Callable[[Any, str, Any], float]

    def _targets(self, y: Any) -> dict[str, bool]:
        return allows_label_matrix(y)

    def _keep(self, run: Any, y: Any) -> None:
        super()._keep(run, y)
        if y is None:
            self.classes_ = np.array(self.selection_.labels)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the selected features, (1, k) or (n_classes, k)."""
        return np.atleast_2d(_one_of_two(self.selection_.weights.T, self._two).T)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The constant, (1,) or (n_classes,)."""
        return _one_of_two(self.selection_.intercept, self._two).reshape(-1)

    @property
    def _two(self) -> bool:
        """Whether there are two outputs for two classes."""
        return self.selection_.loss.task == "classes" and len(self.selection_.intercept) == 2

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """w'x + b of each row: (n_samples,) for two classes, otherwise (n_samples, n_classes)."""
        margins = self._margins(X)
        return _one_of_two(margins, self._two)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row; for several labels a row n_samples x n_labels of 0 and 1."""
        margins = self.decision_function(X)
        if self.selection_.multilabel:
            return (margins > 0).astype(np.int64)
        chosen = (margins > 0).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[chosen]
        return predicted

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities, n_samples x n_classes; for several labels a row that of each."""
        margins = self._margins(X)
        return self.selection_.probabilities(margins)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            logarithms: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logarithms

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy; against the labels of the file or source itself where ``y`` is not given."""
        if y is None:
            return self._stored_score(X, "accuracy", sample_weight)
        return float(super().score(X, y, sample_weight))


def _one_of_two(values: NDArray[np.float64], two: bool) -> NDArray[np.float64]:
    """Of two outputs, what speaks for the second class over the first, as scikit-learn has it."""
    return values[..., 1] - values[..., 0] if two else values


class SelectionRegressorMixin(RegressorMixin):
    """The model of a number, for an estimator that has a ``selection_``."""

    #: The losses there are: for whoever chose a wrong one.
    _own_losses: ClassVar[str] = "squared or huber"

    loss: str
    selection_: Selection
    _margins: Callable[[Any], NDArray[np.float64]]
    _stored_score: Callable[[Any, str, Any], float]

    def _targets(self, y: Any) -> dict[str, bool]:
        return {"y_numeric": True}

    def _task(self, source: Source, y: Any) -> Task:
        if get_loss(self.loss).task != "real":
            classifier = type(self).__name__.replace("Regressor", "Classifier")
            raise SettingsError(f"the {self.loss} loss is for classes: use {classifier}, or {self._own_losses}")
        return Task(self.loss)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the selected features."""
        return self.selection_.weights

    @property
    def intercept_(self) -> float:
        """The constant."""
        return float(self.selection_.intercept[0])

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The number of each row."""
        return self._margins(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R²; against the numbers of the file or source itself where ``y`` is not given."""
        if y is None:
            return self._stored_score(X, "r2", sample_weight)
        return float(super().score(X, y, sample_weight))
