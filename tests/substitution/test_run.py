"""Online Substitution from the front door: every way in, bad input, stopping and going on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.reference import substitution as reference
from tests.substitution.test_substitution import LOSSES, data, same, targets
from thresher import _native
from thresher.columns.in_memory import InMemoryColumns
from thresher.errors import DataError, ResumeError, SettingsError
from thresher.fgm.families.product_search import ProductFamily

# ── the front door ───────────────────────────────────────────────────────────────────────────────


def test_it_finds_what_is_there() -> None:
    x, y, true = data(n=900, p=300)
    for loss in LOSSES:
        found = th.select(x, targets(loss, y), k=10, method="os", loss=loss)
        assert len(true & set(found.keys.tolist())) >= 8
        assert found.settings["method"] == "os"


def test_the_refit_is_the_bottom() -> None:
    x, y, _ = data(n=400)
    found = th.select(x, y + 3, k=10, method="os", loss="squared", refit=1e-9)
    kept = np.column_stack([x[:, found.keys.astype(int)].astype(float), np.ones(len(x))])
    best = np.linalg.lstsq(kept, y + 3, rcond=None)[0]
    assert np.allclose([*found.weights, *found.intercept], best, rtol=1e-6)
    rough = th.select(x, y + 3, k=10, method="os", loss="squared", refit=False)
    assert sorted(rough.names) == sorted(found.names)
    assert np.isclose((y + 3 - x[:, rough.keys.astype(int)] @ rough.weights).mean(), rough.intercept[0])


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "huber:0.5", "squared_epsilon:0.2"])
def test_the_refit_of_other_losses_has_no_slope(loss: str) -> None:
    x, y, _ = data(n=300)
    name, _, delta = loss.partition(":")
    y = targets(name, y + 0.5 * np.random.default_rng(2).normal(size=len(y)))
    ridge = 1e-3
    found = th.select(x, y, k=5, method="os", loss=loss, refit=ridge)
    columns = x[:, found.keys.astype(int)].astype(float)
    slopes = reference.slopes(name, columns @ found.weights + found.intercept[0], y, float(delta or 1))
    assert abs(slopes.sum()) < 1e-8
    deviations = columns.std(axis=0)
    gradient = columns.T @ slopes / deviations + ridge * found.weights * deviations
    assert abs(gradient).max() < 1e-6


def test_every_way_in_gives_the_same(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    feather = pytest.importorskip("pyarrow.feather")

    x, y, _ = data(p=60)
    want = th.select(x, y, k=5, method="os", loss="squared")
    names = [f"x{j}" for j in range(60)]
    np.save(tmp_path / "x.npy", x)
    folder = tmp_path / "columns"
    folder.mkdir()
    for j in range(60):
        np.save(folder / f"x{j:02}.npy", x[:, j])
    table = pa.table({**dict(zip(names, x.T, strict=True)), "y": y})
    pq.write_table(table, tmp_path / "t.parquet")
    feather.write_feather(table, tmp_path / "t.feather", compression="uncompressed")
    streams = [
        th.FeatureStream(x),
        th.FeatureStream(x, names=names, block=7),
        th.FeatureStream(sp.csc_matrix(x)),
        th.FeatureStream(tmp_path / "x.npy"),
        th.FeatureStream(folder),
        th.FeatureStream(tmp_path / "t.parquet", target="y"),
        th.FeatureStream(tmp_path / "t.feather", target="y"),
        th.FeatureStream(table, target="y"),
        th.FeatureStream(lambda: iter(x.T)),
        th.FeatureStream(list(zip(names, x.T, strict=True))),
    ]
    for stream in streams:
        found = th.select(stream, None if stream.labels is not None else y, k=5, method="os", loss="squared")
        assert [name.replace("x0", "x") if name != "x0" else name for name in found.names] == want.names
        assert found.weights.tolist() == want.weights.tolist()
    rows = th.select(sp.csr_matrix(x), y, k=5, method="os", loss="squared")
    assert same(rows, want)
    by_name = th.select(tmp_path / "t.parquet", target="y", k=5, method="os", loss="squared")
    assert np.allclose(by_name.predict(tmp_path / "t.parquet", target="y"), want.predict(x))


def test_sparse_columns_are_what_they_are_with_their_zeros() -> None:
    """Numbers in two parts, columns to skip, rows without weight, names, any order."""
    rng = np.random.default_rng(3)
    x, y, _ = data(n=300, p=120)
    x[rng.random(x.shape) < 0.95] = 0.0
    x[:, 7], x[:, 8], x[3, 9] = 0.0, 2.0, np.nan
    few = sp.csc_matrix(x)
    halves = few.copy()
    halves.data /= 2
    twice = sp.csc_matrix(
        (np.repeat(halves.data, 2), np.repeat(halves.indices, 2), 2 * halves.indptr.astype(np.int64)), shape=few.shape
    )
    names, weight = [f"c{j}" for j in range(120)], (np.arange(300) % 5 > 0).astype(float)
    for loss in ("squared", "squared_hinge"):
        for more in ({}, {"sample_weight": weight, "order": "random"}):
            how = {"k": 8, "method": "os", "loss": loss, **more}
            want = th.select(th.FeatureStream(x, names=names, on_error="skip"), targets(loss, y), **how)
            for matrix in (few, twice):
                stream = th.FeatureStream(matrix, names=names, on_error="skip")
                found = th.select(stream, targets(loss, y), **how)
                assert same(found, want)
                assert found.provenance["skipped_columns"] == want.provenance["skipped_columns"]
    with pytest.raises(th.BrokenStream, match="x7 is constant"):
        th.select(th.FeatureStream(few), y, k=8, method="os", loss="squared")


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_chosen_products_of_columns_arrive_though_none_is_stored(loss: str) -> None:
    """A family that makes its columns when asked, fed by ids: as if they had been made before."""
    rng = np.random.default_rng(7)
    x = ((rng.random((300, 30)) < 0.3) * rng.normal(size=(300, 30))).astype(np.float32)
    y = targets(loss, 3 * x[:, 3] * x[:, 17] - 2 * x[:, 5] * x[:, 9] + 0.1 * rng.normal(size=300))
    pool = _native.ThreadPool(1)
    family = ProductFamily(th.Polynomial(2, linear=False), InMemoryColumns(_native.DenseColumns32(x, None), pool))
    ids = family.top(rng.normal(size=(1, 300)), 465)[0].ids  # all of them: what they are products of is known now
    wanted = {id: parts for id, parts in family.parts.items() if parts in ((3, 17), (5, 9))}
    ids = np.concatenate([ids[~np.isin(ids, list(wanted))][:150], *([id] for id in wanted)]).astype(np.uint64)
    made = np.stack([np.prod([x[:, part] for part in family.parts[id]], axis=0) for id in ids.tolist()], axis=1)
    assert (made.std(axis=0) > 0).all()
    for order in ("given", "random"):
        how = {"k": 4, "method": "os", "loss": loss, "order": order}
        found = th.select(th.FeatureStream((family, ids)), y, **how)
        before = th.select(th.FeatureStream(made), y, **how)
        assert found.keys.tolist() == ids[before.keys.astype(int)].tolist()
        assert np.allclose(found.weights, before.weights, rtol=1e-5)
        assert set(wanted) <= set(found.keys.tolist())
        assert found.provenance["arrived"] == 3 * len(ids)


def test_an_order_by_chance_is_another_in_every_scan() -> None:
    x, y, _ = data()
    one = th.select(x, y, k=10, method="os", loss="squared", order="random", random_state=1)
    assert same(one, th.select(x, y, k=10, method="os", loss="squared", order="random", random_state=1))
    assert one.provenance["arrived"] == 3 * 200


def test_classes_labels_and_weights() -> None:
    x, y, _ = data(n=400, p=60)
    three = np.where(y > 1, "high", np.where(y < -1, "low", "middle"))
    found = th.select(x, three, k=10, method="os")
    assert found.weights.shape == (3, 10)
    assert (found.predict(x) == three).mean() > 0.6
    apart = th.select(x, three, k=3, method="os", per_class=True)
    assert ((apart.weights != 0).sum(axis=1) == 3).all()
    several = np.stack([y > 0, x[:, 0] > 0], axis=1).astype(int)
    assert th.select(x, several, k=4, method="os", multilabel=True).weights.shape == (2, 4)
    weight = np.where(np.arange(400) < 200, 1.0, 0.0)
    half = th.select(x[:200], y[:200], k=5, method="os", loss="squared")
    assert same(th.select(x, y, k=5, method="os", loss="squared", sample_weight=weight), half)
    assert same(th.select(th.FeatureStream(x), y, k=5, method="os", loss="squared", sample_weight=weight), half)


def test_memory_is_planned_and_too_little_is_refused() -> None:
    x, y, _ = data(n=1000, p=100)
    stream = th.FeatureStream(x)
    found = th.select(stream, y, k=10, method="os", loss="squared", memory="120KB")
    assert found.provenance["plan"]["total"] <= 120 * 1024
    assert same(found, th.select(stream, y, k=10, method="os", loss="squared"))
    with pytest.raises(SettingsError, match="allow at least"):
        th.select(stream, y, k=10, method="os", loss="squared", memory="50KB")


def test_more_than_the_machine_has_is_refused_before_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, _ = data(n=300)
    monkeypatch.setattr("thresher.substitution.memory_plan.machine_memory", lambda: 10_000)
    with pytest.raises(SettingsError, match=r"20 columns of 300 rows take .*free memory: keep fewer features"):
        th.select(x, y, k=20, method="os", loss="squared")


def test_columns_of_rows_count_too() -> None:
    x, y, _ = data(n=1000, p=400)
    x[np.random.default_rng(3).random(x.shape) < 0.9] = 0.0
    rows = sp.csr_matrix(x)
    found = th.select(rows, y, k=10, method="os", loss="squared", memory="1200KB")
    plan = found.provenance["plan"]
    assert 8 * rows.nnz <= plan["columns"] < plan["total"] <= 1200 * 1024
    assert same(found, th.select(rows, y, k=10, method="os", loss="squared"))
    with pytest.raises(SettingsError, match="its columns take about") as refused:
        th.select(rows, y, k=10, method="os", loss="squared", memory="300KB")
    advised = str(refused.value).split("Pass about ")[1].split(" of `memory`")[0]
    assert same(found, th.select(rows, y, k=10, method="os", loss="squared", memory=advised))


# ── bad input ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.ones(150), "is constant"),
        (np.r_[np.nan, np.ones(149)], "missing or infinite"),
        (np.r_[1e300, np.ones(149)], "missing or infinite"),
        (np.arange(149), "has 149 rows, and the labels 150"),
        (["a"] * 150, "no column of numbers"),
    ],
)
def test_a_bad_column_is_refused_by_name_or_counted(column: Any, message: str) -> None:
    x, y, _ = data()

    def columns() -> Iterator[tuple[str, Any]]:
        for j in range(30):
            yield f"c{j}", x[:, j]
        yield "bad", column
        for j in range(30, 60):
            yield f"c{j}", x[:, j]

    with pytest.raises(th.BrokenStream, match=f"the column bad .*{message}") as caught:
        th.select(th.FeatureStream(columns, block=10), y, k=5, method="os", loss="squared")
    assert isinstance(caught.value, DataError)
    left = caught.value.selection
    assert left is not None
    assert len(left) == 5
    skipping = th.FeatureStream(columns, on_error="skip")
    found = th.select(skipping, y, k=5, method="os", loss="squared")
    assert sum(found.provenance["skipped_columns"].values()) == 1
    assert same(
        found,
        th.select(th.FeatureStream(x[:, :60], names=[f"c{j}" for j in range(60)]), y, k=5, method="os", loss="squared"),
    )


def test_a_stream_that_fails_leaves_a_model() -> None:
    x, y, _ = data()

    def columns() -> Iterator[Any]:
        yield from x.T[:40]
        raise ConnectionError("the store is gone")

    model = th.SubstitutionRegressor(k=5)
    with pytest.raises(th.BrokenStream, match="the store is gone"):
        model.fit(th.FeatureStream(columns, block=8), y)
    assert len(model.selection_) == 5
    assert model.selection_.provenance["arrived"] == 40


def test_streams_and_settings_that_cannot_be() -> None:
    x, y, _ = data()
    assert len(th.select(x[:, :4], y, k=10, method="os", loss="squared")) == 4  # k above what arrives keeps all
    once = (column for column in x.T)
    with pytest.raises(SettingsError, match="scans=1"):
        th.select(th.FeatureStream(once), y, k=5, method="os")
    assert len(th.select(th.FeatureStream(iter(x.T)), y, k=5, method="os", loss="squared", scans=1)) == 5
    with pytest.raises(DataError, match="pass y"):
        th.select(th.FeatureStream(x), k=5, method="os")
    with pytest.raises(DataError, match="as many"):
        th.select(th.FeatureStream(x), y[:-1], k=5, method="os")
    with pytest.raises(SettingsError, match="mission has no setting `scans`"):
        th.select(x, y, k=5, scans=2)
    for wrong in ({"eta": 0.0}, {"m": 0.5}, {"c": 2.0}, {"scans": 0}, {"loss": "hinge"}, {"workers": 9}, {"B": 3}):
        with pytest.raises(SettingsError):
            th.select(x, y > 0, **{"k": 5, "method": "os", **wrong})


# ── stopping and going on ────────────────────────────────────────────────────────────────────────


@examples(12)
@given(cut=st.integers(1, 199), loss=st.sampled_from(["squared", "logistic"]), block=st.sampled_from([3, 64]))
def test_features_may_stop_anywhere_and_go_on(cut: int, loss: str, block: int) -> None:
    x, y, _ = data()
    y = targets(loss, y)
    kind = th.SubstitutionRegressor if loss == "squared" else th.SubstitutionClassifier
    model = kind(k=8, loss=loss)
    model.partial_fit(th.FeatureStream(x[:, :cut], block=block), y)
    model.partial_fit(x[:, cut:])
    # What `partial_fit` takes for ``auto``: rows held out now could not choose for features that come later.
    fixed = {} if loss == "squared" else {"shrink": 10.0, "ridge": 0.5, "refit": True}
    whole = kind(k=8, loss=loss, scans=1, **fixed).fit(x, y)
    assert same(model.selection_, whole.selection_)
    assert model.n_features_in_ == 200


@examples(8)
@given(stop=st.integers(0, 25), loss=st.sampled_from(["squared", "squared_hinge"]))
def test_a_checkpoint_goes_on_exactly(tmp_path_factory: Any, stop: int, loss: str) -> None:
    x, y, _ = data()
    path = tmp_path_factory.mktemp("run") / "c"
    names = [f"c{j}" for j in range(200)]
    given = {"k": 8, "method": "os", "loss": loss, "scans": 2}
    y = targets(loss, y)
    want = th.select(th.FeatureStream(x, names=names, block=16), y, **given)

    def interrupt(progress: Any) -> None:
        if progress.features > 16 * stop:
            raise KeyboardInterrupt

    stream = th.FeatureStream(x, names=names, block=16)
    found = None
    try:
        found = th.select(stream, y, **given, checkpoint=path, progress=interrupt)
    except th.Interrupted as interrupted:
        usable = interrupted.selection is not None
    if found is None:
        assert usable
        with pytest.raises(ResumeError):
            th.select(stream, y, **{**given, "k": 7}, checkpoint=path)
        found = th.select(th.FeatureStream(x, names=names, block=5), y, **given, checkpoint=path)
    assert same(found, want)
    assert not path.exists()


SLOW = """
import sys, numpy as np, thresher as th
rng = np.random.default_rng(0)
x = rng.normal(size=(6000, 300)).astype(np.float32)
y = np.where(x[:, :9] @ rng.normal(size=9) > 0, 1.0, -1.0)
found = th.select(th.FeatureStream(x), y, k=30, method="os", scans=2, shrink=0, ridge=0,
                  checkpoint=sys.argv[1], every=0.01)
print(found.names, found.weights.tolist())
"""


def started(path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SLOW, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.skipif(os.name == "nt", reason="no such signals")
def test_kill_interrupt_and_resume(tmp_path: Path) -> None:
    """Killed at any moment, or stopped by Ctrl-C between two features of a block: the rest comes after resuming."""
    stopped = {how: started(tmp_path / how.name) for how in (signal.SIGKILL, signal.SIGINT)}
    deadline = time.monotonic() + 60
    for how, process in stopped.items():
        while not (tmp_path / how.name).exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(how)
        process.communicate()
    again = [started(tmp_path / name) for name in (*(how.name for how in stopped), "whole")]
    printed = {process.communicate()[0] for process in again}
    assert len(printed) == 1
    assert printed != {""}
