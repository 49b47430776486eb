"""Dropping features by name: the same bits as from data without them, for every kind of source."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.reference.sources import patterns
from thresher.core.kmers import Kmers
from thresher.sources.base import Source
from thresher.sources.registry import as_source
from thresher.sources.transforms.drop import Dropped, FeatureDrop

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 12))
Y = np.where(X[:, 3] + X[:, 7] - X[:, 8] > 0, 1, -1)
FRAME = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)]).assign(
    city=np.where(X[:, 1] > 0, "Paris", np.where(X[:, 2] > 0, "Rome", "Oslo")),
    user_id=np.arange(600).astype(str),
    day=pd.date_range("2024-01-01", periods=600, freq="h"),
)

FEATURES = st.lists(st.sampled_from(["a", "b", "ab", "n^a", "n^bb", "a=b", "m^*", "é"]), max_size=6, unique=True)
ENTRIES = st.lists(
    st.sampled_from(["a", "b", "n^a", "a=b", "n^*", "?", "*b", r"m^\*", "m^?", "é", "x"]), min_size=1, max_size=3
)


def rows_of(source: Source, rows: int = 7, **options: Any) -> list[tuple[Any, ...]]:
    """Each row as its features in order: names (or keys) and values."""
    out = []
    for batch, _ in source.batches(rows, want_names=True, **options):
        names = source.space.decode(batch.keys) if batch.names is None else batch.names.decode()
        values = [1.0] * batch.nnz if batch.values is None else batch.values.tolist()
        for begin, end in zip(batch.indptr[:-1].tolist(), batch.indptr[1:].tolist(), strict=True):
            out.append((names[begin:end], batch.keys[begin:end].tolist(), values[begin:end]))
    return out


def vw_lines(rows: list[list[str]]) -> str:
    """Rows of these features as VW text; the letter before ``^`` is the namespace."""
    lines = []
    for i, row in enumerate(rows):
        spaces = [f"|{name.split('^')[0]} {name.split('^', 1)[1]}:{i + 1}" for name in row if "^" in name]
        plain = [f"{name}:{i + 1}" for name in row if "^" not in name]
        lines.append(f"{1 if i % 2 else -1} | {' '.join(plain)} {' '.join(spaces)}\n")
    return "".join(lines)


@examples(30)
@given(st.lists(FEATURES, min_size=1, max_size=9), ENTRIES)
def test_rows_are_those_of_a_file_without_the_features(tmp_path_factory, rows, entries) -> None:
    folder = tmp_path_factory.mktemp("rows")
    left = [[name for name in row if not any(patterns.matches(entry, name) for entry in entries)] for row in rows]
    for name, some in (("all.vw", rows), ("left.vw", left)):
        (folder / name).write_text(vw_lines(some))
    drop = FeatureDrop.of(entries)
    assert drop is not None
    dropped, without = drop.from_source(th.scan(folder / "all.vw")), th.scan(folder / "left.vw")
    assert rows_of(dropped) == rows_of(without)
    assert rows_of(dropped, 2) == rows_of(without)
    keys = np.array([key for _, row, _ in rows_of(without) for key in row[:2]], np.uint64)
    assert rows_of(dropped, keys=keys) == rows_of(without, keys=keys)
    seen = {name for row in rows for name in row}
    unknown = [entry for entry in dict.fromkeys(entries) if not any(patterns.matches(entry, name) for name in seen)]
    plain = [entry.replace("\\", "") if entry == r"m^\*" else entry for entry in unknown]
    assert sorted(set(plain)) == sorted({*drop.wanted.names, *(one.text for one in drop.wanted.patterns)} - drop.found)


def same(one: th.Selection, other: th.Selection) -> None:
    assert (one.names, one.counts.tolist()) == (other.names, other.counts.tolist())
    assert (one.weights.tobytes(), one.intercept.tobytes()) == (other.weights.tobytes(), other.intercept.tobytes())


METHODS = [{"method": m} for m in ("mission", "b-arda", "os", "sparse-rf")] + [{"method": "fgm", "C": 1.0}]


@pytest.mark.parametrize("options", METHODS, ids=str)
def test_every_method_learns_as_from_a_table_without_the_columns(options: dict[str, Any]) -> None:
    found = th.select(FRAME, Y, k=4, drop=["c7", "city", "day", "user_*"], **options)
    same(found, th.select(FRAME.drop(columns=["c7", "city", "day", "user_id"]), Y, k=4, **options))
    assert found.provenance["dropped"]["columns"] == ["c7", "city", "user_id", "day"]


def test_a_test_set_and_held_out_rows_do_not_change_it(tmp_path: Path) -> None:
    csv = tmp_path / "all.csv"
    FRAME.assign(y=Y).to_csv(csv, index=False)
    FRAME.assign(y=Y).drop(columns=["c3", "user_id"]).to_csv(tmp_path / "left.csv", index=False)
    found = th.select(csv, target="y", k=4, drop=["c3", "user_id"], holdout=0.2, output=tmp_path / "found.thr")
    wanted = th.select(tmp_path / "left.csv", target="y", k=4, holdout=0.2)
    same(found, wanted)
    assert found.provenance["test"] == wanted.provenance["test"]
    saved = th.load(tmp_path / "found.thr")  # the columns left out are not needed to predict
    assert (saved.predict(tmp_path / "left.csv") == wanted.predict(tmp_path / "left.csv")).all()


@pytest.mark.parametrize("options", [{}, {"method": "os"}, {"method": "fgm", "C": 1.0}], ids=str)
def test_columns_of_a_matrix_are_dropped_by_position(options: dict[str, Any]) -> None:
    zeros = X.copy()
    zeros[:, [3, 10, 11]] = 0.0  # without them, the others would have other keys
    same(th.select(X, Y, k=4, drop=["x3", "x1?"], **options), th.select(zeros, Y, k=4, **options))
    same(
        th.select(sp.csr_array(X), Y, k=4, drop=[3, "10", "x11"]),
        th.select(sp.csr_array(X), Y, k=4, drop=["x3", "x1?"]),
    )


def test_one_value_of_a_column_is_dropped_and_products_lose_those_with_it() -> None:
    found = th.select(FRAME[["c3", "c7", "city"]], Y, k=20, interactions=2, drop=["city=Paris", "c7"])
    assert set(found.names) == {"c3", "city=Rome", "city=Oslo", "c3 × city=Rome", "c3 × city=Oslo"}


def test_a_product_cannot_be_named() -> None:
    for setting in ("keep", "drop"):
        with pytest.raises(
            th.ThresherError, match=f"`{setting}` names the product 'c3 × c7': name features that are no"
        ):
            th.select("no such file", k=2, interactions=2, **{setting: ["c3 × c7"]})


def test_a_stream_of_features_does_without_them_even_where_they_are_faulty() -> None:
    def columns() -> Any:
        yield "constant", np.ones(600)
        yield from ((f"c{j}", X[:, j]) for j in range(12))

    found = th.select(th.FeatureStream(columns), Y, k=3, method="os", drop=["constant", "c3", "c1?"])
    wanted = th.select(th.FeatureStream(X, names=[f"c{j}" for j in range(12)]), Y, k=3, method="os", drop=["c3", "c1?"])
    same(found, wanted)
    assert not {"c3", "c10", "c11"} & set(found.names)
    sparse = th.select(th.FeatureStream(sp.csc_array(X)), Y, k=3, method="os", drop=["x3"])
    assert "x3" not in sparse.names


@pytest.mark.parametrize(
    "form", [{"lengths": (2, 3)}, {"lengths": (3,), "canonical": True}, {"lengths": (2,), "positional": True}]
)
def test_the_keys_of_kmers_follow_from_their_names(form: dict[str, Any]) -> None:
    kmers = Kmers(**form)
    keys = np.arange(16, 32, dtype=np.uint64) if not kmers.positional else np.array([5, 5 + (7 << 4)], np.uint64)
    for key, name in zip(keys.tolist(), kmers.decode(keys), strict=True):
        assert key in kmers.keys_of(name)
    assert not kmers.keys_of("ACGTACGT")
    assert not kmers.keys_of("")


def test_a_kmer_is_dropped_by_name_or_pattern(tmp_path: Path) -> None:
    (tmp_path / "a.fa").write_text(">1\nAAACCC\n>2\nACGTTT\n")
    drop = FeatureDrop.of(["AAA", "?CG"])
    assert drop is not None
    found = rows_of(drop.from_source(th.scan_fasta(tmp_path / "a.fa", kmer=3)), want_labels=False)
    assert [sorted(names) for names, _, _ in found] == [["AAC", "ACC", "CCC"], ["CGT", "GTT", "TTT"]]


def test_columns_leave_with_their_warnings_and_unknown_names_are_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = th.select(FRAME, Y, k=3, drop=["user_id", "citty", "c3*z"])
    (warning,) = found.provenance["warnings"]
    assert warning == (
        "`drop` names features that the data does not have: 'citty', 'c3*z'. Did you mean 'city' instead of 'citty'?"
    )
    assert warning in caplog.messages


@pytest.mark.parametrize("data", [FRAME[["c3", "c7"]], X], ids=["table", "matrix"])
def test_a_pattern_that_nothing_can_match_is_named_too(data: Any) -> None:
    found = th.select(data, Y, k=1, drop=["z*"], passes=1, refit=False, memory="8MB")
    assert found.provenance["warnings"][0].startswith("`drop` names features that the data does not have: 'z*'.")


def test_what_is_dropped_is_part_of_the_identity_of_the_data() -> None:
    source = as_source(FRAME, Y)
    prints = [source.fingerprint()]
    for entries in (["c1"], ["c2"], ["city=Rome"], ["city=R*"], ["city=R*", "city=Oslo"]):
        drop = FeatureDrop.of(entries)
        assert drop is not None
        prints.append(drop.from_source(source).fingerprint())
    assert len(set(prints)) == len(prints)


def test_a_transform_of_the_names_is_left_out_where_columns_are_enough() -> None:
    drop = FeatureDrop.of(["user_*"])
    assert drop is not None
    assert not isinstance(drop.from_source(as_source(FRAME, Y)), Dropped)


@pytest.mark.parametrize("data", [FRAME, X], ids=["table", "matrix"])
def test_no_feature_is_left(data: Any) -> None:
    with pytest.raises(th.ThresherError, match="`drop` names every column: no feature is left"):
        th.select(data, Y, k=2, drop="*")


def test_estimators_drop_too() -> None:
    plain = {"k": 3, "memory": "8MB", "passes": 1, "refit": False}
    model = th.MissionClassifier(**plain, drop=["c7", "city", "user_id", "day"]).fit(FRAME, Y)
    same(model.selection_, th.select(FRAME, Y, drop=["c7", "city", "user_id", "day"], **plain))
    assert model.selection_.provenance["dropped"]["columns"] == ["c7", "city", "user_id", "day"]
    part = (
        th.MissionClassifier(k=3, drop=["x7"], memory="8MB").partial_fit(X[:300], Y[:300]).partial_fit(X[300:], Y[300:])
    )
    assert "x7" not in part.get_feature_names_out()
    stream = th.SubstitutionClassifier(k=3, drop=["x7"]).fit(th.FeatureStream(X), Y)
    assert "x7" not in stream.selection_.names


def test_random_features_of_predictions_ignore_what_was_dropped() -> None:
    plain = {"k": 5, "gamma": 0.1, "lam": 1.0}
    model = th.SparseRFClassifier(**plain, drop=["x7"]).fit(X, Y)
    zeros = X.copy()
    zeros[:, 7] = 0.0
    without = th.SparseRFClassifier(**plain).fit(zeros, Y)
    assert not any("x7" in name for name in model.selection_.names)
    assert (model.decision_function(X) == without.decision_function(zeros)).all()
    with pytest.raises(th.ThresherError, match=r"`drop` cannot keep features out of predictions with 5,000 inputs"):
        th.SparseRFClassifier(**plain, drop=["x7"]).fit(RNG.normal(size=(30, 5001)), Y[:30])


def test_text_loses_words() -> None:
    texts = ["free call now", "see you at home", "call me free", "home at last"] * 20
    found = th.select(texts, np.array([1, 0, 1, 0] * 20), k=10, drop=["free", "h?me"])
    assert not {"free", "home"} & set(found.names)
    assert "call" in found.names
