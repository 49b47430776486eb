"""Decoys: features of other rows, as frequent as the others, that cannot matter; how many are selected; refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import thresher as th
from thresher.cli.main import make_app
from thresher.report.summary import summary
from thresher.sources.arrays import DenseSource, SparseSource
from thresher.sources.base import Source
from thresher.sources.transforms.decoys import RowSample, WithDecoys, are_decoys, decoy_keys, real_keys

RNG = np.random.default_rng(1)
X = RNG.normal(size=(600, 60))
Y = 2 * X[:, :5].sum(axis=1) + RNG.logistic(size=600) > 0
QUICK = {"k": 20, "passes": 1, "refit": False, "calibrate": False}
#: Rows of rare ids, as in texts: 3000 rows of 20 out of 20,000 ids by Zipf's law.
IDS = (np.exp(RNG.random((3000, 20)) * np.log(20_000))).astype(np.int64) - 1
RARE = sp.csr_matrix((np.ones(IDS.size, np.float32), (np.repeat(np.arange(3000), 20), IDS.ravel())), (3000, 20_000))


def rows_of(source: Source, batch: int = 8192) -> list[dict[int, float]]:
    rows = []
    for part, _ in source.batches(batch, want_labels=False):
        values = np.ones(part.nnz) if part.values is None else part.values
        for a, b in zip(part.indptr[:-1], part.indptr[1:], strict=True):
            rows.append(dict(zip(part.keys[a:b].tolist(), values[a:b].tolist(), strict=True)))
    return rows


def with_decoys(source: Source, room: int = 1 << 20, number: int = 0, seed: int = 3) -> WithDecoys:
    return WithDecoys(source, RowSample(source, seed, room), number)


@given(width=st.integers(1, 8), n=st.integers(2, 30), number=st.integers(0, 3), data=st.data())
def test_each_row_has_its_features_and_those_of_another_row_once(
    width: int, n: int, number: int, data: st.DataObject
) -> None:
    matrix = np.array(
        data.draw(st.lists(st.lists(st.integers(0, 2), min_size=width, max_size=width), min_size=n, max_size=n))
    )
    matrix = np.hstack([matrix, np.arange(1, n + 1)[:, None]]).astype(float)  # no two rows are equal
    source = DenseSource(matrix)
    columns = np.arange(width + 1, dtype=np.uint64)
    real, decoy = real_keys(columns), decoy_keys(columns)
    assert not are_decoys(real).any()
    assert are_decoys(decoy).all()
    found = np.array(
        [
            [row.get(key, 0.0) for key in (*real.tolist(), *decoy.tolist())]
            for row in rows_of(with_decoys(source, number=number))
        ]
    )
    assert np.array_equal(found[:, : width + 1], matrix)
    others = found[:, -1].astype(int) - 1
    assert sorted(others.tolist()) == list(range(n))
    assert np.array_equal(found[:, width + 1 :], matrix[others])
    if number + 1 < n:
        assert (others != np.arange(n)).all()


@given(batch=st.integers(1, 700), room=st.integers(1, 3000))
def test_neither_batches_nor_order_nor_parts_matter(batch: int, room: int) -> None:
    source = DenseSource(X[:100])
    assert rows_of(with_decoys(DenseSource(X[:100]), room), batch) == rows_of(with_decoys(source, room))
    small = RowSample(source, 3, room)
    order = np.random.default_rng(room).permutation(100)
    again = RowSample(DenseSource(X[:100][order]), 3, room)
    assert np.array_equal(small.words, again.words)
    assert small.rows.nnz + len(small.rows) <= room or len(small.rows) == 1
    part = rows_of(WithDecoys(source, small, 1).nth_part(1, 3), batch)
    assert part == rows_of(WithDecoys(source, small, 1))[1::3]


def test_a_sample_has_decoys_of_every_frequency() -> None:
    """As many decoys of each frequency as features, though most rare features are in no sampled row."""
    source = SparseSource(RARE)
    beside = with_decoys(source, room=21 * 150)
    assert 130 < len(beside.sample.words) < 170
    keys = np.concatenate([batch.keys for batch, _ in beside.batches(want_labels=False)])
    real, decoys = (np.unique(keys[which], return_counts=True)[1] for which in (~are_decoys(keys), are_decoys(keys)))
    assert decoys.sum() == pytest.approx(real.sum(), rel=0.02)
    # Draws of a feature of one row are 0, 1, 2, … by chance, and a third of them none.
    for low, high, apart in ((1, 4, 0.4), (4, 16, 0.25), (16, 64, 0.25), (64, 4000, 0.25)):
        features, others = (((low <= counts) & (counts < high)).sum() for counts in (real, decoys))
        assert others == pytest.approx(features, rel=apart)


def test_decoys_say_nothing_about_the_labels_of_sorted_rows() -> None:
    y = np.arange(3000) < 1500
    matrix = RARE.tolil()
    matrix[:1500, 0] = 1.0  # the label itself
    matrix[1500:, 0] = 0.0
    source = SparseSource(matrix.tocsr())
    for room in (1 << 20, 21 * 200):
        rows = rows_of(with_decoys(source, room))
        own, decoy = int(real_keys(np.zeros(1, np.uint64))[0]), int(decoy_keys(np.zeros(1, np.uint64))[0])
        assert [own in row for row in rows] == y.tolist()
        assert abs(np.corrcoef(y, [decoy in row for row in rows])[0, 1]) < 4 / np.sqrt(3000)


def test_as_many_decoys_as_false_features_if_these_are_exchangeable() -> None:
    selection = th.select(X, Y, decoys=3, **QUICK)
    facts = selection.provenance["decoys"]
    assert (facts["n"], facts["all_rows"], facts["rows"]) == (3, True, 600)
    assert facts["selected"] == [20, 20, 20]
    assert all(4 <= count <= 11 for count in facts["decoys"])  # half of the 15 false ones
    assert all(rank >= 6 for rank in facts["first"])  # five are true
    plain = th.select(X, Y, **QUICK)
    assert selection.names == plain.names
    assert np.array_equal(selection.weights, plain.weights)


def test_the_batches_and_the_units_of_columns_do_not_matter() -> None:
    scaled = X * 4.0 ** RNG.integers(-6, 6, 60)
    first, second, units = (
        th.select(data, Y, decoys=2, batch_rows=rows, **QUICK).provenance["decoys"]
        for data, rows in ((X, 13), (X, 8192), (scaled, 8192))
    )
    assert first == second
    assert units["decoys"] == pytest.approx(first["decoys"], abs=5)  # other hashes, so other decoys


@pytest.mark.parametrize(
    "more",
    [
        {"method": "fgm", "k": 10},
        {"method": "os", "k": 10},
        {"method": "b-arda", "k": 10, "keep": ["x30"]},
        {"k": 10, "interactions": 2, "passes": 1},
        {"k": 10, "stand_ins": 0.9, "permutations": 1, "passes": 1},
        {"k": 10, "workers": 2},
    ],
)
def test_other_methods_and_settings(more: dict) -> None:
    facts = th.select(X, Y, decoys=1, **more).provenance["decoys"]
    assert 0 <= facts["decoys"][0] <= facts["selected"][0] - 3


def test_in_the_summary_and_in_files(tmp_path: Path) -> None:
    th.select(X, Y, decoys=2, output=tmp_path / "a.thr", **QUICK)
    said = dict(summary(th.load(tmp_path / "a.thr"), None, None))["decoys"]
    assert "of 20 selected features are decoys in 2 fits" in said
    assert said.endswith("a diagnostic, no error control")


def test_on_the_command_line(tmp_path: Path) -> None:
    table = "\n".join(
        ",".join([*map(str, row), "ab"[int(y)]]) for row, y in zip(X[:200, :8].round(3), Y[:200], strict=True)
    )
    (tmp_path / "a.csv").write_text("c0,c1,c2,c3,c4,c5,c6,c7,y\n" + table)
    command = ["select", str(tmp_path / "a.csv"), "--target", "y", "-k", "6", "--decoys", "1"]
    assert "a diagnostic, no error control" in " ".join(CliRunner().invoke(make_app(), command).output.split())


def test_estimators_have_it() -> None:
    model = th.MissionClassifier(decoys=2, k=5, passes=1, refit=False).fit(X, Y)
    assert model.selection_.provenance["decoys"]["n"] == 2
    with pytest.raises(th.SettingsError, match="`decoys` repeats the fit"):
        model.partial_fit(X, Y)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"decoys": 0}, "decoys must be at least 1"),
        ({"decoys": True}, "decoys must be at least 1"),
        ({"decoys": 2, "fdr": 0.1}, "leave out `fdr` or `decoys`"),
        ({"decoys": 1, "method": "hashing"}, "it selects no features"),
        ({"decoys": 1, "method": "fgm", "family": "polynomial:2"}, "the linear `family`"),
        ({"decoys": 1, "method": "b-arda", "groups": [[0, 1]]}, "decoys are single features"),
    ],
)
def test_what_is_refused(more: dict, message: str) -> None:
    with pytest.raises(th.SettingsError, match=message):
        th.select(X, Y, k=5, **more)


def test_too_little_memory_for_the_rows_is_refused() -> None:
    wide = np.zeros((300, 20_000), np.float32)
    wide[:] = np.arange(300)[:, None] + 1
    with pytest.raises(th.SettingsError, match="pass a larger `memory`, or leave out `decoys`"):
        th.select(wide, np.arange(300) % 2, k=5, decoys=1, memory="12MB", passes=1, refit=False)
