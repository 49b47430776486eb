"""Texts in memory: lists, arrays, series, and columns of data frames."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

import thresher as th
from tests.selection.test_predictions import reviews, write
from thresher.errors import DataError, SettingsError

pa = pytest.importorskip("pyarrow")


def test_a_list_of_texts(tmp_path: Path) -> None:
    """The same bits as from a file of the texts, with the same options."""
    texts, labels = reviews(200, 0)
    path = write(tmp_path / "r.csv", ["review", "label"], texts, labels)
    for options in ({}, {"words": "1-2", "counts": "log", "unit": True}, {"chars": "2-3", "lower": False}):
        stored = th.select(path, k=10, text="review", target="label", shuffle=False, **options)
        held = th.select(texts, labels, k=10, shuffle=False, **options)
        np.testing.assert_array_equal(held.keys, stored.keys)
        np.testing.assert_array_equal(held.weights, stored.weights)
        assert held.names == stored.names
        # A model of a list takes lists; and the same file.
        np.testing.assert_array_equal(held.predict(texts), stored.predict(path))
        np.testing.assert_array_equal(held.decision_function(path, text="review"), stored.decision_function(path))


@pytest.mark.parametrize("kind", ["array", "objects", "arrow", "pandas", "polars"])
def test_arrays_of_texts(kind: str) -> None:
    texts, labels = reviews(100, 1)
    if kind in ("pandas", "polars"):
        data = pytest.importorskip(kind).Series(texts)
    else:
        data = {"array": np.array, "objects": lambda t: np.array(t, object), "arrow": pa.array}[kind](texts)
    listed = th.select(texts, labels, k=5)
    np.testing.assert_array_equal(th.select(data, labels, k=5).keys, listed.keys)
    assert listed.predict(data).tolist() == listed.predict(texts).tolist()


def test_missing_and_strange_texts() -> None:
    texts = ["grand film", None, "dull film", float("nan"), "grand plot", "\ud800"]
    with pytest.raises(DataError, match=r"row 5, column 'text': the text is not UTF-8"):
        th.select(texts, [1, 1, 0, 0, 1, 0], k=2)
    model = th.select(texts[:5], [1, 1, 0, 0, 1], k=2)
    assert len(model.predict(texts[:5])) == 5
    with pytest.raises(DataError, match=r"text 1 \(counted from 0\) is of type int"):
        th.select(["grand", 3], [1, 0], k=2)
    with pytest.raises(DataError, match="y has 1 entries for 2 rows"):
        th.select(["grand", "dull"], [1], k=2)
    with pytest.raises(SettingsError, match="a list of texts"):
        th.select(["grand", "dull"], [1, 0], k=2, text="body")
    with pytest.raises(SettingsError, match="numeric: for files, not for data in memory"):
        th.select(["grand", "dull"], [1, 0], k=2, numeric=["body"])


def test_paths_stay_paths(tmp_path: Path) -> None:
    """A list of files with labels is a mistake, not a list of texts; without labels it is a list of paths."""
    (tmp_path / "a.svm").write_text("1 1:1\n0 2:1\n")
    path = str(tmp_path / "a.svm")
    assert len(th.select([path, path], k=2).predict([path])) == 2
    with pytest.raises(SettingsError, match="brings its own labels"):
        th.select([path, path], [0, 1], k=2)


def test_estimators_take_texts() -> None:
    texts, labels = reviews(200, 2)
    model = th.MissionClassifier(k=5).fit(texts, labels)
    assert model.score(texts, labels) > 0.9
    assert model.predict(texts[:3]).tolist() == model.predict(np.array(texts[:3])).tolist()
    assert model.transform(texts).shape == (200, 5)
    assert {"grand", "dull"} <= set(model.get_feature_names_out())
    pairs = th.MissionClassifier(k=5).fit(th.scan_text(texts, labels, words=2))
    assert all(" " in name for name in pairs.selection_.names)
    assert len(pairs.predict(texts)) == 200
    stream = th.MissionClassifier(k=5)
    for at in range(0, 200, 50):
        stream.partial_fit(texts[at : at + 50], labels[at : at + 50])
    assert stream.score(texts, labels) > 0.9


def test_a_lone_text_column_is_guessed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "thresher")
    texts, labels = reviews(100, 3)
    path = write(tmp_path / "r.csv", ["review", "label"], texts, labels)
    model = th.select(path, target="label", k=5)
    assert "  text         review (its words)" in caplog.text
    assert "grand" in model.names
    assert model.provenance["reading"]["form"]["text"] == "review"
    frame = pa.table({"review": texts, "label": labels})
    caplog.clear()
    assert th.select(frame, target="label", k=5).names == model.names
    assert "  text         review (its words)" in caplog.text
    # Named columns are not guessed; short or repeated strings are categories.
    assert all(
        name.startswith("review=") for name in th.select(path, target="label", k=5, categorical=["review"]).names
    )
    short = write(tmp_path / "s.csv", ["city", "label"], [text.split()[0] for text in texts], labels)
    assert all(name.startswith("city=") for name in th.select(short, target="label", k=5).names)


def test_a_text_beside_other_columns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its words are features beside the others, with its name; with an option of texts it is the only column."""
    caplog.set_level(logging.INFO, "thresher")
    texts, labels = reviews(100, 3)
    path = write(tmp_path / "r.csv", ["id", "review", "label"], [str(i) for i in range(100)], texts, labels)
    assert "review=grand" in th.select(path, target="label", k=5).names
    assert "  texts        review (their words)" in caplog.text
    pairs = th.select(path, target="label", k=5, words=2)
    assert all(" " in name for name in pairs.names)
    frame = pa.table({"id": list(range(100)), "review": texts, "label": labels})
    assert th.select(frame, target="label", k=5, words=2).names == pairs.names
    named = th.select(frame, target="label", k=5, text="review")
    assert "grand" in named.names
    assert named.predict(frame).tolist() == named.predict(texts).tolist()
    two = pa.table({"a": texts, "b": texts, "label": labels})
    with pytest.raises(SettingsError, match=r"name the column of the text .`text`.: one of 'a', 'b'"):
        th.select(two, target="label", k=5, words=2)


def test_scores_of_texts(tmp_path: Path) -> None:
    """Test data is read as that of the fit, from memory and files alike."""
    texts, labels = reviews(200, 5)
    fresh, truth = reviews(50, 6)
    path = write(tmp_path / "t.csv", ["review", "label"], fresh, truth)
    pair = th.select(texts, labels, k=5, words="1-2", test=(fresh, truth)).provenance["test"]
    frame = pa.table({"review": texts, "label": labels})
    held = th.select(frame, target="label", text="review", words="1-2", k=5, test=path).provenance["test"]
    assert pair == held
    assert pair["accuracy"] > 0.9


def test_long_texts_make_short_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a batch of texts in memory is about as large as one of a file."""
    monkeypatch.setattr("thresher.sources.dataframes.MAX_BATCH_FEATURES", 1000)
    texts = [" ".join(f"word{i * j}" for j in range(100)) for i in range(1, 60)]
    sizes = [batch.nnz for batch, _ in th.scan_text(texts, [0] * 59).batches()]
    assert sum(sizes) == sum(len(set(text.split())) for text in texts)
    assert max(sizes) <= 2000
