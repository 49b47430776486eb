"""Products formed on the fly: against a matrix with all of them, in bounded batches, and what is said of bad rows."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import PolynomialFeatures

from tests.examples import examples
from tests.sources.reading import exactly, joined, read
from thresher import _native
from thresher.core.batch import Batch, Cursor, Names
from thresher.core.feature_space import FeatureSpace, Products
from thresher.core.memory import ReadLimits
from thresher.errors import DataError, SettingsError
from thresher.sources.base import Source
from thresher.sources.registry import as_source
from thresher.sources.text.line_formats import scan_libsvm, scan_vw
from thresher.sources.transforms import interactions
from thresher.sources.transforms.interactions import Interactions
from thresher.sources.transforms.shuffle import Shuffled

RNG = np.random.default_rng(3)
X = (RNG.integers(-3, 4, (40, 7)) / 2 * (RNG.random((40, 7)) < 0.7)).astype(np.float32)
Y = RNG.integers(0, 2, 40)


def all_columns(x: np.ndarray, degree: int, squares: bool) -> dict[str, np.ndarray]:
    """Every product of the columns of a matrix, by scikit-learn, under our names."""
    expand = PolynomialFeatures(degree, interaction_only=not squares, include_bias=False).fit(x)
    powers = ["", "", "²", "³"]
    names = [" × ".join(f"x{j}{powers[p]}" for j, p in enumerate(row) if p) for row in expand.powers_]
    return dict(zip(names, expand.transform(x.astype(np.float64)).T, strict=True))


def as_matrix(source: Source, names: list[str]) -> np.ndarray:
    """What a source holds, by name."""
    at = {name: j for j, name in enumerate(names)}
    rows = read(source, want_names=True, want_labels=False)
    out = np.zeros((len(rows), len(names)))
    for i, row in enumerate(rows):
        for name, value in zip(row.names, row.values, strict=True):
            out[i, at[name]] += value
    return out


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("squares", [False, True])
@pytest.mark.parametrize("form", ["dense", "sparse", "shards"])
def test_a_matrix_with_all_products(degree: int, squares: bool, form: str) -> None:
    columns = all_columns(X, degree, squares)
    source = Interactions(as_source(sp.csr_array(X) if form == "sparse" else X, Y), degree, squares=squares)
    pieces = source.shards(3) if form == "shards" else [source]
    got = np.concatenate([as_matrix(piece, list(columns)) for piece in pieces])
    np.testing.assert_array_equal(got, np.stack(list(columns.values()), axis=1).astype(np.float32))


def test_a_repeated_index_counts_with_its_sum(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1 3:2 5:1 3:4\n1 5:1 3:1 3:-1\n")
    rows = read(Interactions(scan_libsvm(path), squares=True), want_names=True)
    assert [dict(zip(row.names[3:], row.values[3:], strict=True)) for row in rows] == [
        {"3 × 5": 6.0, "3²": 36.0, "5²": 1.0},
        {"5²": 1.0},
    ]


@examples(30)
@given(st.integers(1, 60), st.integers(1, 12), st.data())
def test_stretches_change_nothing(stretch: int, rows: int, data: st.DataObject) -> None:
    """Any size of stretch and batch, and going on from any cursor: the same rows."""
    source = Interactions(as_source(X, Y))
    everything = exactly(read(source, want_names=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interactions, "MAX_BATCH_FEATURES", stretch)
        batches = list(source.batches(rows, want_names=True))
        assert exactly(joined(batches)) == everything
        for batch, _ in batches:
            assert batch.nnz <= stretch or len(batch) == 1
        at = data.draw(st.integers(0, len(batches) - 1))
        done = sum(len(batch) for batch, _ in batches[: at + 1])
        cursor = Cursor.from_dict(batches[at][1].to_dict())
        skip = data.draw(st.integers(0, 5))
        assert exactly(read(source, 3, start=replace(cursor, skip=skip), want_names=True)) == everything[done + skip :]


def test_rows_are_shuffled_before_their_products_are_formed() -> None:
    shuffled = Interactions(scan(X)).shuffled(5, rows=10, features=50)
    assert isinstance(shuffled, Interactions)
    assert isinstance(shuffled.source, Shuffled)
    assert shuffled.source.features == 50


def scan(x: np.ndarray) -> Source:
    """A source that shuffles through a buffer, as files do."""
    return Unpermuted(as_source(x, Y))


class Unpermuted(Shuffled):
    def __init__(self, source: Source) -> None:
        super().__init__(source, seed=0, rows=1, features=1)


def test_multilabel_rows_and_queries_keep_what_they_bring(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1,2 qid:3 1:1 2:2\n\n3 qid:4 5:1\n1 qid:4 1:3 2:1 4:1\n")
    base = scan_libsvm(path, multilabel=True)
    formed = read(Interactions(base), 2)
    assert [(row.y, row.qid) for row in formed] == [(row.y, row.qid) for row in read(base)]


def test_bad_lines_behind_the_last_row_are_still_counted(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1 2:1\nbad\nbad\n")
    source = Interactions(scan_libsvm(path, on_error="skip")).limited(ReadLimits(block=11))
    batches = list(source.batches(want_names=True))
    assert [len(batch) for batch, _ in batches] == [1, 0]
    assert batches[-1][1].skipped == 2


# Rows that cannot be used


def test_a_row_of_too_many_products_is_named_after_the_rows_before_it(tmp_path: Path) -> None:
    path = tmp_path / "rows.vw"
    path.write_text("1 | a b\n-1 | " + " ".join(f"w{i}" for i in range(5000)) + "\n1 | a c\n")
    source = Interactions(scan_vw(path))
    reading = source.batches()
    assert len(next(reading)[0]) == 1
    with pytest.raises(DataError, match=r"rows.vw, line 2: the row has 5,000 features, 12,502,500 .*`interactions="):
        next(reading)
    limited = source.limited(ReadLimits(products=1000))
    path.write_text("1 | a b\n-1 | " + " ".join(f"w{i}" for i in range(200)) + "\n")
    with pytest.raises(DataError, match=r'20,100 with their products; at most 1,000 are allowed. Pass `memory="\d+MB"'):
        list(limited.batches())
    assert len(list(source.batches(1))) == 2


def test_what_the_error_advises_is_enough(tmp_path: Path) -> None:
    from thresher.online.memory_plan import Needs, make_plan

    row, needs = np.ones((1, 1200)), Needs(k=5, products=True)
    with pytest.raises(DataError, match="Pass `memory") as caught:
        list(Interactions(as_source(row)).limited(make_plan(needs, "64MB").limits).batches(want_labels=False))
    advised = str(caught.value).split('memory="')[1].split('"')[0]
    enough = make_plan(needs, advised).limits
    assert len(list(Interactions(as_source(row)).limited(enough).batches(want_labels=False))) == 1


def test_a_product_too_large_is_named_after_the_rows_before_it() -> None:
    x = np.ones((5, 3))
    x[3] = 1e30
    source = Interactions(as_source(x, np.arange(5)))
    for rows in (1, 2, 5):
        got = 0
        with pytest.raises(DataError, match=r"row 3 .*overflows single precision. Scale"):
            for batch, _ in source.batches(rows):
                got += len(batch)
        assert got == 3
    # Where only features that fit are asked for, nothing is wrong.
    assert len(read(source, keys=np.array([0], np.uint64))) == 5


# Groups


@pytest.mark.parametrize(
    ("data", "groups", "told"),
    [
        (X, [(0, 7)], "must be numbers of features, got 7"),
        (X, [("x1", "a")], "must be numbers of features, got 'a'"),
        (X, [(1, -1)], "must be numbers of features, got -1"),
        (pd.DataFrame({"a": [1.0]}), [("a", 1)], "must be names of namespaces or columns, got 1"),
        (X, [(1,)], "tuples of two or three groups"),
        (X, [(1, 2, 3, 4)], "tuples of two or three groups"),
        (X, [], "tuples of two or three groups"),
        (X, ["ab"], "tuples of two or three groups"),
    ],
)
def test_groups_that_make_no_sense(data: object, groups: list, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        Interactions(as_source(data), groups=groups)


@pytest.mark.parametrize("degree", [1, 4, True, 2.0, "2", None])
def test_degrees_that_make_no_sense(degree: object) -> None:
    with pytest.raises(SettingsError, match="of 2 or 3 features"):
        Interactions(as_source(X), degree)  # type: ignore[arg-type]


def test_products_of_products_are_refused() -> None:
    with pytest.raises(SettingsError, match="already"):
        Interactions(Interactions(as_source(X)))


@pytest.mark.parametrize("wrong", [0, 4, True, 2.5, "user,ad", ("user", "ad"), [("user",)], [2, 3], {"a": "b"}])
def test_interactions_that_make_no_sense(wrong: object) -> None:
    with pytest.raises(SettingsError, match="interactions must be 1, 2, 3"):
        Products.of(wrong)  # type: ignore[arg-type]


def test_interactions_as_people_write_them() -> None:
    assert Products.of(1) is Products.of(None) is None
    assert Products.of(np.int64(3)) == Products(3)
    assert Products.of([["a", "b"]]) == Products(groups=(("a", "b"),))
    made = Products(3, squares=True)
    assert Products.of(made) is made


def test_the_order_in_which_groups_are_written_does_not_matter() -> None:
    one = Interactions(as_source(X, Y), groups=[(5, 2), (1, 0, 3)])
    other = Interactions(as_source(X, Y), groups=[("x3", 1, "0"), (2, 5), (5, 2)])
    assert one.space == other.space
    assert one.fingerprint() == other.fingerprint()
    assert exactly(read(one, want_names=True)) == exactly(read(other, want_names=True))


def test_a_group_that_is_not_there_is_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "rows.vw"
    path.write_text("1 |user a |ad b\n")
    source = Interactions(scan_vw(path), groups=[("user", "ad"), ("user", "da")])
    with caplog.at_level(logging.WARNING):
        read(source, keys=np.array([5], np.uint64))
        assert not caplog.records
        for _ in range(2):
            read(source.shuffled(1, rows=9, features=9))
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "no feature is in the group 'da', so it forms no products"
    ]


def test_groups_of_names_that_are_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "rows.vw"
    path.write_bytes(b"1 |\xff a |b c\n")
    (row,) = read(Interactions(scan_vw(path), groups=[(b"\xff".decode("utf-8", "surrogateescape"), "b")]))
    assert len(row.keys) == 3


# The space, the fingerprint, the names


def test_fingerprints_and_spaces_differ() -> None:
    base = as_source(X, Y)
    settings_: list[dict] = [
        {},
        {"degree": 3},
        {"squares": True},
        {"groups": [(1, 2)]},
        {"groups": [(1, 2)], "squares": True},
        {"groups": [(1, 2, 3)]},
    ]
    made = [Interactions(base, **how) for how in settings_]
    assert len({base.fingerprint(), *(source.fingerprint() for source in made)}) == 1 + len(made)
    assert len({base.space, *(source.space for source in made)}) == 1 + len(made)
    for source in made:
        assert FeatureSpace.from_dict(source.space.to_dict()) == source.space
        assert not source.space.invertible
        assert source.space.without_products() == base.space


def test_names_of_many_batches_together() -> None:
    """Also where there are more parents than a word can number: the names are then spelled out."""
    batches = [batch for batch, _ in Interactions(as_source(X, Y), 3, squares=True).batches(7, want_names=True)]
    expected = [name for batch in batches for name in batch.names.decode()]
    together = Batch.concat(batches).names
    assert together.parents is not None
    assert together.decode() == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_native, "most_parents", 50)
        spelled = Batch.concat(batches).names
        assert spelled.parents is None
        assert spelled.decode() == expected
        assert Names.concat([together, spelled]).decode() == expected * 2
