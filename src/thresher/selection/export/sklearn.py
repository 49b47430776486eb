"""Export to a fitted scikit-learn model; besides the estimators, only this module imports scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.optional import need
from thresher.errors import DataError
from thresher.selection.calibration_curve import Knots, as_ramps
from thresher.selection.selection import Selection


def to_sklearn(selection: Selection) -> Any:
    """A fitted linear model of the k columns that ``selection.transform`` returns.

    A calibrated classifier is a `LogisticRegression` with the calibration folded in: its ``predict_proba`` is that of
    the selection. With two classes its decision function is a m + b, and it predicts the more probable class. If a
    curve bends these log odds, it is an `MLPClassifier`, whose hidden units are the pieces of the curve. Otherwise
    it is a `LogisticRegression` for the logistic and softmax losses, a `LinearSVC` for the hinge losses, and a
    `LinearRegression` for regression. It has no ``feature_names_in_``, since scikit-learn would then warn about every
    matrix without column names, such as those that ``transform`` returns.
    """
    if selection.multilabel:
        raise DataError("scikit-learn has no linear model of several labels a row: use predict, or export a table.")
    linear = need("sklearn.linear_model", "sklearn")

    k = len(selection)
    if selection.classes is None:
        model = linear.LinearRegression()
        model.coef_ = selection.weights.copy()
        model.intercept_ = float(selection.intercept[0])
    else:
        calibration = selection.calibration
        hinge = calibration is None and "hinge" in selection.loss.name
        if hinge:
            model = need("sklearn.svm", "sklearn").LinearSVC(loss=selection.loss.part)
        else:
            model = linear.LogisticRegression()
        model.coef_ = selection.weights.reshape(len(selection.intercept), k).copy()
        model.intercept_ = selection.intercept.copy()
        if calibration is not None:
            model.coef_ *= calibration.slopes[0]
            model.intercept_ = calibration.slopes[0] * model.intercept_ + calibration.intercepts[0]
            if calibration.knots:
                return _bent(model.coef_[0], float(model.intercept_[0]), calibration.knots, np.array(selection.labels))
        model.classes_ = np.array(selection.labels)
        model.n_iter_ = int(selection.provenance.get("passes_done", 0)) if hinge else np.zeros(1, np.int32)
    model.n_features_in_ = k
    return model


def _bent(weights: NDArray[np.float64], intercept: float, knots: Knots, labels: NDArray[Any]) -> Any:
    """A network of one layer that computes a curve of the log odds: z = max(0, z) - max(0, -z), and a ramp a knot."""
    at, bends, offset = as_ramps(knots)
    signs = np.concatenate([[1.0, -1.0], np.ones(len(at))])
    model = need("sklearn.neural_network", "sklearn").MLPClassifier(hidden_layer_sizes=(len(signs),), activation="relu")
    model.coefs_ = [np.outer(weights, signs), np.concatenate([[1.0, -1.0], bends])[:, None]]
    model.intercepts_ = [signs * intercept - np.concatenate([[0.0, 0.0], at]), np.array([offset])]
    model.n_layers_, model.n_outputs_, model.out_activation_ = 3, 1, "logistic"
    model.classes_ = labels
    model._label_binarizer = need("sklearn.preprocessing", "sklearn").LabelBinarizer().fit(labels)
    model.n_features_in_ = len(weights)
    return model
