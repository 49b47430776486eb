"""Online Substitution behind scikit-learn's interface."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import thresher as th
from tests.estimators.checks import assert_it_passes
from tests.substitution.test_substitution import data

BY_ROWS = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "columns of few rows are shrunk by the number of these, so a row of weight 2 is not the same as the row twice",
)
FEATURES = "partial_fit takes further features of the same rows, not further rows"
EXPECTED = dict.fromkeys(
    (
        "check_estimators_partial_fit_n_features",
        "check_n_features_in_after_fitting",
    ),
    FEATURES,
)


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [(th.SubstitutionClassifier(), EXPECTED | BY_ROWS), (th.SubstitutionRegressor(), EXPECTED)],
    ids=str,
)
def test_scikit_learn_s_own_checks(estimator: Any, expected: dict[str, str]) -> None:
    assert_it_passes(estimator, expected)


def test_it_is_select() -> None:
    x, y, _ = data(n=300)
    model = th.SubstitutionRegressor(k=10).fit(x, y)
    found = th.select(x, y, k=10, method="os", loss="squared")
    assert model.coef_.tolist() == found.weights.tolist()
    assert model.transform(x).shape == (300, 10)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(x).tolist() == model.predict(x).tolist()
    assert clone(model).fit(x, y).coef_.tolist() == model.coef_.tolist()


def test_partial_fit_keeps_its_targets() -> None:
    x, y, _ = data()
    model = th.SubstitutionClassifier(k=5).partial_fit(x[:, :100], np.where(y > 0, "b", "a"))
    assert model.classes_.tolist() == ["a", "b"]
    with pytest.raises(th.DataError, match="targets differ"):
        model.partial_fit(x[:, 100:], np.where(y > 1, "b", "a"))
    model.partial_fit(x[:, 100:])
    assert model.predict(x).shape == (150,)
    with pytest.raises(th.DataError, match="names"):
        model.partial_fit(th.FeatureStream(x, names=[f"c{j}" for j in range(200)]))
