"""The estimators: the same bits as th.select, every kind of data, every kind of target."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import thresher as th
from tests.streams import planted, write_libsvm, write_vw

SUPPORT = (3, 77, 200, 399)
X, Y = planted(support=SUPPORT)
NUMBERS = np.asarray(X[:, SUPPORT].sum(axis=1)).ravel() + 0.1 * np.cos(np.arange(X.shape[0]))
CLASSES = np.array(["ant", "bee", "cow"])[np.digitize(NUMBERS, np.quantile(NUMBERS, [1 / 3, 2 / 3]))]
HOW: dict[str, Any] = {"k": 20, "memory": "16MB", "passes": 2}
SEVERAL = np.stack([Y > 0, CLASSES == "cow", NUMBERS > 2], axis=1).astype(int)


def same(selection: th.Selection, other: th.Selection) -> None:
    np.testing.assert_array_equal(selection.keys, other.keys)
    np.testing.assert_array_equal(selection.weights, other.weights)
    np.testing.assert_array_equal(selection.intercept, other.intercept)
    assert selection.names == other.names
    assert selection.classes == other.classes
    assert selection.settings == other.settings


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    return {"vw": write_vw(folder / "rows.vw", X, Y), "svm": write_libsvm(folder / "rows.svm", X, Y)}


# ── the same as th.select ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"method": "iht"},
        {"method": "batch-iht"},
        {"active": "sketch"},
        {"loss": "hinge", "l2": 1e-3, "decay": 0.999, "minibatch": 3, "fit_intercept": False},
        {"random_state": 7, "shuffle": False, "sketch": (3, 1000)},
        {"class_weight": "balanced"},
        {"interactions": [(3, 77)]},
    ],
    ids=str,
)
def test_the_same_bits_as_select(more: dict[str, Any]) -> None:
    model = th.MissionClassifier(**HOW, **more).fit(X, Y)
    same(model.selection_, th.select(X, Y, **HOW, **more))


def test_the_same_bits_as_select_from_files(files: dict[str, Path]) -> None:
    for path in files.values():
        same(th.MissionClassifier(**HOW).fit(path).selection_, th.select(path, **HOW))
        same(th.MissionClassifier(**HOW).fit(th.scan(path)).selection_, th.select(path, **HOW))
    with pytest.raises(th.SettingsError, match="brings its own"):
        th.MissionClassifier().fit(files["vw"], Y)


def test_the_same_bits_as_select_of_numbers_classes_and_labels() -> None:
    same(th.MissionRegressor(**HOW).fit(X, NUMBERS).selection_, th.select(X, NUMBERS, loss="squared", **HOW))
    same(th.MissionClassifier(**HOW).fit(X, CLASSES).selection_, th.select(X, CLASSES, loss="softmax", **HOW))
    several = th.MissionClassifier(**HOW).fit(X, SEVERAL)
    same(several.selection_, th.select(X, SEVERAL, multilabel=True, **HOW))
    same(several.selection_, th.MissionClassifier(**HOW).fit(X, sp.csr_matrix(SEVERAL)).selection_)


def test_any_kind_of_matrix_gives_the_same_bits() -> None:
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    dense = (X.toarray(), X.toarray().astype(np.float32), X.toarray().tolist())
    first = th.MissionClassifier(**HOW).fit(X, Y)
    for data in (wide, sp.csc_matrix(X)):
        same(first.selection_, th.MissionClassifier(**HOW).fit(data, Y).selection_)
    for data in dense:  # by default, columns of dense matrices are standardised
        same(first.selection_, th.MissionClassifier(**HOW, standardize=False).fit(data, Y).selection_)
    first = th.MissionClassifier(**HOW).fit(dense[1], Y)
    same(first.selection_, th.MissionClassifier(**HOW).fit(dense[1].tolist(), Y).selection_)


def test_columns_cost_nothing() -> None:
    rng = np.random.default_rng(0)
    rows, width = 500, 2**40
    entries = np.ones(rows * 20), rng.integers(0, width, rows * 20), np.arange(0, rows * 20 + 1, 20)
    wide = sp.csr_array(entries, shape=(rows, width))
    model = th.MissionClassifier(**HOW).fit(wide, rng.integers(0, 2, rows))
    assert model.n_features_in_ == width
    columns = model.transform(wide)
    assert columns.shape == (rows, 20)
    assert columns.dtype == wide.dtype
    np.testing.assert_array_equal(columns.toarray(), model.selection_.transform(wide).toarray())
    with pytest.raises(th.SettingsError, match="indices=True"):
        model.get_support()
    assert model.get_support(indices=True).max() < width


def test_seeds() -> None:
    seeds = [None, 0, np.int64(0), 5, np.random.RandomState(1), np.random.RandomState(1)]
    # Of the sketch's few cells some are shared, and which follows from the seed.
    weights = [th.MissionClassifier(**HOW, random_state=s).fit(X, Y).coef_ for s in seeds]
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_array_equal(weights[0], weights[2])
    assert not np.array_equal(weights[0], weights[3])
    np.testing.assert_array_equal(weights[4], weights[5])


# ── what comes out ───────────────────────────────────────────────────────────────────────────────


def test_one_order_and_the_shapes_of_two_classes() -> None:
    model = th.MissionClassifier(**HOW).fit(X, Y)
    k = len(model.selection_)
    assert model.coef_.shape == (1, k)
    assert model.intercept_.shape == (1,)
    assert (np.diff(np.abs(model.coef_[0])) <= 0).all()
    at = model.get_support(indices=True)
    np.testing.assert_array_equal(at, model.selection_.keys)
    assert list(model.get_feature_names_out()) == [f"x{j}" for j in at]
    names = [f"word-{j}" for j in range(X.shape[1])]
    assert list(model.get_feature_names_out(names)) == [f"word-{j}" for j in at]
    mask = model.get_support()
    assert mask.shape == (X.shape[1],)
    np.testing.assert_array_equal(np.flatnonzero(mask), np.sort(at))
    columns = model.transform(X)
    np.testing.assert_array_equal(columns.toarray(), X.toarray()[:, at])
    np.testing.assert_array_equal(model.transform(X.toarray()), X.toarray()[:, at])
    margins = model.decision_function(X)
    np.testing.assert_allclose(columns @ model.coef_[0] + model.intercept_, margins, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.classes_[(margins > 0).astype(int)])
    assert model.predict_proba(X).shape == (X.shape[0], 2)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_several_classes() -> None:
    model = th.MissionClassifier(**HOW).fit(X, CLASSES)
    k = len(model.selection_)
    assert list(model.classes_) == ["ant", "bee", "cow"]
    assert (model.coef_.shape, model.intercept_.shape) == ((3, k), (3,))
    assert model.selection_.loss.name == "softmax"
    norms = np.sqrt((model.coef_**2).sum(axis=0))
    assert (np.diff(norms) <= 1e-12).all()
    assert model.predict_proba(X).shape == model.decision_function(X).shape == (X.shape[0], 3)
    assert model.score(X, CLASSES) > 0.6
    with pytest.raises(th.DataError, match="Only binary"):
        th.MissionClassifier(loss="hinge").fit(X, CLASSES)
    fewer = th.MissionClassifier(**HOW, per_class=True).fit(X, CLASSES)
    assert ((fewer.coef_ != 0).sum(axis=1) <= 20).all()


def test_softmax_of_two_classes_looks_like_two_classes() -> None:
    model = th.MissionClassifier(loss="softmax", calibrate=False, **HOW).fit(X, Y)
    assert (model.coef_.shape, model.intercept_.shape) == ((1, len(model.selection_)), (1,))
    margins = model.decision_function(X)
    assert margins.ndim == 1
    np.testing.assert_array_equal(model.predict(X), model.classes_[(margins > 0).astype(int)])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-margins)))


def test_several_labels_a_row() -> None:
    model = th.MissionClassifier(**HOW).fit(X, SEVERAL)
    assert model.coef_.shape == (3, len(model.selection_))
    assert model.predict(X).shape == model.predict_proba(X).shape == SEVERAL.shape
    assert (model.predict(X) == SEVERAL).mean() > 0.8
    assert 0 < model.score(X, SEVERAL) <= 1
    empty = th.MissionClassifier(**HOW).fit(X, np.column_stack([SEVERAL, np.zeros(len(Y), int)]))
    assert not empty.predict(X)[:, 3].any()  # a label that no row has is still a label


def test_regression() -> None:
    model = th.MissionRegressor(**HOW).fit(X, NUMBERS)
    assert model.coef_.shape == (len(model.selection_),)
    assert isinstance(model.intercept_, float)
    assert set(SUPPORT) <= set(model.get_support(indices=True)[:6].tolist())
    assert model.score(X, NUMBERS) > 0.7
    assert not hasattr(model, "decision_function")


def test_fewer_features_than_k() -> None:
    few = X.toarray()[:, :5]
    model = th.MissionClassifier(k=1000).fit(few, Y)
    assert model.transform(few).shape[1] == len(model.selection_) <= 5


def test_labels_keep_their_type() -> None:
    for labels in (Y > 0, np.where(Y > 0, "yes", "no"), np.where(Y > 0, 7, 3), (Y > 0).astype(float)):
        model = th.MissionClassifier(**HOW).fit(X, labels)
        np.testing.assert_array_equal(model.classes_, np.unique(labels))
        assert model.predict(X).dtype == model.classes_.dtype == np.unique(labels).dtype
        np.testing.assert_array_equal(model.predict(X) == labels, model.predict(X) == labels)
        assert model.score(X, labels) > 0.7


def test_rows_of_weight_zero_are_ignored() -> None:
    weight = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
    kept = weight > 0
    for data in (X, X.toarray()):
        one = th.MissionClassifier(**HOW).fit(data, Y, sample_weight=weight)
        other = th.MissionClassifier(**HOW).fit(data[kept], Y[kept], sample_weight=weight[kept])
        same(one.selection_, other.selection_)
    plain = th.MissionClassifier(**HOW).fit(X, Y)
    same(plain.selection_, th.MissionClassifier(**HOW).fit(X, Y, sample_weight=np.ones(len(Y))).selection_)


def test_class_weights() -> None:
    heavy = th.MissionClassifier(**HOW, class_weight={1: 50.0}).fit(X, Y)
    light = th.MissionClassifier(**HOW, class_weight={1: 0.02}).fit(X, Y)
    assert (heavy.predict(X) == 1).sum() > (light.predict(X) == 1).sum()


# ── frames and files ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames(package: str) -> None:
    frames = pytest.importorskip(package)
    dense = X.toarray()[:, :100]
    columns: dict[str, Any] = {f"c{j}": dense[:, j] for j in range(100)}
    columns["city"] = np.where(Y > 0, "Rome", "Oslo")
    frame = frames.DataFrame(columns)
    model = th.MissionClassifier(**HOW).fit(frame, Y)
    same(model.selection_, th.select(frame, Y, **HOW))
    assert model.n_features_in_ == 101
    assert list(model.feature_names_in_) == list(columns)
    assert {"city=Rome", "city=Oslo"} <= set(model.get_feature_names_out())
    assert model.score(frame, Y) == 1
    assert model.transform(frame).shape == (len(Y), len(model.selection_))
    with pytest.raises(th.SettingsError, match="not columns by position"):
        model.get_support(indices=True)
    numeric = frame[[f"c{j}" for j in range(100)]]
    model = th.MissionClassifier(**HOW).fit(numeric, Y)
    assert [f"c{j}" for j in model.get_support(indices=True)] == list(model.get_feature_names_out())
    assert isinstance(model.transform(numeric), np.ndarray)
    if package == "polars":
        same(model.selection_, th.MissionClassifier(**HOW).fit(numeric.lazy(), Y).selection_)


def test_files_everywhere(files: dict[str, Path]) -> None:
    for path in files.values():
        model = th.MissionClassifier(**HOW).fit(path)
        assert list(model.classes_) == sorted(set(Y.tolist()))
        assert model.predict(path).shape == (len(Y),)
        assert model.score(path) == pytest.approx(np.mean(model.predict(path) == Y))
        assert model.score(path) == pytest.approx(model.score(path, Y))
        assert sp.issparse(model.transform(path))
        assert not hasattr(model, "n_features_in_")
        with pytest.raises(th.SettingsError, match=r"not known|hashed"):
            model.get_support()
        with pytest.raises(th.SpaceError):
            model.predict(X)
    with pytest.raises(th.DataError, match="pass y"):
        th.MissionClassifier(k=5).fit(X, Y).score(X)
    np.testing.assert_array_equal(
        th.MissionClassifier(**HOW).fit(files["svm"]).get_support(indices=True),
        th.select(files["svm"], **HOW).keys,
    )


def test_a_file_of_numbers_of_classes_and_of_labels(tmp_path: Path) -> None:
    numbers = write_libsvm(tmp_path / "numbers.svm", X, NUMBERS)
    model = th.MissionRegressor(**HOW).fit(numbers)
    assert model.score(numbers) == pytest.approx(model.score(numbers, NUMBERS))
    codes = np.searchsorted(["ant", "bee", "cow"], CLASSES)
    classes = write_libsvm(tmp_path / "classes.svm", X, codes)
    several = th.MissionClassifier(**HOW).fit(classes)
    assert list(several.classes_) == [0, 1, 2]
    same(several.selection_, th.select(classes, loss="softmax", **HOW))
    assert several.score(classes) == pytest.approx(np.mean(several.predict(classes) == codes))
    lines = classes.read_text().splitlines()
    listed = (",".join(str(j) for j in np.flatnonzero(row)) for row in SEVERAL)
    labels = tmp_path / "labels.svm"
    labels.write_text("".join(f"{a} {b.split(' ', 1)[1]}\n" for a, b in zip(listed, lines, strict=True)))
    many = th.MissionClassifier(**HOW).fit(th.scan_libsvm(labels, multilabel=True))
    same(many.selection_, th.select(labels, multilabel=True, **HOW))
    assert many.predict(labels.with_name("classes.svm")).shape == SEVERAL.shape


# ── hashing, errors ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("y", [Y, CLASSES, SEVERAL], ids=["two", "three", "labels"])
def test_hashing_has_buckets(y: Any, tmp_path: Any) -> None:
    import pickle

    model = th.MissionClassifier(method="hashing", memory="16MB", passes=2).fit(X, y)
    assert all(name.startswith("bucket ") for name in model.selection_.names)
    assert model.coef_.shape == (1 if y is Y else 3, len(model.selection_))
    assert model.score(X, y) > 0.5
    assert model.transform(X).shape == (X.shape[0], len(model.selection_))
    with pytest.raises(th.SettingsError, match="not columns by position"):
        model.get_support(indices=True)
    model.selection_.save(tmp_path / "model.thr")
    loaded = th.load(tmp_path / "model.thr")
    np.testing.assert_array_equal(loaded.decision_function(X), model.selection_.decision_function(X))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))


def test_error_messages_for_bad_input() -> None:
    with pytest.raises(NotFittedError):
        th.MissionClassifier().predict(X)
    with pytest.raises(ValueError, match="requires y"):
        th.MissionClassifier().fit(X)
    with pytest.raises(th.SettingsError, match="MissionRegressor"):
        th.MissionClassifier(loss="squared").fit(X, Y)
    with pytest.raises(th.SettingsError, match="MissionClassifier"):
        th.MissionRegressor(loss="logistic").fit(X, Y)
    with pytest.raises(th.SettingsError, match="unknown method"):
        th.MissionClassifier(method="mist").fit(X, Y)
    with pytest.raises(th.SettingsError, match="class_weight"):
        th.MissionClassifier(class_weight="even").fit(X, Y)
    with pytest.raises(th.DataError, match=r"0 and 1"):
        th.select(X, np.full((len(Y), 2), 3), k=2)
    with pytest.raises(th.DataError, match="multilabel=True"):
        th.select(X, SEVERAL, k=2)
    plain = th.MissionClassifier(loss="hinge", calibrate=False, **HOW)
    assert hasattr(plain, "predict_proba")
    assert not hasattr(plain.fit(X, Y), "predict_proba")
    assert not hasattr(th.MissionClassifier(), "selection_")


def test_an_interrupt_leaves_a_usable_model(monkeypatch: pytest.MonkeyPatch) -> None:
    from thresher.online.run import OnlineRun

    learn = OnlineRun._end_pass

    def stop(self: OnlineRun) -> None:
        learn(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(OnlineRun, "_end_pass", stop)
    model = th.MissionClassifier(k=20, memory="16MB", passes=9)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert model.score(X, Y) > 0.7


@pytest.mark.parametrize("module", ["mission", "budgeted", "fgm", "sparse_rf", "substitution"])
def test_the_examples_in_the_documentation(module: str) -> None:
    tried = doctest.testmod(importlib.import_module(f"thresher.estimators.{module}"))
    assert tried.attempted > 3
    assert tried.failed == 0


def test_without_scikit_learn_it_says_how_to_get_it() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import thresher as th\n"
        "try: th.MissionClassifier\n"
        "except th.MissingExtraError as error: print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert "pip install 'thresher[sklearn]'" in out.stdout
