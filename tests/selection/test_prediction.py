"""Predictions of a selection, against dense NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import thresher as th
from tests.selection.makers import K, N, P, make
from thresher import _native
from thresher.core.feature_space import FeatureSpace
from thresher.errors import DataError, SpaceError


def frame_of(x):
    import pandas as pd

    return pd.DataFrame({f"c{j}": x[:, j] for j in range(x.shape[1])})


def forms(x, folder):
    """The same rows in every form, each with the keys of its columns and its feature space."""
    dump_svmlight_file(x.astype(np.float64), np.zeros(len(x)), str(folder / "x.svm"), zero_based=True)
    positions = np.arange(x.shape[1], dtype=np.uint64)
    hashes = np.array([_native.hash_bytes(f"c{j}".encode(), 0) for j in range(x.shape[1])], np.uint64)
    columns = FeatureSpace("column", x.shape[1])
    return {
        "array": (x, positions, columns),
        "double": (x.astype(np.float64), positions, columns),
        "csr": (sp.csr_matrix(x), positions, columns),
        "csr64": (wide_indices(sp.csr_matrix(x)), positions, columns),
        "csc": (sp.csc_matrix(x), positions, columns),
        "frame": (frame_of(x), hashes, FeatureSpace("token")),
        "libsvm": (folder / "x.svm", positions, FeatureSpace("index")),
    }


def wide_indices(matrix):
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


FORMS = ["array", "double", "csr", "csr64", "csc", "frame", "libsvm"]


@pytest.mark.parametrize("form", FORMS)
def test_the_model_agrees_with_dense_numpy(problem, tmp_path, form):
    x, columns, weights = problem
    data, keys, space = forms(x, tmp_path)[form]
    selection = make(weights, keys=keys[columns], space=space, classes=["no", "yes"])
    margins = x[:, columns].astype(np.float64) @ weights + 0.25
    np.testing.assert_allclose(selection.decision_function(data), margins, rtol=1e-12, atol=1e-12)
    assert selection.predict(data).tolist() == np.where(margins > 0, "yes", "no").tolist()
    probable = 1 / (1 + np.exp(-margins))
    np.testing.assert_allclose(selection.predict_proba(data), np.stack([1 - probable, probable], 1), rtol=1e-12)
    chosen = selection.transform(data)
    assert sp.issparse(chosen)
    assert chosen.format == "csr"
    assert chosen.dtype == np.float32
    np.testing.assert_array_equal(chosen.toarray(), x[:, columns])


@pytest.mark.parametrize("form", FORMS)
def test_several_outputs_agree_with_dense_numpy(problem, tmp_path, form):
    x, columns, _ = problem
    data, keys, space = forms(x, tmp_path)[form]
    weights = np.random.default_rng(1).normal(size=(3, K))
    intercept = np.array([0.1, -0.2, 0.3])
    selection = make(
        weights, keys=keys[columns], space=space, loss="softmax", classes=[1.0, 2.0, 5.0], intercept=intercept
    )
    margins = x[:, columns].astype(np.float64) @ weights.T + intercept
    np.testing.assert_allclose(selection.decision_function(data), margins, rtol=1e-12, atol=1e-12)
    assert selection.predict(data).tolist() == np.array([1, 2, 5])[margins.argmax(1)].tolist()


@pytest.mark.parametrize("form", FORMS)
def test_several_labels_agree_with_dense_numpy(problem, tmp_path, form):
    """Every label is a question of its own; the answers survive saving."""
    x, columns, _ = problem
    data, keys, space = forms(x, tmp_path)[form]
    weights = np.random.default_rng(1).normal(size=(2, K))
    intercept = np.array([0.1, -0.2])
    made = make(weights, keys=keys[columns], space=space, loss="logistic", classes=["a", "b"], intercept=intercept)
    made.save(tmp_path / "several.thr")
    margins = x[:, columns].astype(np.float64) @ weights.T + intercept
    for selection in (made, th.load(tmp_path / "several.thr")):
        assert selection.multilabel
        assert selection.predict(data).tolist() == (margins > 0).astype(int).tolist()
        np.testing.assert_allclose(selection.predict_proba(data), 1 / (1 + np.exp(-margins)), rtol=1e-9)
        assert list(selection.columns())[3:5] == ["weight_a", "weight_b"]
    hinge = make(weights, keys=keys[columns], space=space, loss="hinge", classes=["a", "b"], intercept=intercept)
    with pytest.raises(DataError, match="no probabilities"):
        hinge.predict_proba(data)


def test_regression_predicts_the_margin(problem):
    x, columns, weights = problem
    selection = make(weights, keys=columns, space=FeatureSpace("column", P), loss="squared")
    np.testing.assert_array_equal(selection.predict(x), selection.decision_function(x))
    with pytest.raises(DataError, match="squared loss gives no probabilities"):
        selection.predict_proba(x)


def test_repeated_features_of_a_row_add_up(tmp_path):
    (tmp_path / "a.vw").write_text("1 |n a:2 b a:0.5\n1 |\n")
    keys = [_native.hash_bytes(name, _native.hash_bytes(b"n^", 0)) for name in (b"b", b"a")]
    selection = make([10.0, 1.0], keys=keys, intercept=[0.0])
    assert selection.decision_function(tmp_path / "a.vw").tolist() == [12.5, 0.0]
    assert selection.transform(tmp_path / "a.vw").toarray().tolist() == [[1.0, 2.5], [0.0, 0.0]]


def test_probabilities_far_out_stay_within_bounds():
    selection = make([1.0], keys=[0], space=FeatureSpace("column", 1), intercept=[0.0])
    proba = selection.predict_proba(np.array([[-1e30], [-50.0], [0.0], [50.0], [1e30]]))
    np.testing.assert_array_equal(proba[[0, 2, 4]], [[1, 0], [0.5, 0.5], [0, 1]])
    assert ((proba >= 0) & (proba <= 1)).all()


def test_no_features_and_no_rows(problem):
    x, _, _ = problem
    nothing = make([], space=FeatureSpace("column", P))
    assert nothing.decision_function(x).tolist() == [0.25] * N
    assert nothing.transform(x).shape == (N, 0)
    assert nothing.transform(sp.csr_matrix(x)).shape == (N, 0)
    empty = x[:0]
    some = make([1.0], space=FeatureSpace("column", P))
    assert some.decision_function(empty).shape == (0,)
    assert some.predict(empty).shape == (0,)
    assert some.predict_proba(empty).shape == (0, 2)
    assert some.transform(empty).shape == (0, 1)
    several = make([[1.0], [2.0], [3.0]], space=some.space, loss="softmax", classes="abc", intercept=np.zeros(3))
    assert several.decision_function(empty).shape == (0, 3)
    assert several.predict(empty).shape == (0,)


def test_another_feature_space_is_refused(problem, tmp_path):
    x, _, _ = problem
    data = forms(x, tmp_path)
    models = {
        "array": make([1.0], space=FeatureSpace("column", P)),
        "frame": make([1.0], space=FeatureSpace("token")),
        "libsvm": make([1.0], space=FeatureSpace("index")),
    }
    for own, model in models.items():
        for form, (rows, _, _) in data.items():
            kind = form if form in ("frame", "libsvm") else "array"
            for ask in (model.predict, model.decision_function, model.predict_proba, model.transform):
                if kind == own:
                    ask(rows)
                else:
                    with pytest.raises(SpaceError, match="the model's features are"):
                        ask(rows)
    with pytest.raises(SpaceError, match="9 of them"):
        models["array"].predict(x[:, :-1])
