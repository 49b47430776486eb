"""Selections: the file, the model against dense NumPy, the scores against scikit-learn."""

import hashlib
import itertools
import json
import struct
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.datasets import dump_svmlight_file

import thresher as th
from tests.core.test_container import forge
from tests.data.make_golden import PATH as GOLDEN
from tests.data.make_golden import golden
from thresher import _native
from thresher.core import container
from thresher.core.feature_space import FeatureSpace, Hashing
from thresher.core.losses import get_loss
from thresher.errors import DataError, FileFormatError, SpaceError
from thresher.selection.selection import Selection, evaluate
from thresher.sources.registry import as_source

ARRAYS = ("keys", "weights", "bounds", "counts", "intercept")
N, P, K = 60, 9, 4


def make(weights, *, keys=None, names=None, intercept=(0.25,), loss="logistic", classes=(0.0, 1.0), space=None):
    """A selection of given weights; the rest is filled in."""
    weights = np.asarray(weights, dtype=np.float64)
    k = weights.shape[-1]
    loss = get_loss(loss)
    return Selection(
        names=[f"f{i}" for i in range(k)] if names is None else names,
        keys=np.arange(k, dtype=np.uint64) if keys is None else np.asarray(keys, dtype=np.uint64),
        weights=weights,
        bounds=np.zeros(k),
        counts=np.ones(k, np.uint64),
        intercept=np.asarray(intercept, dtype=np.float64),
        loss=loss,
        classes=None if loss.task == "real" else list(classes),
        space=space or FeatureSpace("token"),
    )


def assert_same(a, b):
    """Equal in every part, arrays to the bit."""
    for name in ARRAYS:
        left, right = getattr(a, name), getattr(b, name)
        assert left.dtype == right.dtype
        assert left.shape == right.shape
        assert left.tobytes() == right.tobytes()
    for name in ("names", "loss", "classes", "space", "settings", "provenance"):
        assert getattr(a, name) == getattr(b, name)


def read_by_the_book(path):
    """A reader of format 1 made from docs/format.md alone."""
    raw = Path(path).read_bytes()
    magic, version, header_size, total = struct.unpack("<8sIIQ", raw[:24])
    assert magic == bytes.fromhex("89 54 48 52 0D 0A 1A 0A")
    assert version == 1
    assert total == len(raw)
    assert hashlib.blake2b(raw[:-32], digest_size=32).digest() == raw[-32:]
    start = 24 + header_size
    assert start % 8 == 0
    header = json.loads(raw[24:start])
    arrays = {}
    for name, place in header["arrays"].items():
        first = start + place["offset"]
        stretch = raw[first : first + place["bytes"]]
        arrays[name] = np.frombuffer(stretch, place["dtype"]).reshape(place["shape"])
    edges, text = arrays["name_offsets"], arrays["name_text"].tobytes()
    names = [text[a:b] for a, b in itertools.pairwise(edges)]
    return header["kind"], header["meta"], arrays, names


# ── the file ─────────────────────────────────────────────────────────────────────────────────────


def test_the_golden_file_holds_what_it_always_held():
    loaded = th.load(GOLDEN)
    assert loaded.names == ["site^example", "größe=鳥", "cut\udce2\udc82", ""]
    assert loaded.keys.tolist() == [3, 2**64 - 1, 2**63, 17]
    assert loaded.weights.tolist() == [1.5, -0.1, 5e-324, 0.0]
    assert loaded.bounds.tolist() == [0.0, 0.25, 0.5, 1e300]
    assert loaded.counts.tolist() == [1, 2**40, 2**64 - 1, 0]
    assert loaded.intercept.tolist() == [-1 / 3]
    assert loaded.loss == get_loss("logistic")
    assert loaded.classes == ["ham", "späm"]
    assert loaded.space == FeatureSpace("token")
    assert loaded.settings == {"k": 4, "step": "auto", "passes": 2, "shuffle": True}
    assert loaded.provenance["test"] == {"accuracy": 0.875, "loss": 1 / 3}
    assert_same(loaded, golden())


def test_the_golden_file_is_written_again_to_the_byte(tmp_path):
    golden().save(tmp_path / "a.thr")
    assert (tmp_path / "a.thr").read_bytes() == GOLDEN.read_bytes()
    th.load(GOLDEN).save(tmp_path / "b.thr")
    assert (tmp_path / "b.thr").read_bytes() == GOLDEN.read_bytes()


