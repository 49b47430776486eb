"""Selections as other programs read them, checked against those programs."""

import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import thresher as th
from tests.data.make_golden import golden
from tests.selection.makers import make
from thresher import _native
from thresher.core.feature_space import FeatureSpace
from thresher.errors import DataError, MissingExtraError, SettingsError
from thresher.selection.export import vw
from thresher.selection.export.murmur import murmur3
from thresher.selection.export.registry import EXPORT_FORMATS, export
from thresher.selection.export.tables import as_json, tsv_lines

LOSSES = ["logistic", "hinge", "squared_hinge", "squared", "huber:1.35", "softmax"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return (rng.normal(size=(200, 8)) * (rng.random((200, 8)) < 0.7)).astype(np.float32)


def model_of(loss, classes=None, k=3):
    rng = np.random.default_rng(1)
    outputs = 3 if loss == "softmax" else 1
    weights = rng.normal(size=(outputs, k) if outputs > 1 else k)
    classes = classes or (["a", "b", "ç"] if loss == "softmax" else [0.0, 1.0])
    keys = np.array([5, 0, 7, 2], np.uint64)[:k]
    return make(
        weights,
        keys=keys,
        names=[f"x{key}" for key in keys],
        intercept=rng.normal(size=outputs),
        loss=loss,
        classes=classes,
        space=FeatureSpace("column", 8),
    )


# ── choosing a format, writing ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", EXPORT_FORMATS)
def test_the_ending_or_the_format_decides(tmp_path, kind):
    if kind == "onnx":
        pytest.importorskip("onnx")
    selection = model_of("logistic")
    selection.export(tmp_path / f"a.{kind.upper()}")
    export(selection, str(tmp_path / "b.txt"), format=kind)
    written = (tmp_path / f"a.{kind.upper()}").read_bytes()
    assert written
    assert written == (tmp_path / "b.txt").read_bytes()


@pytest.mark.parametrize(("name", "format"), [("a.csv", None), ("a", None), ("a.tsv", "excel"), (".tsv", None)])
def test_unknown_formats_are_refused_with_the_known_ones(tmp_path, name, format):
    with pytest.raises(SettingsError, match="tsv, json, parquet, vw, onnx"):
        export(golden(), tmp_path / name, format)
    assert os.listdir(tmp_path) == []


def test_a_failed_export_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.tsv"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    for kind in ("tsv", "json", "parquet"):
        with pytest.raises(OSError, match="No space left"):
            export(golden(), path, kind)
    with pytest.raises(DataError):
        export(golden(), path, "vw")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.tsv"]


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def unescaped(name):
    """The bytes of a name of the TSV table."""
    return name.encode().decode("unicode_escape").encode("latin-1") if name.isascii() else name.encode()


def test_tsv_reads_back_to_the_same_bits(tmp_path):
    names = ["a\tb\nc\r", "back\\slash \\t", "é\udcff", ""]
    selection = make([0.1, -1 / 3, 5e-324, 1e300], names=names, keys=[1, 2**64 - 1, 3, 4])
    selection.export(tmp_path / "a.tsv")
    text = (tmp_path / "a.tsv").read_bytes().decode()
    header, *rows = [line.split("\t") for line in text.split("\n")[:-1]]
    assert header == ["rank", "name", "key", "weight", "bound", "count"]
    assert [row[1] for row in rows] == [r"a\tb\nc\r", r"back\\slash \\t", r"é\xff", ""]
    assert unescaped(rows[0][1]) == names[0].encode()
    assert unescaped(rows[1][1]) == names[1].encode()
    assert [int(row[0]) for row in rows] == [1, 2, 3, 4]
    assert [int(row[2]) for row in rows] == selection.keys.tolist()
    assert [float(row[3]) for row in rows] == selection.weights.tolist()
    assert [float(row[4]) for row in rows] == [0.0] * 4
    assert [row[5] for row in rows] == ["1"] * 4
    assert "".join(tsv_lines(selection)) == text


def test_tsv_of_nothing_and_of_several_outputs():
    assert list(tsv_lines(make([]))) == ["rank\tname\tkey\tweight\tbound\tcount\n"]
    lines = list(tsv_lines(model_of("softmax", ["a", "b\t", "c"])))
    assert lines[0] == "rank\tname\tkey\tweight_a\tweight_b\\t\tweight_c\tbound\tcount\n"
    assert all(line.count("\t") == 7 for line in lines)


NASTY = ["\x1b[31mred\x9b", "\u202eleft", "a\u2028b\x85", "=1+1", "-7", "\x00", "\U000e0041"]


def test_tables_hold_no_control_characters():
    selection = make(range(1, 8), names=NASTY)
    lines = "".join(tsv_lines(selection))
    text = as_json(selection)
    for written in (lines.replace("\t", ""), text):
        assert all(line.isprintable() for line in written.split("\n"))
    names = [line.split("\t")[1] for line in lines.split("\n")[1:-1]]
    assert names == [r"\x1b[31mred\u009b", r"\u202eleft", r"a\u2028b\u0085", r"\x3d1+1", "-7", r"\x00", r"\U000e0041"]
    assert [feature["name"] for feature in json.loads(text)["features"]] == NASTY


def test_the_readable_vw_model_says_that_vw_does_not_load_it(tmp_path, caplog):
    caplog.set_level("INFO")
    make([1.0]).export(tmp_path / "a.vw")
    assert "a.vw: weights as text, to be read by people: vw -i does not load this file" in caplog.text


def test_json_holds_everything(tmp_path):
    selection = golden()
    selection.export(tmp_path / "a.json")
    text = (tmp_path / "a.json").read_bytes().decode()
    assert text == as_json(selection)
    read = json.loads(text)
    assert [f["name"] for f in read["features"]] == ["site^example", "größe=鳥", r"cut\xe2\x82", ""]
    assert read["features"][1] == {
        "rank": 2,
        "name": "größe=鳥",
        "key": 2**64 - 1,
        "weight": -0.1,
        "bound": 0.25,
        "count": 2**40,
    }
    assert read["intercept"] == [-1 / 3]
    assert read["loss"] == "logistic"
    assert read["classes"] == ["ham", "späm"]
    assert read["space"] == {"kind": "token", "size": None}
    assert read["settings"] == selection.settings
    assert read["provenance"] == selection.provenance


def test_json_is_json_whatever_is_in_it():
    selection = make([1.0])
    selection.bounds[0] = np.inf
    selection.settings["path"] = "a\udcff"
    selection.provenance["score"] = np.float64("nan")
    read = json.loads(as_json(selection).encode(), parse_constant=pytest.fail)
    assert read["features"][0]["bound"] is None
    assert read["settings"] == {"path": "a\ufffd"}
    assert read["provenance"] == {"score": None}
    assert json.loads(as_json(make([], loss="squared")))["classes"] is None


def test_parquet_holds_the_table(tmp_path):
    import pyarrow.parquet as pq

    for selection in (golden(), make([]), model_of("softmax")):
        selection.export(tmp_path / "a.parquet")
        assert pq.read_table(tmp_path / "a.parquet").equals(selection.to_arrow())
    assert str(pq.read_schema(tmp_path / "a.parquet").field("key").type) == "uint64"


# ── Vowpal Wabbit ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("data", "seed", "expected"),
    [
        (b"", 0, 0),
        (b"", 1, 0x514E28B7),
        (b"", 0xFFFFFFFF, 0x81F16F39),
        (b"\xff\xff\xff\xff", 0, 0x76293B50),
        (b"!Ce\x87", 0, 0xF55B516B),
        (b"!Ce", 0, 0x7E4A8634),
        (b"!C", 0, 0xA0F7B07A),
        (b"!", 0, 0x72661CF4),
        (b"\0\0\0\0", 0, 0x2362F9DE),
        (b"Hello, world!", 0x9747B28C, 0x24884CBA),
    ],
)
def test_murmur_of_known_values(data, seed, expected):
    assert murmur3(data, seed) == expected


