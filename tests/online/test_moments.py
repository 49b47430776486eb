"""What a fit looked like while it learned: the learning curve and the history of the kept features."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import thresher as th
from thresher.core.storage.container import plain
from thresher.online.engine import OnlineEngine
from thresher.online.moments import MOST, MOST_KEPT, Moments, fold, moment_bytes
from thresher.online.settings import OnlineSettings
from thresher.sources.registry import as_source

RNG = np.random.default_rng(3)
X = RNG.normal(size=(1500, 60))
Y = X[:, 7] - X[:, 31] + 0.5 * X[:, 3] + 0.3 * RNG.normal(size=1500) > 0


def gathered(selection):
    return {name: selection.provenance.get(name) for name in ("learning_curve", "kept_history")}


def noted(rows, k=4, row_features=2000):
    """Moments of a stream whose n-th row has loss n, and which keeps the features n, n + 1, … n + k - 1."""
    moments = Moments(k)
    for n in range(64, rows + 1, 64):
        moments.learned(64 * row_features)
        if moments.due(n):
            moments.note(n, (float(n), n * (n + 1) / 2), (k, np.arange(n, n + k, dtype=np.uint64)))
    return moments


@pytest.mark.parametrize("method", ["mission", "iht", "batch-iht", "hashing", "b-arda", "ofs", "l1-arda"])
def test_the_batches_make_no_difference(method):
    more = {"memory": "4MB"} if method == "hashing" else {}
    found = [gathered(th.select(X, Y, k=5, method=method, passes=2, batch_rows=size, **more)) for size in (8192, 53)]
    assert found[0] == found[1]
    curve = found[0]["learning_curve"]
    assert curve["pass_ends"] == [1500, 3000]
    assert curve["rows"][-1] == 3000
    assert (found[0]["kept_history"] is None) == (method == "hashing")


def test_the_curve_is_the_progressive_loss_between_the_moments():
    engine = OnlineEngine(OnlineSettings(k=5, sketch=(1, 256)))
    targets = np.where(Y, 1.0, -1.0)
    batch, _ = next(iter(as_source(X, Y).batches(2000)))
    engine.step(replace(batch, y=targets))
    curve = engine.all_moments().learning_curve([0.5, 0.25])
    alone = OnlineEngine(OnlineSettings(k=5, sketch=(1, 256)))
    alone.moments = None
    before, so_far = 0, 0.0
    for rows, loss in zip(curve["rows"], curve["loss"], strict=True):
        alone.step(replace(batch.take(slice(before, rows)), y=targets[before:rows]))
        total = alone.progressive()["log_loss"] * rows
        assert loss == pytest.approx((total - so_far) / (rows - before), rel=1e-5)
        before, so_far = rows, total
    assert curve["held_out"] == [{"passes": 1, "loss": 0.5}, {"passes": 2, "loss": 0.25}]


@pytest.mark.parametrize("rows", [10, 64, 63 * 64, 64 * 64, 100_000])
def test_moments_are_evenly_spaced_and_bounded(rows):
    moments = noted(rows)
    assert len(moments.rows) < MOST
    assert len(moments.rows) >= min(rows // 64, MOST // 2 - 1)
    assert len(set(np.diff([0, *moments.rows]).tolist())) <= 1
    means = moments.learning_curve(())["loss"]
    ends = np.array([0, *moments.rows])
    np.testing.assert_allclose(means, (ends[1:] + ends[:-1] + 1) / 2, rtol=1e-5)


@pytest.mark.parametrize("cuts", [[], [64, 100], [1, 2, 64, 65, 3000]])
def test_further_moments_wait_for_features_wherever_batches_end(cuts):
    sizes = RNG.integers(1, 120, 20_000)
    sizes[5000:9000] = 1
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    moments = Moments(4)
    for begin, end in pairwise([0, *cuts, 20_000]):
        part, at = indptr[begin : end + 1] - indptr[begin], 0
        while at < end - begin:
            following = moments.end(begin + at, part, at)
            moments.learned(int(part[following] - part[at]))
            at = following
            if moments.due(begin + at):
                moments.note(begin + at, (1.0, 1.0), None)
    assert moments.rows[:16] == list(range(64, 17 * 64, 64))
    between = np.diff(indptr[moments.rows[15:]])
    assert (between >= 60_000).all()
    before = np.array([indptr[row] - indptr[row - 64] for row in moments.rows[16:]])
    assert (between - before < 62_000).all()
    assert all(row % 64 == 0 for row in moments.rows)


def test_the_history_compares_sets():
    moments = Moments(3)
    for rows, keys in ((64, [1, 2, 3]), (128, [2, 3, 4]), (192, [2, 3, 4])):
        moments.note(rows, (1.0, 1.0), (3, np.array(keys, np.uint64)))
    history = moments.kept_history(["b", "one"], np.array([2, 1], np.uint64))
    assert history == {
        "rows": [64, 128, 192],
        "size": [3, 3, 3],
        "jaccard": [0.0, 0.5, 1.0],
        "to_final": [0.5, 1.0, 1.0],
        "timeline": {"names": ["b", "one"], "kept": [[1, 1, 1], [1, 0, 0]]},
    }


def test_of_many_features_the_strongest_are_noted_and_the_number_is_true():
    wide = RNG.normal(size=(400, 1600)).astype(np.float32)
    labels = wide[:, :3].sum(axis=1) > 0
    settings = {"k": 1500, "passes": 1, "refit": False, "standardize": False, "shuffle": False, "calibrate": False}
    history = th.select(wide, labels, **settings).provenance["kept_history"]
    assert history["size"] == [1500] * 3
    assert history["rows"] == [64, 128, 400]


def test_the_memory_is_part_of_the_plan():
    moments = noted(10**6, MOST_KEPT)
    assert sum(array.nbytes for array in moments.state().values()) <= moment_bytes(10**6, 1)
    assert moment_bytes(10**6, 1) <= 300_000
    plan = th.select(X, Y, k=5, passes=1).provenance["plan"]
    assert plan["moments"] == moment_bytes(5, 1)
    assert plan["total"] <= plan["memory"]


def test_the_provenance_stays_small(tmp_path):
    selection = th.select(X, Y, k=5, passes=70, refit=False, shuffle=False)
    found = gathered(selection)
    assert len(json.dumps(found)) < 12_000
    assert len(found["learning_curve"]["rows"]) <= MOST
    assert len(found["learning_curve"]["pass_ends"]) <= MOST
    assert len(found["kept_history"]["timeline"]["names"]) == 5
    selection.save(tmp_path / "out.thr")
    assert gathered(th.load(tmp_path / "out.thr")) == plain(found)


def test_a_saved_state_continues():
    first, second = noted(70 * 64), Moments(4)
    second.restore(first.state(), 70 * 64)
    for moments in (first, second):
        moments.end_pass(4500)
        moments.learned(70_000)
        assert moments.due(72 * 64)
        moments.note(72 * 64, (1.0, 1.0), None)
    for name, array in first.state().items():
        assert array.tobytes() == second.state()[name].tobytes(), name


def test_a_state_without_moments_begins_anew():
    moments = Moments(4)
    moments.restore({}, 1000)
    assert moments.rows == []
    assert not moments.due(1023)
    assert moments.due(1024)
    assert not moments.due(1010, round_end=True)
    assert moments.due(1030, round_end=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"moment_rows": np.array([64, 128])},
        {"moment_keys": np.zeros(3, np.uint32)},
        {"moment_clock": np.array([0, 1, 1, 64, 1, 0, 0])},
        {"moment_sums": np.zeros((1, 3))},
        {"moment_passes": np.array([[64]])},
        {"moment_passes": np.array([0.5])},
        {"moment_passes": np.array([-1])},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_damaged_state_is_refused(wrong):
    with pytest.raises(ValueError, match="moments"):
        Moments(4).restore({**noted(64).state(), **wrong}, 64)


def test_candidates_of_a_tuning_have_a_history_once_they_are_few():
    found = gathered(th.select(X, Y, k=5, method="b-arda", passes=1, refit=False, tune=True))
    assert found["learning_curve"]["rows"][-1] == 1500
    assert found["kept_history"]["rows"][-1] == 1500


def test_several_workers_note_the_ends_of_rounds():
    found = gathered(th.select(X, Y, k=5, passes=1, refit=False, workers=2, sync=150))
    rows = found["learning_curve"]["rows"]
    assert rows[-1] == 1500
    assert 3 <= len(rows) <= 8
    assert found["kept_history"]["to_final"][-1] == 1.0


def test_folded_keys_keep_small_ones():
    assert fold(np.array([5, 2**32 + 7, 1], np.uint64)).tolist() == [5, 6, 1]


def test_little_memory_notes_fewer_features_and_refuses_no_fit():
    selection = th.select(X, Y, k=1000, memory="4MB", passes=1)
    plan = selection.provenance["plan"]
    assert 0 <= plan["moments"] < moment_bytes(1000, 1)
    assert plan["total"] <= plan["memory"]
    assert selection.provenance["learning_curve"]["rows"][-1] == selection.provenance["rows"]


def test_many_kept_features_have_fewer_free_moments():
    """To list them takes time, also where ``k`` does not limit their number."""

    def noted_of(size):
        moments = Moments(4)
        for n in range(64, 1025, 64):
            moments.learned(1)
            if moments.due(n):
                moments.note(n, (float(n), 0.0), (size, np.arange(4, dtype=np.uint64)))
        return moments.rows

    assert noted_of(1024) == list(range(64, 1025, 64))
    assert noted_of(1025) == [64, 128]
