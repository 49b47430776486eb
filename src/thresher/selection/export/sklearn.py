"""Export to a fitted scikit-learn model; besides the estimators, only this module imports scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from thresher.core.optional import need
from thresher.errors import DataError
from thresher.selection.selection import Selection


def to_sklearn(selection: Selection) -> Any:
    """A fitted linear model of the k columns that ``selection.transform`` returns.

    A calibrated classifier is a `LogisticRegression` with the calibration folded in: its ``predict_proba`` is that of
    the selection. With two classes its decision function is a m + b, and it predicts the more probable class. Otherwise
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
        model.classes_ = np.array(selection.labels)
        model.n_iter_ = int(selection.provenance.get("passes_done", 0)) if hinge else np.zeros(1, np.int32)
    model.n_features_in_ = k
    return model