ROWS = """\
1 |a price:2.5 7 007 word color=red 1.5 -3 |12 5 z^q |é ü | bare 99 a^b
-1 |a 12345678901234567890 +3 x |long_namespace b^c^d 4294967296 |s^t u | 18446744073709551617 鳥
1 |a price:-1 word |12 7 | bare x
"""


def features_of(text):
    """The feature lines of a readable model: name to index and weight."""
    lines = text.split("\n:0\n", 1)[1].splitlines()
    return {name: (int(index), float(weight)) for name, index, weight in (line.rsplit(":", 2) for line in lines)}


def run_vw(folder, *options):
    if importlib.util.find_spec("vowpalwabbit") is None:
        pytest.skip("vowpalwabbit is not installed")
    command = [sys.executable, "-m", "vowpalwabbit", "-d", "rows.vw", "--invert_hash", "model.txt"]
    command += ["--predict_only_model", "--quiet", "--loss_function", "logistic", *options]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    return (folder / "model.txt").read_text()


@pytest.mark.parametrize("bits", [18, 22])
def test_names_stand_where_vowpal_wabbit_puts_them(tmp_path, bits):
    (tmp_path / "rows.vw").write_text(ROWS)
    theirs = run_vw(tmp_path, "-b", str(bits))
    selection = th.select(tmp_path / "rows.vw", k=100)
    ours = "".join(vw.lines(selection, bits))
    # VW names an index only once, so of names that it puts in one place it tells the first.
    expected = {name: index for name, (index, _) in features_of(theirs).items()}
    found = {name: index for name, (index, _) in features_of(ours).items()}
    assert len(found) == len(selection) + 1
    assert found.items() >= expected.items()
    assert {found[name] for name in found.keys() - expected.keys()} <= set(expected.values())
    assert len(found.keys() - expected.keys()) <= 1
    # The same header, but for the checksum; features in the order of their index.
    assert [line for line in ours.splitlines()[:11] if not line.startswith("Checksum")] == [
        line for line in theirs.splitlines()[:11] if not line.startswith("Checksum")
    ]
    indices = [int(line.rsplit(":", 2)[1]) for line in ours.splitlines()[11:]]
    assert indices == sorted(indices)