def test_a_reader_from_the_specification_agrees():
    kind, meta, arrays, names = read_by_the_book(GOLDEN)
    expected = golden()
    assert kind == "selection"
    assert names == [name.encode("utf-8", "surrogateescape") for name in expected.names]
    for name in ARRAYS:
        assert np.array_equal(arrays[name], getattr(expected, name))
    assert meta == {
        "loss": "logistic",
        "classes": expected.classes,
        "space": {"kind": "token", "size": None},
        "settings": expected.settings,
        "provenance": expected.provenance,
    }


names_of_bytes = st.binary(max_size=12).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
finite = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def selections(draw):
    loss = draw(st.sampled_from(["logistic", "hinge", "squared_hinge", "squared", "huber:0.1234567890123", "softmax"]))
    keys = draw(st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=5))
    k, outputs = len(keys), draw(st.integers(2, 4)) if loss == "softmax" else 1
    classes = draw(
        st.lists(names_of_bytes, min_size=outputs, max_size=outputs, unique=True)
        if loss == "softmax"
        else st.sampled_from([[0.0, 1.0], [-1.0, 1.0], [0.5, 1e300], ["a", "é\udcff"]])
    )
    floats = draw(st.lists(finite, min_size=k * outputs + outputs, max_size=k * outputs + outputs))
    return Selection(
        names=draw(st.lists(names_of_bytes | st.just("\0|\t\n\\"), min_size=k, max_size=k)),
        keys=np.array(keys, np.uint64),
        weights=np.array(floats[outputs:]).reshape((outputs, k) if loss == "softmax" else (k,)),
        bounds=np.array(draw(st.lists(st.floats(0, allow_nan=False), min_size=k, max_size=k)), np.float64),
        counts=np.array(draw(st.lists(st.integers(0, 2**64 - 1), min_size=k, max_size=k)), np.uint64),
        intercept=np.array(floats[:outputs]),
        loss=get_loss(loss),
        classes=None if get_loss(loss).task == "real" else classes,
        space=FeatureSpace("token"),
        settings={"k": k, "path": draw(names_of_bytes)},
        provenance={"scores": [0.1, None]},
    )


@given(selections())
def test_saving_and_loading_changes_nothing(tmp_path_factory, selection):
    path = tmp_path_factory.mktemp("saved") / "s.thr"
    selection.save(path)
    loaded = th.load(path)
    assert_same(loaded, selection)
    _, _, arrays, names = read_by_the_book(path)
    assert [name.decode("utf-8", "surrogateescape") for name in names] == selection.names
    assert np.array_equal(arrays["weights"], selection.weights)


def test_every_damaged_byte_of_a_file_is_noticed(tmp_path):
    path = tmp_path / "s.thr"
    raw = GOLDEN.read_bytes()
    for at in range(len(raw)):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 1 << at % 8]) + raw[at + 1 :])
        with pytest.raises(FileFormatError, match=r"s\.thr: "):
            th.load(path)


def test_every_truncation_of_a_file_is_noticed(tmp_path):
    path = tmp_path / "s.thr"
    raw = GOLDEN.read_bytes()
    for size in range(len(raw)):
        path.write_bytes(raw[:size])
        with pytest.raises(FileFormatError, match=r"s\.thr: "):
            th.load(path)


def parts(loss="logistic"):
    """Meta and arrays of a selection in order, for the tests to put out of order."""
    meta = {
        "loss": loss,
        "classes": {"real": None, "binary": ["a", "b"], "classes": ["a", "b"]}[get_loss(loss).task],
        "space": {"kind": "column", "size": 10},
        "settings": {},
        "provenance": {},
    }
    offsets, text = container.pack_strings([b"x1", b"x2"])
    outputs = 2 if loss == "softmax" else 1
    arrays = {
        "keys": np.array([1, 2], np.uint64),
        "weights": np.ones((outputs, 2) if outputs > 1 else 2),
        "bounds": np.zeros(2),
        "counts": np.ones(2, np.uint64),
        "intercept": np.zeros(outputs),
        "name_offsets": offsets,
        "name_text": text,
    }
    return meta, arrays


