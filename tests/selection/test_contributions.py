"""Contributions of features to predictions: with the intercept they sum to the margin."""

import numpy as np
import pytest
import scipy.sparse as sp

import thresher as th
from tests.selection.makers import make
from thresher.core.feature_space import FeatureSpace
from thresher.errors import SpaceError
from thresher.sources.registry import as_source

RNG = np.random.default_rng(5)
X = RNG.normal(size=(120, 6)) * np.array([1, 50, 0.1, 1, 1, 1]) + np.array([0, 900, 0, 0, 0, 3])
SIGNAL = X[:, 0] + (X[:, 1] - 900) / 50 - X[:, 3] * X[:, 4]
Y = SIGNAL > 0
THREE = np.digitize(SIGNAL, [-1, 1])
LABELS = np.stack([X[:, 0] > 0, X[:, 3] > 0], axis=1).astype(int)


def assert_sums(selection, data, tolerance=1e-12):
    values, intercept = found = selection.contributions(data)
    margins = selection.decision_function(data)
    matrices = values if isinstance(values, list) else [values]
    assert all(matrix.shape == (len(margins), len(selection)) for matrix in matrices)
    assert len(matrices) == len(intercept) == len(selection.intercept)
    scale = max(abs(matrix).sum(axis=1).max() for matrix in matrices) + abs(intercept).max()
    np.testing.assert_allclose(found.margins(), margins, rtol=0, atol=tolerance * scale)
    return found


@pytest.mark.parametrize(
    ("y", "settings"),
    [
        (Y, {"k": 3}),
        (Y, {"k": 3, "standardize": True}),
        (Y, {"k": 3, "standardize": False}),
        (Y, {"k": 4, "interactions": 2}),
        (THREE, {"k": 3}),
        (THREE, {"k": 3, "method": "b-arda", "per_class": True}),
        (SIGNAL, {"k": 3, "task": "numbers"}),
        (Y, {"k": 2, "method": "b-arda", "groups": [[0, 1], [2, 3], [4, 5]]}),
        (Y, {"k": 3, "method": "fgm", "family": "polynomial:2,gamma=1,r=1"}),
        (Y, {"k": 3, "method": "os"}),
        (Y, {"k": 4, "method": "hashing", "memory": "2MB"}),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else str(value.dtype),
)
def test_contributions_sum_to_the_margin(y, settings):
    settings = {"passes": 2} | settings if settings.get("method") not in ("fgm", "os") else settings
    assert_sums(th.select(X, y, **settings), X[:20])


def test_several_labels_have_a_matrix_each():
    selection = th.select(X, LABELS, k=3, multilabel=True)
    found = assert_sums(selection, X[:10])
    assert isinstance(found.values, list)
    assert len(found.values) == 2


def test_random_features_contribute_as_functions():
    selection = th.select(X, Y, method="sparse-rf", k=8, gamma=0.5, lam=0.5, draws=10)
    assert_sums(selection, X[:20], 1e-7)


def test_each_contribution_is_weight_times_value():
    weights = np.array([2.0, -0.5, 0.1])
    selection = make(weights, keys=[4, 0, 2], space=FeatureSpace("column", 6))
    found = selection.contributions(X[:7])
    assert found.values.format == "csr"
    np.testing.assert_allclose(found.values.toarray(), X[:7].astype(np.float32)[:, [4, 0, 2]] * weights, rtol=1e-15)
    assert found.intercept.tolist() == [0.25]


def test_a_feature_that_a_row_lacks_stores_nothing(tmp_path):
    (tmp_path / "rows.svm").write_text("1 3:2 3:4 7:1\n-1 5:1\n")
    selection = make([1.5, 2.0], keys=[3, 9], space=FeatureSpace("index"))
    found = assert_sums(selection, tmp_path / "rows.svm")
    assert found.values.nnz == 1
    assert found.values[0, 0] == 9.0


def test_they_accept_what_predict_accepts():
    selection = make([1.0], keys=[1], space=FeatureSpace("column", 6))
    for data in (X, sp.csr_matrix(X), as_source(X)):
        assert_sums(selection, data)
    assert selection.contributions(X[:0]).values.shape == (0, 1)
    with pytest.raises(SpaceError, match="another feature"):
        selection.contributions(X[:, :3])
