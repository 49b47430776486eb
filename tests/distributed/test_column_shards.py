"""FGM by workers that share the columns: the bits of one process, whatever the number of workers and the data."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import thresher as th
from tests.distributed.streams import TRUE, bits, planted, write_svm
from thresher import _native
from thresher.columns.sharded import PLAIN, ShardedColumns, divide, first_hash, merged_tops, shard_of
from thresher.columns.types import Proposal, ScaledColumns
from thresher.core.batch import Batch
from thresher.distributed.column_shard import ColumnShare, hash_range
from thresher.distributed.shard_teams import ThreadShards, WorkerLost
from thresher.run import RunOptions
from thresher.sources.registry import as_source

HOW: dict[str, Any] = {"k": 15, "method": "fgm", "C": 10.0, "scale": "norm", "refit": False}


@pytest.fixture(scope="module")
def rows() -> Any:
    x, y = planted(1500, 120)
    x.data = np.random.default_rng(5).random(len(x.data)).astype(np.float32) + 0.25
    return x, y


def team_of(source: Any, workers: int, **share: Any) -> ThreadShards:
    """Workers that have read a source, with weights of one."""
    given = {"batch_rows": 64, "entries": 300, "want_parts": False, "threads": 1} | share
    team = ThreadShards(ColumnShare(number=0, of=workers, **given), source, _native.ThreadPool(1))
    team.start()
    n, ended = 0, False
    while not ended:
        step = team.step()
        n += sum(len(one.labels) for part in step.rows for one in part)
        ended = all(step.ended)
    team.finish(np.ones(n))
    return team


# ── the answer ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", [{}, {"C": "auto", "scale": "auto", "refit": "auto"}], ids=["fixed", "auto"])
def test_the_bits_are_those_of_one_process(how: dict[str, Any], rows: Any, tmp_path: Path) -> None:
    file = write_svm(tmp_path / "rows.svm", *rows)
    for data in (rows, (file,)):
        alone = th.select(*data, **(HOW | how))
        for workers in (1, 2, 4):
            shared = th.select(*data, workers=workers, **(HOW | how))
            assert bits(shared) == bits(alone)
            assert shared.names == alone.names
            assert shared.calibration == alone.calibration
    of_workers, plan = shared.provenance["workers"], shared.provenance["plan"]
    assert (of_workers["count"], of_workers["asked"]) == (4, 4)
    assert of_workers["largest"] < 0.4 * plan["columns"] < 0.4 * plan["total"]


@pytest.mark.parametrize(
    "how",
    [
        {"weighted": True},
        {"loss": "squared"},
        {"per_class": True},
        {"refit": "l2:0.01"},
        {"interactions": 2, "k": 5},
        {"class_weight": "balanced", "batch_rows": 37},
    ],
    ids=str,
)
def test_outputs_weights_and_products(how: dict[str, Any]) -> None:
    x, y = planted(400, 60, classes=3)
    how = dict(how)
    weight = np.random.default_rng(1).random(400) if how.pop("weighted", False) else None
    fits = [th.select(x, y, sample_weight=weight, workers=workers, **(HOW | how)) for workers in (1, 3)]
    assert bits(fits[0]) == bits(fits[1])


@pytest.mark.parametrize(
    "family",
    [
        th.Groups([[i, i + 1, i + 2] for i in range(0, 60, 3)]),
        th.Tree([[i, i + 1, i + 2] for i in range(0, 60, 3)] + [[i] for i in range(0, 60, 3)]),
        "hik:20",
        "additive:chi2",
        "polynomial:2",
        th.Polynomial(3, squares=False, linear=False),
        th.Columns(range(10, 40)),
        th.Product(th.Columns(range(20)), th.Columns(range(20, 40))),
        th.Union("linear", th.Polynomial(2, columns=range(20)), th.HIK(20, columns=[8]), by_size=True),
    ],
    ids=lambda family: family if isinstance(family, str) else type(family).__name__,
)
@pytest.mark.parametrize("scale", ["norm", None])
def test_families_have_the_bits_of_one_process(family: Any, scale: str | None) -> None:
    x, y = planted(300, 60)
    x.data = np.random.default_rng(5).random(len(x.data)).astype(np.float32)
    fits = [th.select(x, y, workers=n, family=family, **(HOW | {"k": 5, "scale": scale})) for n in (1, 3)]
    assert bits(fits[0]) == bits(fits[1])
    assert fits[0].names == fits[1].names


def test_products_of_columns_that_do_not_fit_are_searched_in_parts(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from thresher.distributed import fgm_run

    usual = fgm_run.FGMWorkersRun._family

    def narrow(run: Any, examples: Any, *given: Any) -> Any:
        examples.store.memory = 40_000
        return usual(run, examples, *given)

    how = HOW | {"k": 5, "family": "polynomial:2"}
    alone = bits(th.select(*rows, **how))
    monkeypatch.setattr(fgm_run.FGMWorkersRun, "_family", narrow)
    assert bits(th.select(*rows, workers=2, **how)) == alone


def test_one_row_of_each_class_and_workers_without_columns_or_rows() -> None:
    x, y = sp.csr_matrix(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])), np.array([0, 1])
    how = HOW | {"k": 2}
    alone = bits(th.select(x, y, **how))
    for workers in (2, 3, 9):  # of three columns and two rows
        assert bits(th.select(x, y, workers=workers, **how)) == alone


def test_estimators_and_k_auto_have_workers(rows: Any) -> None:
    fits = [th.FGMClassifier(k=8, preset="fixed", workers=workers).fit(*rows) for workers in (1, 2)]
    assert np.array_equal(fits[0].coef_, fits[1].coef_)
    x, y = planted(200, 30)
    chosen = [th.select(x, y, **(HOW | {"k": "auto", "k_max": 3}), workers=workers) for workers in (1, 2)]
    assert bits(chosen[0]) == bits(chosen[1])


def test_a_checkpoint_resumes_with_any_number_of_workers(rows: Any, tmp_path: Path) -> None:
    checkpoint = tmp_path / "state.ckpt"
    how = HOW | {"B": 2}

    def stop(progress: Any) -> None:
        if progress.passes_done > 3 and not progress.phase:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        th.select(*rows, checkpoint=checkpoint, every=0.0, progress=stop, workers=2, **how)
    assert checkpoint.exists()
    assert bits(th.select(*rows, checkpoint=checkpoint, workers=3, **how)) == bits(th.select(*rows, **how))


def test_what_a_closed_team_is_asked_it_reads_again(rows: Any) -> None:
    team = team_of(as_source(*rows), 3)
    columns = ShardedColumns(team, 1.0)
    residuals = np.random.default_rng(0).normal(size=(2, team.rows))
    before = columns.top(residuals, 7)
    team.close()
    for one, other in zip(before, columns.top(residuals, 7), strict=True):
        assert np.array_equal(one.ids, other.ids)
        assert np.array_equal(one.scores, other.scores)


def test_lost_workers_let_all_rows_be_read_again(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    alone, lost, usual = bits(th.select(*rows, **HOW)), iter([False, True, False, True]), ThreadShards.step

    def lose(team: ThreadShards) -> Any:
        found = usual(team)
        if next(lost, False):
            raise WorkerLost
        return found

    monkeypatch.setattr(ThreadShards, "step", lose)
    assert bits(th.select(*rows, workers=2, batch_rows=100, memory="8MB", **HOW)) == alone
    monkeypatch.setattr(ThreadShards, "step", lambda team: (_ for _ in ()).throw(WorkerLost))
    with pytest.raises(th.ThresherError, match="workers were lost 5 times while rows were read"):
        th.select(*rows, workers=2, **HOW)


# ── what is refused, and errors ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"workers": 0}, "workers must be an integer of at least 1"),
        ({"cluster": "ray"}, "pass their number, `workers=N`"),
        ({"workers": 2, "family": "spectrum:prefix"}, "no `workers` for this family, since the k-mers of a group"),
        ({"workers": 2, "family": th.Union("linear", th.Spectrum())}, "no `workers` for this family, since the k-mers"),
    ],
)
def test_what_workers_cannot_do_is_refused(how: dict[str, Any], message: str, rows: Any) -> None:
    with pytest.raises(th.ThresherError, match=message):
        th.select(*rows, **(HOW | how))


def test_a_dense_matrix_is_shared_by_threads(rows: Any, caplog: pytest.LogCaptureFixture) -> None:
    dense = rows[0].toarray(), rows[1]
    with caplog.at_level(logging.WARNING):
        shared = th.select(*dense, workers=4, **HOW)
    assert "1 of 4 workers is used: the matrix is in memory" in caplog.text
    assert bits(shared) == bits(th.select(*dense, **HOW))


def test_too_little_memory_for_a_share_says_what_to_do() -> None:
    rng = np.random.default_rng(0)
    wide = sp.csr_matrix((np.ones(400_000), rng.integers(0, 10**6, 400_000), np.arange(0, 400_001, 80)), (5000, 10**6))
    y = rng.integers(0, 2, 5000)
    with pytest.raises(th.ThresherError, match=r"in one of 2 workers.*pass more `workers` or more `memory`"):
        th.select(wide, y, workers=2, memory="6MB", **HOW)
    assert len(th.select(wide, y, workers=4, memory="6MB", **HOW)) > 0


def test_errors_of_a_worker_say_where(rows: Any, tmp_path: Path) -> None:
    lines = write_svm(tmp_path / "rows.svm", *rows).read_text().splitlines()
    for wrong, message in (("1 3:x", "line 1401"), ("nan 3:1", "line 1401")):
        bad = tmp_path / "bad.svm"
        bad.write_text("\n".join([*lines[:1400], wrong, *lines[1400:]]) + "\n")
        with pytest.raises(th.ThresherError, match=message) as shared:
            th.select(bad, workers=3, **HOW)
        with pytest.raises(th.ThresherError) as alone:
            th.select(bad, **HOW)
        assert str(shared.value) == str(alone.value)


def test_errors_of_a_remote_worker_are_values(tmp_path: Path) -> None:
    """Ray would wrap them."""
    from thresher.distributed.ray_shards import RemoteShard

    bad = tmp_path / "bad.svm"
    bad.write_text("1 3:1\n0 3:x\n")
    share = ColumnShare(number=0, of=1, batch_rows=10, entries=100, want_parts=False, threads=1, copies=True)
    remote = RemoteShard()
    assert remote.begin(share, as_source(bad), None) is True
    error, entries = remote.parse()
    assert isinstance(error, th.ThresherError)
    assert entries == []
    assert remote.begin(share, as_source(sp.eye(3, format="csr"), np.arange(3)), np.ones(2)) is True
    assert isinstance(
        remote.call("answer", PLAIN, 1.0, "value_range"), th.ThresherError
    )  # it finds three rows, not two


def test_changed_data_is_noticed_when_it_is_read_again(rows: Any) -> None:
    team = team_of(as_source(*rows), 2)
    team.close()
    team.source = as_source(rows[0][:100], rows[1][:100])
    with pytest.raises(th.ThresherError, match="a worker read 100 rows of 1500: the data changed"):
        ShardedColumns(team, 1.0).top(np.zeros((1, 1500)), 3)


# ── the pieces ───────────────────────────────────────────────────────────────────────────────────


@given(keys=st.lists(st.integers(0, 2**64 - 1), max_size=30), of=st.integers(1, 300))
@settings(max_examples=50, deadline=None)
def test_every_key_belongs_to_the_shard_of_its_hash(keys: list[int], of: int) -> None:
    array = np.array(keys, np.uint64)
    for shard, hashed in zip(shard_of(array, of).tolist(), _native.mix_keys(array).tolist(), strict=True):
        first, last = hash_range(shard, of)
        assert first <= hashed <= last
    assert first_hash(0, of) == 0
    assert first_hash(of, of) == 2**64


@given(data=st.data(), of=st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_dividing_rows_keeps_every_feature_and_its_order(data: st.DataObject, of: int) -> None:
    rows = data.draw(st.lists(st.lists(st.integers(0, 12), max_size=6), max_size=5))
    keys = np.array([key for row in rows for key in row], np.uint64)
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    values = np.arange(len(keys), dtype=np.float32) if data.draw(st.booleans()) else None
    parts = divide(Batch(indptr, keys, values), of)
    assert sum(len(part.keys) for part in parts) == len(keys)
    for shard, part in enumerate(parts):
        wanted = [[key for key in row if shard_of(np.array([key], np.uint64), of)[0] == shard] for row in rows]
        assert part.counts.tolist() == [len(row) for row in wanted]
        assert part.keys.tolist() == [key for row in wanted for key in row]
        if values is not None:
            assert part.values is not None
            assert part.values.tolist() == [float(i) for i, key in enumerate(keys) if key in part.keys]


@given(
    scored=st.dictionaries(st.integers(0, 50), st.sampled_from([0.5, 1.0, 2.0, 3.0]), max_size=20),
    of=st.integers(1, 6),
    limit=st.integers(1, 8),
)
@settings(max_examples=100, deadline=None)
def test_the_merge_of_local_tops_is_the_global_top(scored: dict[int, float], of: int, limit: int) -> None:
    def top(elements: dict[int, float]) -> Proposal:
        best = sorted(elements, key=lambda key: (-elements[key], key))[:limit]
        return Proposal(np.array(best, np.uint64), np.array([elements[key] for key in best], np.float64))

    local = [[top({key: score for key, score in scored.items() if key % of == shard})] for shard in range(of)]
    merged, whole = merged_tops(local, limit)[0], top(scored)
    assert merged.ids.tolist() == whole.ids.tolist()
    assert merged.scores.tolist() == whole.scores.tolist()


def test_every_worker_holds_a_share_of_the_columns(rows: Any) -> None:
    """Keys are divided by their hashes: small keys in a row would otherwise all be of the first worker."""
    team = team_of(as_source(*rows), 4)
    held = [shard._store.columns for shard in team._shards]
    assert sum(held) == 120
    assert min(held) > 15
    whole, shared = team_of(as_source(*rows), 1), ShardedColumns(team, 0.5)
    ids = np.array([3, 99, 7, 10**9], np.uint64)  # the last one does not occur
    one, other = ShardedColumns(whole, 0.5).columns(ids), shared.columns(ids)
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert isinstance(one, ScaledColumns)
    residuals = np.random.default_rng(2).normal(size=(3, team.rows))
    assert np.array_equal(ShardedColumns(whole, 0.5).squared_sums(residuals, ids), shared.squared_sums(residuals, ids))


def test_workers_are_an_option_and_not_a_setting_of_the_answer(rows: Any) -> None:
    assert RunOptions().workers == 1
    assert "workers" not in th.select(*rows, workers=2, **HOW).settings
    assert set(th.select(*rows, workers=2, **HOW).names) >= {f"x{i}" for i in range(TRUE)}


@pytest.mark.parametrize("sent", [0, 1 << 17], ids=["too large", "sent"])
def test_columns_come_with_the_best_unless_they_are_too_large(
    sent: int, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from thresher.columns import sharded

    team, asked, usual = team_of(as_source(*rows), 3), [], ThreadShards.ask
    monkeypatch.setattr(sharded, "_SENT", sent)

    def ask(shards: ThreadShards, part: Any, power: float, name: str, *given: Any, **own: Any) -> Any:
        asked.append(name)
        return usual(shards, part, power, name, *given, **own)

    monkeypatch.setattr(ThreadShards, "ask", ask)
    one, shared = ShardedColumns(team_of(as_source(*rows), 1), 0.5), ShardedColumns(team, 0.5)
    rng = np.random.default_rng(0)
    for times in range(2):
        residuals = rng.normal(size=(2, 1500))
        proposals = shared.top(residuals, 8)
        asked.clear()
        for proposal in proposals:
            ids = rng.permutation(proposal.ids)
            for found, expected in zip(shared.columns(ids), one.columns(ids), strict=True):
                assert np.array_equal(found, expected)
        assert asked.count("columns") >= (0 if sent else 2) + 2  # those of `one`
        if sent and times == 0:
            assert asked.count("columns") == 2
    known = np.concatenate([proposal.ids for proposal in proposals])
    asked.clear()
    shared.top(residuals, 8)
    shared.columns(known)  # asked for again, since they are not sent twice
    assert asked == ["top", "columns"]


def test_workers_send_as_many_new_columns_as_an_iteration_adds(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, residuals = (
        ShardedColumns(team_of(as_source(*rows), 3), 1.0),
        np.random.default_rng(1).normal(size=(1, 1500)),
    )
    (first,) = shared.top(residuals, 8)
    shared.columns(first.ids)
    (second,) = shared.top(residuals, 16)  # the best new ones are behind those that are known
    monkeypatch.setattr(ThreadShards, "ask", lambda *given, **own: pytest.fail("another question"))
    shared.columns(second.ids[~np.isin(second.ids, first.ids)])
    assert [len(part.ids) for part in shared._received] == [8, 8, 8]