FORGED_META = [
    ("loss", "perceptron"),
    ("loss", None),
    ("loss", ["logistic"]),
    ("loss", "squared"),
    ("loss", "softmax"),
    ("classes", None),
    ("classes", []),
    ("classes", ["a"]),
    ("classes", ["a", "a"]),
    ("classes", ["a", "b", "c"]),
    ("classes", ["a", 1.0]),
    ("classes", [None, None]),
    ("classes", [["a"], ["b"]]),
    ("classes", [True, False]),
    ("classes", "ab"),
    ("classes", {"a": 1, "b": 2}),
    ("space", None),
    ("space", {}),
    ("space", {"kind": "token"}),
    ("space", {"kind": "row", "size": None}),
    ("space", {"kind": [], "size": None}),
    ("space", {"kind": "column", "size": "10"}),
    ("space", {"kind": "column", "size": 2.5}),
    ("space", {"kind": "column", "size": -1}),
    ("space", {"kind": "column", "size": 2}),
    ("space", {"kind": "product"}),
    *(
        ("space", {"kind": "product", "of": {"kind": "column", "size": 10}, **fields})
        for fields in (
            {"degree": 4, "groups": None, "squares": False},
            {"degree": "2", "groups": None, "squares": False},
            {"degree": 2, "groups": None, "squares": "yes"},
            {"degree": 2, "groups": None},
            {"degree": 2, "groups": [["a", "b"]], "squares": False},
            {"degree": 2, "groups": [[1, 10]], "squares": False},
            {"degree": 2, "groups": [[1]], "squares": False},
            {"degree": 2, "groups": 7, "squares": False},
        )
    ),
    ("space", {"kind": "product", "of": {"kind": "row", "size": 1}, "degree": 2, "groups": None, "squares": False}),
    (
        "space",
        {
            "kind": "product",
            "of": {
                "kind": "product",
                "of": {"kind": "token", "size": None},
                "degree": 2,
                "groups": None,
                "squares": True,
            },
            "degree": 2,
            "groups": None,
            "squares": False,
        },
    ),
    ("settings", None),
    ("settings", [["k", 1]]),
    ("provenance", []),
]

FORGED_ARRAYS = [
    ("keys", np.array([1, 1], np.uint64)),
    ("keys", np.array([1, 2], np.int64)),
    ("keys", np.array([1.0, 2.0])),
    ("keys", np.array(1, np.uint64)),
    ("keys", np.array([[1, 2]], np.uint64)),
    ("keys", np.array([1, 2, 3], np.uint64)),
    ("weights", np.array([1.0, np.nan])),
    ("weights", np.array([1.0, -np.inf])),
    ("weights", np.ones(2, np.float32)),
    ("weights", np.ones(1)),
    ("weights", np.ones((1, 2))),
    ("bounds", np.array([0.0, np.nan])),
    ("bounds", np.array([0.0, -1.0])),
    ("bounds", np.zeros(3)),
    ("bounds", np.zeros(2, np.uint64)),
    ("counts", np.ones(2)),
    ("counts", np.ones(0, np.uint64)),
    ("intercept", np.array([np.inf])),
    ("intercept", np.zeros(0)),
    ("intercept", np.zeros(2)),
    ("intercept", np.array(0.0)),
    ("name_offsets", np.array([0, 2], np.int64)),
    ("name_offsets", np.array([0, 5, 4], np.int64)),
    ("name_offsets", np.array([0, 2, 4], np.uint64)),
    ("name_text", np.zeros(3, np.uint8)),
    ("name_text", np.zeros(4, np.float32)),
]


def load_forged(path, meta, arrays):
    sound = container.decode(container.encode(container.Content("selection", {}, arrays)))
    # Through the forger, since the writer makes nonsense plain where it can.
    sections, data = {}, b""
    for name, array in sound.arrays.items():
        size = array.nbytes
        sections[name] = {"dtype": array.dtype.str, "shape": list(array.shape), "offset": len(data), "bytes": size}
        data += array.tobytes() + bytes(-size % 8)
    path.write_bytes(forge({"kind": "selection", "meta": meta, "arrays": sections}, data))
    return th.load(path)


