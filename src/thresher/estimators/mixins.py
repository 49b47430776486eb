"""Mixins that predict with a selection: classes and probabilities, or numbers."""

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
    fitted = estimator.__sklearn_is_fitted__()
    if fitted and not estimator.selection_.has_probabilities:
        raise AttributeError(
            f"the {estimator.loss} loss has no probabilities, and this fit has no calibration: use decision_function, "
            "or fit with calibrate=True"
        )
    return True


def allows_label_matrix(y: Any) -> dict[str, bool]:
    """The option of scikit-learn's validation that accepts a label matrix, if ``y`` is one."""
    shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    return {"multi_output": len(shape) == 2 and (shape[1] > 1 or hasattr(y, "tocsr"))}


class SelectionClassifierMixin(ClassifierMixin):
    """A classifier with a ``selection_``: two classes, several, or several labels per row."""

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
        """Weights of the selected features: (1, k) or (n_classes, k)."""
        return np.atleast_2d(_binary_margin(self.selection_.weights.T, self._two_outputs).T)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The intercept: (1,) or (n_classes,)."""
        return _binary_margin(self.selection_.intercept, self._two_outputs).reshape(-1)

    @property
    def _two_outputs(self) -> bool:
        """Whether a model of two classes has two outputs."""
        return self.selection_.loss.task == "classes" and len(self.selection_.intercept) == 2

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the margins w'x + b: (n_samples,) for two classes, otherwise (n_samples, n_classes)."""
        margins = self._margins(X)
        return _binary_margin(margins, self._two_outputs)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row; for several labels per row a 0/1 matrix (n_samples, n_labels)."""
        margins = self.decision_function(X)
        if self.selection_.multilabel:
            return (margins > 0).astype(np.int64)
        chosen = (margins > 0).astype(np.intp) if margins.ndim == 1 else margins.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[chosen]
        return predicted

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class (or label): (n_samples, n_classes)."""
        margins = self._margins(X)
        return self.selection_.probabilities(margins)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            logarithms: NDArray[np.float64] = np.log(self.predict_proba(X))
        return logarithms

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy; without ``y`` on the labels in the file or source."""
        if y is None:
            return self._stored_score(X, "accuracy", sample_weight)
        return float(super().score(X, y, sample_weight))


def _binary_margin(values: NDArray[np.float64], two: bool) -> NDArray[np.float64]:
    """The margin of the second class over the first, if a model of two classes has two outputs."""
    return values[..., 1] - values[..., 0] if two else values


class SelectionRegressorMixin(RegressorMixin):
    """A regressor with a ``selection_``."""

    #: The losses, for error messages.
    _losses: ClassVar[str] = "squared or huber"

    loss: str
    selection_: Selection
    _margins: Callable[[Any], NDArray[np.float64]]
    _stored_score: Callable[[Any, str, Any], float]

    def _targets(self, y: Any) -> dict[str, bool]:
        return {"y_numeric": True}

    def _task(self, source: Source, y: Any) -> Task:
        if get_loss(self.loss).task != "real":
            classifier = type(self).__name__.replace("Regressor", "Classifier")
            raise SettingsError(
                f"the loss of a regressor must be {self._losses}, got {self.loss}: use {classifier} for classes"
            )
        return Task(self.loss)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the selected features: (k,)."""
        return self.selection_.weights

    @property
    def intercept_(self) -> float:
        """The intercept."""
        return float(self.selection_.intercept[0])

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the prediction for each row."""
        return self._margins(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return R²; without ``y`` on the targets in the file or source."""
        if y is None:
            return self._stored_score(X, "r2", sample_weight)
        return float(super().score(X, y, sample_weight))
