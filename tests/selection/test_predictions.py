"""Predictions on data that is laid out in another way than that of the fit, and identifiers of rows."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from thresher.errors import DataError, SettingsError

WORDS = ["grand", "dull", "film", "plot", "rather", "again"]


def reviews(n: int, seed: int) -> tuple[list[str], list[str]]:
    """Texts whose label is whether ``grand`` or ``dull`` occurs in them."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(["bad", "good"], n).tolist()
    texts = [
        f"{' '.join(rng.choice(WORDS[2:], 4))} {'grand' if label == 'good' else 'dull'} number {i}, a film"
        for i, label in enumerate(labels)
    ]
    return texts, labels


def write(path: Path, header: list[str], *columns: list[str], delimiter: str = ",") -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *zip(*columns, strict=True)])
    return path


@pytest.fixture
def model(tmp_path: Path) -> th.Selection:
    texts, labels = reviews(300, 0)
    train = write(tmp_path / "train.csv", ["review", "label"], texts, labels)
    return th.select(train, k=20, text="review", target="label", words="1-2", counts="log", unit=True)


def test_other_column_names(model: th.Selection, tmp_path: Path) -> None:
    """The n-grams stay those of the model; only the names of the columns change."""
    texts, labels = reviews(60, 1)
    same = write(tmp_path / "same.csv", ["review", "label"], texts, labels)
    other = write(tmp_path / "other.csv", ["id", "verdict", "comment"], list(map(str, range(60))), labels, texts)
    margins = model.decision_function(same)
    np.testing.assert_array_equal(model.decision_function(other, text="comment"), margins)
    np.testing.assert_array_equal(model.decision_function(other, text="2", target="verdict"), margins)
    assert (model.predict(other, text="comment") == labels).mean() > 0.9
    with pytest.raises(DataError, match="there is no column 'review'"):
        model.predict(other)
    with pytest.raises(DataError, match=r"no column 'coment' for the text: did you mean 'comment'\?"):
        model.predict(other, text="coment")


def test_another_dialect(model: th.Selection, tmp_path: Path) -> None:
    texts, labels = reviews(60, 1)
    same = write(tmp_path / "same.csv", ["review", "label"], texts, labels)
    tabs = write(tmp_path / "tabs.csv", ["label", "review"], labels, texts, delimiter="\t")
    bare = tmp_path / "bare.csv"
    bare.write_text(same.read_text().partition("\n")[2])
    margins = model.decision_function(same)
    np.testing.assert_array_equal(model.decision_function(tabs, delimiter="\t"), margins)
    np.testing.assert_array_equal(model.decision_function(bare, names=["review", "label"]), margins)
    np.testing.assert_array_equal(model.decision_function(bare, header=False, text="x0"), margins)


@pytest.mark.parametrize(
    "option", [{"words": 3}, {"chars": "2-3"}, {"counts": "count"}, {"lower": False}, {"numeric": ["a"]}]
)
def test_options_that_make_other_features(model: th.Selection, tmp_path: Path, option: dict[str, object]) -> None:
    """Before, any option made the recipe of the model void, and its predictions nonsense."""
    same = write(tmp_path / "same.csv", ["review", "label"], *reviews(5, 1))
    with pytest.raises(SettingsError, match="another value"):
        model.predict(same, **option)
    model.predict(same, words="1-2", counts="log", unit=True)