def test_forged_parts_in_order_load(tmp_path):
    for loss in ("logistic", "squared", "softmax"):
        meta, arrays = parts(loss)
        more = {**arrays, "later": np.zeros(3)}
        assert load_forged(tmp_path / "s.thr", {**meta, "later": 1}, more).names == ["x1", "x2"]


@pytest.mark.parametrize(("name", "value"), FORGED_META)
def test_forged_meta_is_refused(tmp_path, name, value):
    meta, arrays = parts()
    with pytest.raises(FileFormatError, match="not a selection in order"):
        load_forged(tmp_path / "s.thr", {**meta, name: value}, arrays)


@pytest.mark.parametrize(("name", "array"), FORGED_ARRAYS)
def test_forged_arrays_are_refused(tmp_path, name, array):
    meta, arrays = parts()
    with pytest.raises(FileFormatError, match="not a selection in order"):
        load_forged(tmp_path / "s.thr", meta, {**arrays, name: array})


@pytest.mark.parametrize("missing", [*parts()[0], *parts()[1]])
def test_missing_parts_are_refused(tmp_path, missing):
    meta, arrays = parts()
    meta.pop(missing, None)
    arrays.pop(missing, None)
    with pytest.raises(FileFormatError, match="not a selection in order"):
        load_forged(tmp_path / "s.thr", meta, arrays)


def test_several_outputs_must_fit_the_classes(tmp_path):
    meta, arrays = parts("softmax")
    for name, value in (("intercept", np.zeros(1)), ("weights", np.ones(2)), ("weights", np.ones((2, 3)))):
        with pytest.raises(FileFormatError):
            load_forged(tmp_path / "s.thr", meta, {**arrays, name: value})
    with pytest.raises(FileFormatError):
        load_forged(tmp_path / "s.thr", {**meta, "classes": ["a", "b", "c"]}, arrays)