def test_without_an_intercept_as_vowpal_wabbit_writes_it(tmp_path):
    (tmp_path / "rows.vw").write_text(ROWS)
    theirs = run_vw(tmp_path, "--noconstant")
    ours = "".join(vw.lines(th.select(tmp_path / "rows.vw", k=100, fit_intercept=False)))
    assert "Constant" not in ours
    assert "options: --noconstant\n" in ours
    assert "options: --noconstant\n" in theirs


def test_the_model_in_vw_is_the_model(tmp_path):
    (tmp_path / "rows.vw").write_text(ROWS)
    selection = th.select(tmp_path / "rows.vw", k=5, passes=3)
    selection.export(tmp_path / "a.vw")
    found = features_of((tmp_path / "a.vw").read_text())
    assert found.pop("Constant")[1] == selection.intercept[0]
    assert {name: weight for name, (_, weight) in found.items()} == dict(
        zip(selection.names, selection.weights.tolist(), strict=True)
    )


def test_columns_and_indices_in_vw():
    lines = vw.lines(make([1.0, 2.0], keys=[7, 300_000], names=["7", "300000"], space=FeatureSpace("index")))
    assert "7:7:1.0\n" in lines
    assert "300000:37856:2.0\n" in lines
    lines = vw.lines(make([1.0], keys=[7], names=["x7"], space=FeatureSpace("column", 9)))
    assert f"x7:{murmur3(b'x7') % 2**18}:1.0\n" in lines


def test_features_are_kept_apart_by_more_bits(caplog):
    names = ["1", str(1 + 2**18), str(1 + 2**20)]
    selection = make([1.0, 2.0, 3.0], names=names, keys=[1, 1 + 2**18, 1 + 2**20], intercept=[0.0])
    text = "".join(vw.lines(selection))
    assert "bits:21\n" in text
    assert {index for index, _ in features_of(text).values()} == {1, 1 + 2**18, 1 + 2**20}
    assert not caplog.records
    vw.lines(selection, 18)
    assert "2 features share an index" in caplog.text
    same = make([1.0, 2.0], names=["1", str(1 + 2**40)], keys=[1, 1 + 2**40])
    assert "bits:32\n" in vw.lines(same)


@pytest.mark.parametrize("name", ["New York", "a:b", "a|b", "tab\t", "line\n", ""])
def test_names_that_vw_cannot_hold_are_refused(name):
    with pytest.raises(DataError, match="is invalid in VW"):
        vw.lines(make([1.0], names=[name]))


def test_what_has_no_form_in_vw_is_refused():
    with pytest.raises(DataError, match="has no name"):
        vw.lines(make([1.0], names=["#0"], keys=[0]))
    with pytest.raises(DataError, match="several outputs"):
        vw.lines(model_of("softmax"))


def test_several_labels_a_row_go_into_tables_only(tmp_path):
    """Where the form has one answer a row, or other probabilities, several labels are refused rather than bent."""
    selection = make([[1.0, 2.0], [0.5, -1.0]], loss="logistic", classes=["a", "b"], intercept=[0.1, 0.2])
    assert selection.multilabel
    for refused in (lambda: vw.lines(selection), selection.to_sklearn, lambda: selection.export(tmp_path / "m.onnx")):
        with pytest.raises(DataError, match=r"several (labels|outputs)"):
            refused()
    assert not (tmp_path / "m.onnx").exists()
    assert next(iter(tsv_lines(selection))).split("\t")[3:5] == ["weight_a", "weight_b"]
    selection.export(tmp_path / "m.json")
    assert json.loads((tmp_path / "m.json").read_text())["classes"] == ["a", "b"]


def test_a_name_cut_short_parts_at_its_first_caret():
    key = _native.hash_bytes(b"c^long", _native.hash_bytes(b"a^b^", 0))
    whole, cut = (vw.lines(make([1.0], names=[name], keys=[key])) for name in ("a^b^c^long", "a^b^c^lo"))
    assert f"a^b^c^long:{murmur3(b'c^long', murmur3(b'a^b')) % 2**18}:1.0\n" in whole
    assert f"a^b^c^lo:{murmur3(b'b^c^lo', murmur3(b'a')) % 2**18}:1.0\n" in cut