def test_options_of_tables(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    age, city = rng.integers(1, 90, 400).astype(str).tolist(), rng.choice(["Oslo", "Rome"], 400).tolist()
    y = ["1" if int(a) > 40 else "0" for a in age]
    train = write(tmp_path / "train.csv", ["age", "city", "y"], age, city, y)
    model = th.select(train, target="y", k=20, bins="quantile:8")
    margins = model.decision_function(train)
    assert len(np.unique(margins)) > 4
    other = write(tmp_path / "other.csv", ["age", "city", "label"], age, city, y)
    np.testing.assert_array_equal(model.decision_function(other, target="label"), margins)
    np.testing.assert_array_equal(model.decision_function(train, bins="quantile:8", numeric=["age"]), margins)
    for wrong in ({"categorical": ["age"]}, {"ignored": ["city"]}, {"missing": "feature"}, {"text": "city"}):
        with pytest.raises(SettingsError, match="leave it out"):
            model.predict(train, **wrong)
    # A data frame has no bins of its own: those of the model count.
    frame = {"age": [int(a) for a in age], "city": city}
    np.testing.assert_array_equal(model.decision_function(pytest.importorskip("pyarrow").table(frame)), margins)


def test_identifiers(model: th.Selection, tmp_path: Path) -> None:
    texts, _ = reviews(30, 2)
    ids = [f"r\t{i}" for i in range(30)]
    one = write(tmp_path / "one.csv", ["id", "review"], ids[:10], texts[:10])
    two = write(tmp_path / "two.csv", ["id", "review"], ids[10:], texts[10:])
    table = model.predictions([one, two], ids=["file", "line"], id_column="id")
    assert list(table) == ["file", "line", "id", "prediction"]
    assert table["file"] == [str(one)] * 10 + [str(two)] * 20
    assert table["line"] == [*range(2, 12), *range(2, 22)]
    assert table["id"] == ids
    assert table["prediction"] == model.predict([one, two]).tolist()
    shown = model.predictions(one, output="probability")["probability"]
    np.testing.assert_array_equal(shown, model.predict_proba(one)[:, 1])
    with pytest.raises(DataError, match="there is no column 'key'"):
        model.predictions(one, id_column="key")
    with pytest.raises(SettingsError, match="no names of records"):
        model.predictions(one, ids=["record"])
    with pytest.raises(SettingsError, match=r"`ids` must be some of file, line, record.*`id_column`"):
        model.predictions(one, ids=["row"])


@examples(20)
@given(data=st.data())
def test_identifiers_follow_their_rows(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """In every format, whatever the batches, and where malformed rows are skipped."""
    rows = data.draw(st.lists(st.tuples(st.booleans(), st.integers(0, 99)), min_size=1, max_size=30))
    path = tmp_path_factory.mktemp("ids") / "rows.csv"
    path.write_text("id,x\n" + "".join(f"r{i},{x if good else 'word'}\n" for i, (good, x) in enumerate(rows)))
    source = th.scan_csv(path, numeric=["x"], ignored=["id"], on_error="skip").with_ids("id")
    size = data.draw(st.integers(1, 7))
    found = [name for batch, _ in source.batches(size, want_labels=False) for name in batch.id.tolist()]
    assert found == [f"r{i}" for i, (good, _) in enumerate(rows) if good]


def test_texts_in_files(model: th.Selection, tmp_path: Path) -> None:
    """A folder of texts, and a lone one; without options or labels."""
    texts, _ = reviews(12, 3)
    folder = tmp_path / "texts"
    folder.mkdir()
    for i, text in enumerate(texts):
        (folder / f"t{i}.txt").write_text(text)
    table = model.predictions(folder, ids=["file"])
    assert table["file"] == [str(folder / f"t{i}.txt") for i in range(12)]
    expected = model.predict(write(tmp_path / "same.csv", ["review"], texts)).tolist()
    assert table["prediction"] == expected
    assert model.predict(folder / "t3.txt").tolist() == expected[3:4]
    # A file of such a name may be a table all the same.
    assert model.predict(write(tmp_path / "table.txt", ["review"], texts)).tolist() == expected
    with pytest.raises(SettingsError, match="target: for tables, but these are files of one text each"):
        model.predict(_folders(tmp_path), target="y")


def _folders(tmp_path: Path) -> Path:
    texts, labels = reviews(40, 4)
    for i, (text, label) in enumerate(zip(texts, labels, strict=True)):
        (tmp_path / "classes" / label).mkdir(parents=True, exist_ok=True)
        (tmp_path / "classes" / label / f"{i}.txt").write_text(text)
    return tmp_path / "classes"


def test_folders_of_texts_are_classes(tmp_path: Path) -> None:
    """The folder of two folders, or the two."""
    root = _folders(tmp_path)
    one = th.select(root, k=10)
    two = th.select([root / "bad", root / "good"], k=10)
    assert one.classes == two.classes == ["bad", "good"]
    np.testing.assert_array_equal(one.keys, two.keys)
    assert set(one.predict(root / "good").tolist()) == {"good"}
    with pytest.raises(DataError, match="a folder of its own"):
        th.select(root / "good", k=10)
