"""A selection as a fitted scikit-learn model. The only place outside the estimators that imports scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thresher.core.optional import need
from thresher.errors import DataError

if TYPE_CHECKING:
    from thresher.selection.selection import Selection


def to_sklearn(selection: Selection) -> Any:
    """A fitted linear model on the k columns that ``selection.transform`` gives, in that order.

    A `LogisticRegression` for the logistic and softmax losses, a `LinearSVC` for the hinges, a
    `LinearRegression` for squared and Huber. It has no ``feature_names_in_``: with it, scikit-learn
    would warn of every matrix without column names, such as the ones ``transform`` gives.
    """
    if selection.multilabel:
        raise DataError("scikit-learn has no linear model of several labels a row: use predict, or export the table.")
    linear = need("sklearn.linear_model", "sklearn")

    k = len(selection)
    if selection.classes is None:
        model = linear.LinearRegression()
        model.coef_ = selection.weights.copy()
        model.intercept_ = float(selection.intercept[0])
    else:
        hinge = "hinge" in selection.loss.name
        if hinge:
            model = need("sklearn.svm", "sklearn").LinearSVC(loss=selection.loss.part)
        else:
            model = linear.LogisticRegression()
        model.coef_ = selection.weights.reshape(len(selection.intercept), k).copy()
        model.intercept_ = selection.intercept.copy()
        model.classes_ = np.array(selection.labels)
        model.n_iter_ = int(selection.provenance.get("passes_done", 0)) if hinge else np.zeros(1, np.int32)
    model.n_features_in_ = k
    return model
