"""Files of selections whose parts are invalid or do not fit together."""

import numpy as np
import pytest

import thresher as th
from tests.core.storage.test_container import forge
from thresher.core.losses import get_loss
from thresher.core.storage import container
from thresher.errors import FileFormatError


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
    ("space", {"kind": "buckets", "of": {"kind": "index", "size": None}, "width": 8, "seed": -1}),
    ("space", {"kind": "buckets", "of": {"kind": "index", "size": None}, "width": 8, "seed": 2**64}),
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
    with pytest.raises(FileFormatError, match="not a valid selection"):
        load_forged(tmp_path / "s.thr", {**meta, name: value}, arrays)


@pytest.mark.parametrize(("name", "array"), FORGED_ARRAYS)
def test_forged_arrays_are_refused(tmp_path, name, array):
    meta, arrays = parts()
    with pytest.raises(FileFormatError, match="not a valid selection"):
        load_forged(tmp_path / "s.thr", meta, {**arrays, name: array})


@pytest.mark.parametrize("missing", [*parts()[0], *parts()[1]])
def test_missing_parts_are_refused(tmp_path, missing):
    meta, arrays = parts()
    meta.pop(missing, None)
    arrays.pop(missing, None)
    with pytest.raises(FileFormatError, match="not a valid selection"):
        load_forged(tmp_path / "s.thr", meta, arrays)


def test_several_outputs_must_fit_the_classes(tmp_path):
    meta, arrays = parts("softmax")
    for name, value in (("intercept", np.zeros(1)), ("weights", np.ones(2)), ("weights", np.ones((2, 3)))):
        with pytest.raises(FileFormatError):
            load_forged(tmp_path / "s.thr", meta, {**arrays, name: value})
    with pytest.raises(FileFormatError):
        load_forged(tmp_path / "s.thr", {**meta, "classes": ["a", "b", "c"]}, arrays)