def test_another_kind_and_no_file(tmp_path):
    container.write(tmp_path / "c.thr", container.Content("checkpoint", {}, {}))
    with pytest.raises(FileFormatError, match="'checkpoint' file, a 'selection' file is needed"):
        th.load(tmp_path / "c.thr")
    with pytest.raises(FileFormatError, match="No such file"):
        th.load(tmp_path / "none.thr")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "s.thr"
    make([1.0]).save(path)
    old = path.read_bytes()
    monkeypatch.setattr(container, "encode", lambda content: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(MemoryError):
        make([2.0]).save(path)
    assert path.read_bytes() == old
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.thr"]


def test_settings_of_numpy_types_can_be_saved(tmp_path):
    x, y = np.eye(4), np.array([0, 1, 0, 1])
    found = th.select(x, y, k=np.int64(2), passes=np.int32(2))
    found.provenance["score"] = float("nan")
    found.save(tmp_path / "s.thr")
    loaded = th.load(tmp_path / "s.thr")
    assert loaded.settings["k"] == 2
    assert loaded.provenance["score"] is None


# ── the model ────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(N, P)) * (rng.random((N, P)) < 0.6)).astype(np.float32)
    columns = rng.permutation(P)[:K]
    return x, columns, rng.normal(size=K)


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


def test_several_labels_are_scored(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("0,1 1:1 2:1\n1 2:1\n 1:-1 2:-1\n")
    selection = make(np.eye(2), space=FeatureSpace("index"), keys=[1, 2], loss="logistic", classes=[0.0, 1.0],
                     intercept=[0, 0])  # fmt: skip
    found = evaluate(selection, th.scan(path, multilabel=True))
    assert (found["rows"], found["hamming_accuracy"], found["micro_f1"]) == (3, 1.0, 1.0)
    path.write_text("0,7 1:1\n")
    with pytest.raises(DataError, match="line 1: the label 7 is none of the known ones"):
        evaluate(selection, th.scan(path, multilabel=True))


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


def test_the_same_bits_after_loading(problem, tmp_path):
    x, columns, _ = problem
    y = (x[:, columns[0]] > 0).astype(int)
    found = th.select(x, y, k=3, passes=2)
    found.save(tmp_path / "s.thr")
    loaded = th.load(tmp_path / "s.thr")
    assert_same(loaded, found)
    for data in (x, sp.csr_matrix(x)):
        assert loaded.decision_function(data).tobytes() == found.decision_function(data).tobytes()
        assert loaded.predict(data).tobytes() == found.predict(data).tobytes()
        assert loaded.predict_proba(data).tobytes() == found.predict_proba(data).tobytes()


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


# ── other forms ──────────────────────────────────────────────────────────────────────────────────


def test_the_table_of_features():
    frame = golden().to_frame()
    assert list(frame.columns) == ["rank", "name", "key", "weight", "bound", "count"]
    assert frame["name"].tolist() == ["site^example", "größe=鳥", r"cut\xe2\x82", ""]
    assert frame["key"].tolist() == [3, 2**64 - 1, 2**63, 17]
    table = golden().to_arrow()
    assert table.column("key").to_pylist() == golden().keys.tolist()
    assert make([]).to_arrow().num_rows == 0
    assert str(make([]).to_arrow().schema.field("name").type) == "string"
    several = make([[1.0], [2.0]], loss="softmax", classes=[3.0, 4.0], intercept=[0, 0])
    assert list(several.columns()) == ["rank", "name", "key", "weight_3", "weight_4", "bound", "count"]


def test_how_many_are_named_and_what_it_shows():
    selection = make([1.0, 2.0, 3.0, 4.0], names=["a", "#1", "#7", "d"])
    assert selection.named == 3
    assert repr(selection) == "<Selection of 4 features (3 named): a, #1, #7, …>"
    assert repr(make([])) == "<Selection of 0 features (0 named): >"


# ── scores ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), ("no", "yes")])
def test_classification_scores_are_those_of_scikit_learn(problem, labels, weighted):
    x, columns, weights = problem
    rng = np.random.default_rng(2)
    truth = rng.random(N) < 0.5
    y = np.array(labels)[truth.astype(int)]
    weight = rng.random(N).astype(np.float32) if weighted else None
    classes = [float(c) if isinstance(c, int) else c for c in labels]
    for loss in ("logistic", "hinge", "squared_hinge"):
        selection = make(weights, keys=columns, space=FeatureSpace("column", P), loss=loss, classes=classes)
        scores = evaluate(selection, as_source(x, y, weight=weight))
        margins = selection.decision_function(x)
        assert scores["rows"] == N
        accuracy = metrics.accuracy_score(y, selection.predict(x), sample_weight=weight)
        assert scores["accuracy"] == pytest.approx(accuracy, rel=1e-12)
        if loss == "logistic":
            expected = metrics.log_loss(truth, selection.predict_proba(x)[:, 1], sample_weight=weight)
        elif loss == "hinge":
            expected = metrics.hinge_loss(truth, margins, sample_weight=weight)
        else:
            gap = np.maximum(0, 1 - np.where(truth, 1, -1) * margins)
            expected = np.average(gap**2 / 2, weights=weight)
        assert scores["log_loss" if loss == "logistic" else "loss"] == pytest.approx(expected, rel=1e-6)
        assert scores["auc"] == pytest.approx(metrics.roc_auc_score(truth, margins, sample_weight=weight), abs=1e-2)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_regression_scores_are_those_of_scikit_learn(problem, offset, weighted):
    x, columns, weights = problem
    rng = np.random.default_rng(3)
    selection = make(weights, keys=columns, space=FeatureSpace("column", P), loss="squared", intercept=[offset])
    y = selection.predict(x) + rng.normal(size=N)
    weight = rng.random(N).astype(np.float32) if weighted else None
    scores = evaluate(selection, as_source(x, y, weight=weight))
    predicted = selection.predict(x)
    mse = metrics.mean_squared_error(y, predicted, sample_weight=weight)
    assert scores["rmse"] == pytest.approx(mse**0.5, rel=1e-9)
    assert scores["r2"] == pytest.approx(metrics.r2_score(y, predicted, sample_weight=weight), rel=1e-6)
    assert scores["loss"] == pytest.approx(mse / 2, rel=1e-9)


def test_scores_do_not_depend_on_the_batches(problem):
    x, columns, weights = problem
    weight = np.random.default_rng(4).random(N)
    for loss, y in (("squared", x.sum(axis=1) + 1000), ("logistic", (x.sum(axis=1) > 0).astype(float))):
        selection = make(weights, keys=columns, space=FeatureSpace("column", P), loss=loss)
        source = as_source(x, y, weight=weight)
        whole = evaluate(selection, source)
        for rows in (1, 7, N):
            cut = as_source(x, y, weight=weight)
            cut.batches = partial(source.batches, rows)
            assert evaluate(selection, cut) == whole


def test_constant_targets_have_no_r2():
    selection = make([0.0], space=FeatureSpace("column", 1), loss="squared", intercept=[0.1])
    assert evaluate(selection, as_source(np.ones((3, 1)), np.full(3, 0.1))) == {"rows": 3, "rmse": 0.0, "loss": 0.0}


def test_several_classes_are_scored():
    selection = make(np.eye(3), space=FeatureSpace("column", 3), loss="softmax", classes=list("abc"), intercept=[0] * 3)
    scores = evaluate(selection, as_source(np.eye(3), ["a", "b", "a"]))
    proba = np.exp(np.eye(3)) / np.exp(np.eye(3)).sum(1, keepdims=True)
    assert scores["accuracy"] == pytest.approx(2 / 3)
    assert scores["balanced_accuracy"] == pytest.approx(0.75)
    assert scores["log_loss"] == pytest.approx(metrics.log_loss(["a", "b", "a"], proba, labels=list("abc")))


@pytest.mark.parametrize(
    ("loss", "classes", "y", "message"),
    [
        ("logistic", [0.0, 1.0], [0, 1, 2], r"row 2 .*the label .*2.* is not one of the classes learned"),
        ("logistic", [0.0, 1.0], [0, np.nan, 1], r"row 1 .*nan"),
        ("logistic", [0.0, 1.0], ["a", "b", "a"], r"row 0 .*'a'"),
        ("logistic", ["a", "b"], [0, 1, 0], r"row 0 .*0"),
        ("logistic", ["a", "b"], ["a", None, "b"], r"row 1 .*None"),
        ("squared", None, [0, np.inf, 0], r"row 1 .*inf.* is not a finite number"),
        ("squared", None, ["a", "b", "c"], r"row 0 .*'a' is not a finite number"),
    ],
)
def test_labels_that_cannot_be_scored(loss, classes, y, message):
    y = np.array(y, dtype=object) if None in y else np.array(y)
    selection = make([1.0], space=FeatureSpace("column", 1), loss=loss, classes=classes or ())
    with pytest.raises(DataError, match=message):
        evaluate(selection, as_source(np.ones((3, 1)), y))


def test_missing_pandas_labels_cannot_be_scored():
    pd = pytest.importorskip("pandas")
    y = np.array(["a", pd.NA, "b"], dtype=object)
    selection = make([1.0], space=FeatureSpace("column", 1), classes=["a", "b"])
    with pytest.raises(DataError, match="row 1"):
        evaluate(selection, as_source(np.ones((3, 1)), y))


def test_predictions_that_are_not_finite_are_told():
    selection = make([1e308], space=FeatureSpace("column", 1))
    with pytest.raises(DataError, match=r"row 1 .*the prediction is inf.* too large"):
        evaluate(selection, as_source(np.array([[1.0], [100.0]]), [0, 1]))


def test_nothing_to_score():
    selection = make([1.0], space=FeatureSpace("column", 1))
    with pytest.raises(DataError, match="no labels"):
        evaluate(selection, as_source(np.ones((3, 1))))
    assert evaluate(selection, as_source(np.ones((0, 1)), [])) == {}


def test_the_package_does_not_bring_scikit_learn(tmp_path):
    import subprocess

    code = (
        "import sys, numpy as np, thresher as th\n"
        "s = th.select(np.eye(4), [0, 1, 0, 1], k=2)\n"
        f"s.save({str(tmp_path / 's.thr')!r}); s.export({str(tmp_path / 's.tsv')!r})\n"
        f"th.load({str(tmp_path / 's.thr')!r}).predict(np.eye(4))\n"
        "print(sorted(m for m in ('sklearn', 'pandas', 'onnx') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_buckets_of_an_earlier_hash_are_refused() -> None:
    """A selection whose keys fell into buckets by another rule must not be read as if by this one."""
    written = FeatureSpace("index").hashed(Hashing(8, 3)).to_dict()
    assert FeatureSpace.from_dict(written).hashing == Hashing(8, 3)
    with pytest.raises((KeyError, ValueError)):
        FeatureSpace.from_dict(written | {"kind": "hashed"})
