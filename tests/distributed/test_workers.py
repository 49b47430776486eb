"""Workers on threads: the same bits however the rows are read, and after any interruption."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import thresher as th
from tests.distributed.streams import TRUE, bits, planted, write_svm
from thresher.distributed.rounds import LEAST_ROWS, rows_of_round, useful_workers

HOW: dict[str, Any] = {"k": 20, "memory": "4MB", "passes": 1, "refit": False, "random_state": 3}
TWO: dict[str, Any] = HOW | {"workers": 2, "sync": 400}


@pytest.fixture(scope="module")
def rows() -> Any:
    return planted()


@pytest.fixture(scope="module")
def file(rows: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_svm(tmp_path_factory.mktemp("workers") / "rows.svm", *rows)


@pytest.mark.parametrize("method", ["mission", "iht", "batch-iht", "hashing", "b-arda"])
def test_one_worker_is_no_workers(method: str, rows: Any) -> None:
    assert bits(th.select(*rows, method=method, **HOW)) == bits(th.select(*rows, method=method, workers=1, **HOW))


@pytest.mark.parametrize("method", ["mission", "iht", "batch-iht", "hashing"])
@pytest.mark.parametrize("settings", [{}, {"step": 0.1, "l2": 1e-3, "decay": 0.999}, {"minibatch": 7}], ids=str)
def test_the_bits_do_not_depend_on_batches(method: str, settings: dict[str, Any], rows: Any) -> None:
    first, second = (th.select(*rows, method=method, batch_rows=n, **TWO, **settings) for n in (8192, 37))
    assert bits(first) == bits(second)
    assert first.provenance["rows"] == len(rows[1])


@pytest.mark.parametrize(
    "settings",
    [{}, {"loss": "logistic", "minibatch": 7, "memory": "6MB"}, {"truncation": "naive", "passes": 2}],
    ids=str,
)
def test_b_arda_has_the_same_bits_for_any_batches(settings: dict[str, Any], rows: Any) -> None:
    how = {name: value for name, value in TWO.items() if name != "memory"} | {"method": "b-arda"} | settings
    alone = th.select(*rows, **{name: value for name, value in how.items() if name not in ("workers", "sync")})
    first, second = (th.select(*rows, batch_rows=n, **how) for n in (8192, 37))
    assert bits(first) == bits(second)
    assert set(first.names[:TRUE]) == set(alone.names[:TRUE]) == {f"x{i}" for i in range(TRUE)}
    assert first.provenance["seen"]["features"] == alone.provenance["seen"]["features"]
    assert first.provenance["progressive"]["accuracy"] > alone.provenance["progressive"]["accuracy"] - 0.03


def test_b_arda_has_a_history_of_the_merged_model(rows: Any) -> None:
    model = th.BudgetedClassifier(k=10, passes=1, refit=False, random_state=3, workers=2, sync=16).fit(*rows)
    history = model.history_
    assert 2 < len(history.rows) <= 64  # of 188 rounds, whose rows are all multiples of 32
    assert set(history.kept[-1]) == set(model.selection_.keys)


def test_b_arda_names_features_at_the_end(tmp_path: Path) -> None:
    """Workers keep no names: those of the selected features are read from the data."""
    x, y = planted(2000, 100)
    text = tmp_path / "rows.vw"
    with open(text, "w") as file:
        for i in range(x.shape[0]):
            names = " ".join(f"word{j}" for j in x.indices[x.indptr[i] : x.indptr[i + 1]])
            file.write(f"{2 * y[i] - 1} | {names}\n")
    how = {"k": 10, "passes": 1, "refit": False, "method": "b-arda", "workers": 2, "sync": 200}
    assert set(th.select(text, **how).names) == {f"word{j}" for j in range(TRUE)}


def test_b_arda_without_room_for_the_features_says_so() -> None:
    rng = np.random.default_rng(0)
    wide = sp.csr_matrix((np.ones(90_000), rng.integers(0, 10**6, 90_000), np.arange(0, 90_001, 30)), (3000, 10**6))
    y = rng.integers(0, 2, 3000)
    with pytest.raises(th.ThresherError, match=r"any worker has seen. Pass more `memory`.*or leave out `workers`"):
        th.select(wide, y, k=5, method="b-arda", memory="3MB", passes=1, refit=False, workers=2, sync=500)


def test_the_number_of_workers_is_a_setting_of_the_answer(rows: Any) -> None:
    found = {bits(th.select(*rows, **(TWO | {"workers": n}))) for n in (1, 2, 3, 5)}
    assert len(found) == 4


@pytest.mark.parametrize("workers", [2, 5])
def test_workers_find_the_planted_features(workers: int, rows: Any) -> None:
    alone = th.select(*rows, **HOW)
    selection = th.select(*rows, **(TWO | {"workers": workers, "sync": 200}))
    assert set(selection.names[:TRUE]) == set(alone.names[:TRUE]) == {f"x{i}" for i in range(TRUE)}
    lost = alone.provenance["progressive"]["accuracy"] - selection.provenance["progressive"]["accuracy"]
    assert lost < 0.03
    assert selection.provenance["progressive"]["rows"] == len(rows[1])
    # Counts are those of all workers together.
    assert selection.counts[:TRUE].min() > 0.8 * alone.counts[:TRUE].min()


@pytest.mark.parametrize(
    "settings",
    [{"loss": "softmax"}, {"loss": "softmax", "per_class": True}, {"loss": "squared"}, {"interactions": 2, "k": 5}],
    ids=str,
)
def test_several_outputs_numbers_and_products(settings: dict[str, Any]) -> None:
    x, y = planted(2000, 60, classes=3)
    how = TWO | {"passes": 2, "sync": 150} | settings
    first = th.select(x, y, **how)
    assert bits(first) == bits(th.select(x, y, batch_rows=61, **how))
    assert first.provenance["rows"] == 2 * len(y)


def test_passes_and_the_refit_are_chosen_by_the_merged_model(rows: Any) -> None:
    how = {name: value for name, value in TWO.items() if name not in ("passes", "refit")} | {"memory": "16MB"}
    first = th.select(*rows, **how)
    assert first.provenance["passes"]["losses"]
    assert "refit" in first.provenance
    assert bits(first) == bits(th.select(*rows, batch_rows=100, **how))


def test_files_are_divided_by_blocks_of_the_shuffled_order(rows: Any, file: Path, tmp_path: Path) -> None:
    x, y = rows
    order = np.argsort(y, kind="stable")  # class after class
    sorted_file = write_svm(tmp_path / "sorted.svm", x[order], y[order])
    for path in (file, sorted_file):
        selection = th.select(path, **TWO)
        assert selection.provenance["workers"] == {"count": 2, "asked": 2}
        assert set(selection.names[:TRUE]) == {str(i + 1) for i in range(TRUE)}
        assert bits(selection) == bits(th.select(path, batch_rows=97, **TWO))


def test_what_cannot_be_read_out_of_order_is_stored_first(file: Path, tmp_path: Path) -> None:
    import gzip

    packed = tmp_path / "rows.svm.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    selection = th.select(packed, cache=tmp_path / "cache", **TWO)
    assert selection.provenance["workers"]["count"] == 2
    assert set(selection.names[:TRUE]) == {str(i + 1) for i in range(TRUE)}


@pytest.mark.parametrize("stop_at", [1, 4, 9])
@pytest.mark.parametrize("settings", [{"passes": 2}, {"passes": "auto", "refit": "auto"}], ids=["passes", "auto"])
def test_a_checkpoint_resumes_at_the_last_round(
    stop_at: int, settings: dict[str, Any], file: Path, tmp_path: Path
) -> None:
    how = TWO | settings
    checkpoint = tmp_path / "state.ckpt"
    left = iter(range(stop_at))

    def stop(progress: Any) -> None:
        if checkpoint.exists() and next(left, None) is None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        th.select(file, checkpoint=checkpoint, every=0.0, progress=stop, **how)
    assert bits(th.select(file, checkpoint=checkpoint, **how)) == bits(th.select(file, **how))


def test_small_data_gets_fewer_workers_and_a_line(rows: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        selection = th.select(*rows, workers=4, **HOW)
    assert "1 of 4 workers are used: the data has 6000 rows" in caplog.text
    assert bits(selection) == bits(th.select(*rows, **HOW))
    assert selection.provenance["workers"] == {"count": 1, "asked": 4}


def test_more_workers_than_parts_are_not_started(caplog: pytest.LogCaptureFixture) -> None:
    x, y = planted(300, 40)
    with caplog.at_level(logging.WARNING):
        selection = th.select(x, y, **(TWO | {"workers": 500}))
    used = selection.provenance["workers"]["count"]
    assert f"{used} of 500 workers are used: the data has {used} part" in caplog.text
    assert "more data has more parts" in caplog.text
    assert selection.provenance["rows"] == 300


def test_how_many_workers_data_is_worth() -> None:
    assert useful_workers(4, 100, 4 * LEAST_ROWS, None, rounds_set=False) == (4, "")
    assert useful_workers(4, 100, 3 * LEAST_ROWS, None, rounds_set=False)[0] == 3
    assert useful_workers(4, 100, None, 1, rounds_set=False)[0] == 1
    assert useful_workers(4, 100, None, None, rounds_set=False) == (4, "")
    assert useful_workers(4, 100, 10, 1, rounds_set=True) == (4, "")
    assert useful_workers(4, 3, 10, 1, rounds_set=True)[0] == 3


def test_rounds_grow_with_what_was_learned() -> None:
    lengths = [rows_of_round(None, learned) for learned in (0, 10_000, 100_000, 10**9)]
    assert lengths == sorted(lengths)
    assert lengths[-2] < lengths[-1] == rows_of_round(None, 10**10)
    assert rows_of_round(7, 10**9) == 7


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workers": 0}, "workers must be an integer of at least 1"),
        ({"workers": 2, "sync": 0}, "must be an integer of at least 1"),
        ({"workers": 2, "shuffle": False}, "leave out `shuffle=False` or `workers`"),
        ({"workers": 2, "method": "b-amd"}, r"b-amd has no `workers`: it drops all but k weights.*Choose b-arda"),
        ({"workers": 2, "method": "ofs"}, r"ofs has no `workers`: it drops all but k weights.*Choose b-arda"),
        ({"workers": 2, "method": "sofs"}, r"sofs has no `workers`: it drops all but k weights.*Choose b-arda"),
        ({"workers": 2, "method": "l1-arda"}, r"l1-arda has no `workers`: its threshold grows.*Choose b-arda"),
        ({"workers": 2, "method": "ada-fobos"}, r"ada-fobos has no `workers`: its threshold grows.*Choose b-arda"),
        ({"workers": 2, "method": "b-arda", "lam": 0.1}, "b-arda has no `workers` with `lam`, since the penalty"),
        ({"workers": 2, "method": "b-arda", "tune": True}, "b-arda has no `workers` with `tune`, since candidates"),
        ({"workers": 2, "method": "b-arda", "groups": [[0, 1], [2]]}, "no `workers` with `groups`, since the sums"),
        ({"workers": 2, "method": "b-arda", "sketch": (1, 64)}, "no `workers` with `sketch`, since only the sums"),
        ({"cluster": "ray"}, "pass their number, `workers=N`"),
    ],
)
def test_what_workers_cannot_do_is_refused(settings: dict[str, Any], message: str, rows: Any) -> None:
    with pytest.raises(th.ThresherError, match=message):
        th.select(*rows, k=3, **settings)


def test_errors_of_a_worker_say_where(file: Path, tmp_path: Path) -> None:
    lines = file.read_text().splitlines()
    lines[3000] = "2" + lines[3000][1:]
    bad = tmp_path / "bad.svm"
    bad.write_text("\n".join(lines) + "\n")
    with pytest.raises(th.ThresherError, match=r"bad\.svm, line 3001: the label 2 is a third one"):
        th.select(bad, loss="logistic", **TWO)


def test_estimators_have_workers(rows: Any) -> None:
    how = {name: value for name, value in TWO.items() if name != "random_state"}
    model = th.MissionClassifier(**how, random_state=3).fit(*rows)
    expected = th.select(*rows, loss="logistic", **TWO)
    assert np.array_equal(model.selection_.weights, expected.weights)
    with pytest.raises(th.ThresherError, match="fit all rows at once"):
        th.MissionClassifier(**how).partial_fit(*rows, classes=[0, 1])


def test_a_cluster_that_little_data_does_not_use_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        th.select(*planted(300), k=5, workers=2, cluster="127.0.0.1:1", passes=1)
    assert "1 of 2 workers are used" in caplog.text
    assert "The fit runs in this process, not on the cluster" in caplog.text