# ── scikit-learn ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("classes", [None, [-1.0, 1.0], [0.5, 1.5], ["no", "yes"]])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_scikit_learn_model_is_the_model(data, loss, classes):
    selection = model_of(loss, classes if loss != "softmax" else None)
    model = selection.to_sklearn()
    chosen = selection.transform(data)
    assert model.n_features_in_ == len(selection)
    for form in (chosen, chosen.toarray()):
        if selection.classes is None:
            np.testing.assert_allclose(model.predict(form), selection.predict(data), rtol=1e-6, atol=1e-6)
            continue
        margins = selection.decision_function(data)
        np.testing.assert_allclose(model.decision_function(form), margins, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(model.predict(form), selection.predict(data))
        assert model.classes_.tolist() == selection.labels
        if loss == "logistic":
            np.testing.assert_allclose(model.predict_proba(form), selection.predict_proba(data), atol=1e-6)


def test_the_kind_of_scikit_learn_model():
    kinds = {loss: type(model_of(loss).to_sklearn()).__name__ for loss in LOSSES}
    assert kinds == {
        "logistic": "LogisticRegression",
        "hinge": "LinearSVC",
        "squared_hinge": "LinearSVC",
        "squared": "LinearRegression",
        "huber:1.35": "LinearRegression",
        "softmax": "LogisticRegression",
    }


def test_the_scikit_learn_model_can_be_copied_scored_and_pickled(data):
    import pickle

    selection = model_of("logistic")
    model = selection.to_sklearn()
    model.coef_[:] += 1.0
    assert (selection.weights != model.coef_[0]).all()
    model = pickle.loads(pickle.dumps(selection.to_sklearn()))
    assert model.score(selection.transform(data), selection.predict(data)) == 1.0


# ── ONNX ─────────────────────────────────────────────────────────────────────────────────────────


def run_onnx(path, x):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    from onnx.reference import ReferenceEvaluator

    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    names = [output.name for output in model.graph.output]
    props = {entry.key: entry.value for entry in model.metadata_props}
    with np.errstate(over="ignore", invalid="ignore"):  # the evaluator's own sigmoid, far out
        results = ReferenceEvaluator(model).run(None, {"x": x})
    return dict(zip(names, results, strict=True)), props


@pytest.mark.parametrize("classes", [None, [-1.0, 1.0], [0.5, 1.5], ["no", "yé"]])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_onnx_model_is_the_model(data, tmp_path, loss, classes):
    selection = model_of(loss, classes if loss != "softmax" else None)
    selection.export(tmp_path / "a.onnx")
    results, props = run_onnx(tmp_path / "a.onnx", selection.transform(data).toarray())
    assert json.loads(props["feature_names"]) == selection.names
    assert json.loads(props["feature_keys"]) == selection.keys.tolist()
    assert props["loss"] == loss
    margins = selection.decision_function(data)
    if selection.classes is None:
        assert list(results) == ["prediction"]
        assert results["prediction"].shape == margins.shape
        np.testing.assert_allclose(results["prediction"], margins, rtol=1e-6, atol=1e-6)
        return
    assert list(results) == ["label", "scores"]
    assert results["label"].tolist() == selection.predict(data).tolist()
    if loss == "logistic":
        expected = selection.predict_proba(data)
    elif loss == "softmax":
        expected = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
    else:
        expected = np.stack([-margins, margins], axis=1)
    assert results["scores"].dtype == np.float32
    np.testing.assert_allclose(results["scores"], expected, rtol=1e-6, atol=1e-6)


def test_onnx_at_the_border_far_out_and_without_rows(tmp_path):
    selection = make([1.0], space=FeatureSpace("column", 1), intercept=[0.0])
    selection.export(tmp_path / "a.onnx")
    x = np.array([[0.0], [1e-30], [1e30], [-1e30]], np.float32)
    results, _ = run_onnx(tmp_path / "a.onnx", x)
    assert results["label"].tolist() == selection.predict(x).tolist() == [0, 1, 1, 0]
    results, _ = run_onnx(tmp_path / "a.onnx", x[:0])
    assert results["scores"].shape == (0, 2)


def test_onnx_of_odd_names_and_of_nothing(tmp_path):
    golden().export(tmp_path / "a.onnx")
    _, props = run_onnx(tmp_path / "a.onnx", np.zeros((1, 4), np.float32))
    assert json.loads(props["feature_names"]) == ["site^example", "größe=鳥", r"cut\xe2\x82", ""]
    make([], loss="squared").export(tmp_path / "b.onnx")
    results, _ = run_onnx(tmp_path / "b.onnx", np.zeros((2, 0), np.float32))
    assert results["prediction"].tolist() == [0.25, 0.25]


def test_without_onnx_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"thresher\[onnx\]"):
        golden().export(tmp_path / "a.onnx")
    assert os.listdir(tmp_path) == []
