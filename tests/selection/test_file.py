"""Files of selections: the format, damage, and files of earlier versions."""

import hashlib
import itertools
import json
import struct
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.data.make_golden import PATH as GOLDEN
from tests.data.make_golden import golden
from tests.selection.makers import ARRAYS, assert_same, make
from thresher.core.feature_space import FeatureSpace, Hashing
from thresher.core.losses import get_loss
from thresher.core.storage import container
from thresher.errors import FileFormatError
from thresher.selection.file import current_settings
from thresher.selection.selection import Selection


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
    pieces = container._pieces

    def fail_after_one(content):
        yield next(pieces(content))
        raise MemoryError

    monkeypatch.setattr(container, "_pieces", fail_after_one)
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


def test_buckets_of_an_earlier_hash_are_refused() -> None:
    """A selection whose keys fell into buckets by another rule must not be read as if by this one."""
    written = FeatureSpace("index").hashed(Hashing(8, 3)).to_dict()
    assert FeatureSpace.from_dict(written).hashing == Hashing(8, 3)
    with pytest.raises((KeyError, ValueError)):
        FeatureSpace.from_dict(written | {"kind": "hashed"})


OLD_FILES = sorted((Path(__file__).parents[1] / "golden" / "stored").glob("*.thr"))


@pytest.mark.parametrize("path", OLD_FILES, ids=lambda path: path.stem)
def test_settings_of_earlier_versions_have_their_current_names(path):
    written = read_by_the_book(path)[1]["settings"]
    loaded = th.load(path).settings
    assert list(loaded.values()) == list(written.values())
    assert loaded["fit_intercept"] is True
    assert not {"intercept", "shift", "iterations", "rounds", "threads"} & set(loaded)
    assert loaded.get("max_iter") == {"fgm": 10, "sparse-rf": 3}.get(written["method"])


def test_only_renamed_settings_get_another_name():
    assert OLD_FILES
    settings = th.load(GOLDEN).settings
    assert settings == {"k": 4, "step": "auto", "passes": 2, "shuffle": True}
    assert current_settings(settings) == settings
    assert current_settings({"method": "os", "rounds": 2, "threads": 3}) == {"method": "os", "rounds": 2, "n_jobs": 3}
