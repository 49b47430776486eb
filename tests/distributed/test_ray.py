"""Workers on Ray: the bits of threads, also after workers were killed. One Ray serves all tests."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from tests.distributed.streams import bits, planted, write_svm
from thresher.writers.registry import write_source

ray = pytest.importorskip("ray", reason="Ray has no wheel for this Python or platform")

HOW: dict[str, Any] = {"k": 20, "memory": "4MB", "passes": 2, "refit": False, "random_state": 3}
HOW |= {"workers": 2, "sync": 700}


@pytest.fixture(scope="module", autouse=True)
def one_ray() -> Iterator[None]:
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # otherwise Ray may replace the loopback address and wait
    ray.init(
        address="local",
        num_cpus=2,
        object_store_memory=100 << 20,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
    )
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_svm(tmp_path_factory.mktemp("ray") / "rows.svm", *planted(4000))


@pytest.fixture(scope="module")
def on_threads(file: Path) -> str:
    return bits(th.select(file, **HOW))


def test_ray_gives_the_bits_of_threads(file: Path, on_threads: str) -> None:
    assert bits(th.select(file, cluster="ray", **HOW)) == on_threads


def test_workers_read_ranges_of_files_elsewhere_and_parsed_rows(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("fsspec", reason="pip install 'thresher[remote]'")
    elsewhere = file.as_uri()  # blocks are larger than those of a file here
    assert bits(th.select(elsewhere, cluster="ray", **HOW)) == bits(th.select(elsewhere, **HOW))
    parsed = tmp_path / "rows.thc"
    write_source(th.scan(file), parsed)
    assert bits(th.select(parsed, cluster="ray", **HOW)) == bits(th.select(parsed, **HOW))


def test_b_arda_has_the_bits_of_threads_after_a_kill(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from thresher.distributed.ray_team import RayTeam

    how = {name: value for name, value in HOW.items() if name != "memory"} | {"method": "b-arda"}
    expected = bits(th.select(file, **how))
    rounds, usual = iter(range(100)), RayTeam.round

    def kill_one(team: RayTeam, *given: Any) -> Any:
        if next(rounds) == 2:
            ray.kill(team._actors.workers[1])  # the new worker needs the whole model, the other one only changes
        return usual(team, *given)

    monkeypatch.setattr(RayTeam, "round", kill_one)
    assert bits(th.select(file, cluster="ray", **how)) == expected


def test_data_in_memory_is_sent_to_the_workers() -> None:
    x, y = planted(1500, 80, classes=3)
    how = HOW | {"loss": "softmax", "sync": 300}
    assert bits(th.select(x, y, cluster="ray", **how)) == bits(th.select(x, y, **how))


def test_a_killed_worker_is_replaced_and_the_bits_stay(
    file: Path, on_threads: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from thresher.distributed.ray_team import RayTeam

    rounds = iter(range(100))
    usual = RayTeam.round

    def kill_some(team: RayTeam, *given: Any) -> Any:
        if (number := next(rounds)) in (0, 3):
            ray.kill(team._actors.workers[number % 2])
        return usual(team, *given)

    monkeypatch.setattr(RayTeam, "round", kill_some)
    with caplog.at_level(logging.WARNING):
        selection = th.select(file, cluster="ray", **HOW)
    assert caplog.text.count("is replaced; its round is done again") >= 2
    assert bits(selection) == on_threads


FGM: dict[str, Any] = {"k": 12, "method": "fgm", "C": 10.0, "scale": "norm", "refit": False}


def test_fgm_has_the_bits_of_one_process_whichever_workers_are_lost(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Workers are lost in reading, in building columns, and in iterations; no node has room for the last one."""
    from thresher.distributed import ray_actors
    from thresher.distributed.ray_shards import RayShards

    steps, asked, blockers = iter(range(1000)), iter(range(1000)), []
    step, finish, ask = RayShards.step, RayShards._finish, RayShards.ask

    def lose_in_step(team: RayShards) -> Any:
        if next(steps) == 1:
            ray.kill(team._made().workers[1])
        return step(team)

    def lose_in_finish(team: RayShards, *given: Any) -> Any:
        ray.kill(team._made().workers[1])
        return finish(team, *given)

    def lose_in_ask(team: RayShards, *given: Any, **own: Any) -> Any:
        if (number := next(asked)) in (2, 5):
            ray.kill(team._made().workers[0])
        if number == 5:
            monkeypatch.setattr(ray_actors, "START", 1.0)
            blockers.append(ray.remote(num_cpus=1)(Blocker).remote())
            assert ray.get(blockers[-1].here.remote(), timeout=120)
        return ask(team, *given, **own)

    monkeypatch.setattr(RayShards, "step", lose_in_step)
    monkeypatch.setattr(RayShards, "_finish", lose_in_finish)
    monkeypatch.setattr(RayShards, "ask", lose_in_ask)
    try:
        with caplog.at_level(logging.WARNING):
            shared = th.select(file, workers=2, cluster="ray", batch_rows=500, memory="8MB", **FGM)
    finally:
        for blocker in blockers:
            ray.kill(blocker)
    assert "the rows are read from the beginning" in caplog.text
    assert caplog.text.count("is replaced; it reads its share of the columns again") == 4
    assert "this process reads and holds its share of the columns" in caplog.text
    assert bits(shared) == bits(th.select(file, **FGM))


def test_sparse_rf_has_the_bits_of_one_process_after_a_kill(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from thresher.distributed.ray_shards import RayShards

    how: dict[str, Any] = {"method": "sparse-rf", "draws": 20, "max_iter": 2, "gamma": 0.05, "lam": 2.0, "scale": None}
    asked, usual = iter(range(1000)), RayShards.ask

    def lose(team: RayShards, *given: Any, **own: Any) -> Any:
        if next(asked) == 3:
            ray.kill(team._made().workers[1])
        return usual(team, *given, **own)

    monkeypatch.setattr(RayShards, "ask", lose)
    assert bits(th.select(file, workers=2, cluster="ray", **how)) == bits(th.select(file, **how))


class Blocker:
    """Takes a processor, as other users of a cluster do."""

    def here(self) -> bool:
        return True


@pytest.mark.parametrize("lost", [[1], [0, 1]], ids=["one", "all"])
def test_without_room_for_a_replacement_the_share_moves_to_this_process(
    lost: list[int],
    file: Path,
    on_threads: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    from thresher.distributed import ray_actors, ray_team

    monkeypatch.setattr(ray_actors, "START", 1.0)
    rounds, usual, blockers = iter(range(100)), ray_team.RayTeam.round, []

    def kill_and_block(team: ray_team.RayTeam, *given: Any) -> Any:
        if next(rounds) == 2:
            for number in lost:
                ray.kill(team._actors.workers[number])
                blockers.append(ray.remote(num_cpus=1)(Blocker).remote())
                assert ray.get(blockers[-1].here.remote(), timeout=120)
        return usual(team, *given)

    monkeypatch.setattr(ray_team.RayTeam, "round", kill_and_block)
    try:
        with caplog.at_level(logging.WARNING):
            selection = th.select(file, cluster="ray", **HOW)
    finally:
        for blocker in blockers:
            ray.kill(blocker)
    assert caplog.text.count("this process learns its share") == len(lost)
    assert bits(selection) == on_threads


def test_errors_of_the_data_come_back(file: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.svm"
    bad.write_text(file.read_text().replace("\n1 ", "\n2 ", 1))
    with pytest.raises(th.ThresherError, match="is a third one"):
        th.select(bad, loss="logistic", cluster="ray", **HOW)


def test_what_is_read_through_a_temporary_file_is_refused(file: Path, tmp_path: Path) -> None:
    import gzip

    packed = tmp_path / "rows.svm.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    with pytest.raises(th.ThresherError, match="cannot be sent to the workers of Ray"):
        th.select(packed, cluster="ray", cache=tmp_path / "cache", **HOW)


@pytest.mark.filterwarnings("ignore:`use_.*` is deprecated:DeprecationWarning")  # by Ray itself
def test_a_real_dataset_of_ray_has_the_bits_of_a_file(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    data = pytest.importorskip("ray.data", reason="pip install 'ray[data]'")
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    x = rng.normal(size=(1200, 4)).astype(np.float32)
    y = np.where(x[:, 1] + rng.normal(size=1200) > 0, "yes", "no")
    table = pa.table({**{f"c{j}": x[:, j] for j in range(4)}, "y": y})
    pq.write_table(table, tmp_path / "rows.parquet")
    dataset = data.from_arrow([table.slice(0, 600), table.slice(600)])
    how: dict[str, Any] = {
        "k": 2,
        "target": "y",
        "passes": 1,
        "refit": False,
        "memory": "4MB",
        "workers": 2,
        "sync": 300,
    }
    assert bits(th.select(dataset, **how)) == bits(th.select(tmp_path / "rows.parquet", **how))
    with pytest.raises(th.ThresherError, match="cannot be sent to the workers of Ray"):
        th.select(dataset, cluster="ray", cache=tmp_path / "cache", **how)
    # Tasks of Ray would wait for a processor that the workers have, and these for the rows.
    with pytest.raises(th.ThresherError, match=r"a processor besides those of 2 workers.* has 2: add nodes"):
        th.select(dataset, k=2, target="y", method="fgm", preset="fixed", workers=2, cluster="ray")


def columns() -> tuple[Any, Any, dict[str, Any]]:
    """Columns that arrive, some of them true, and how they are selected."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 150)).astype(np.float32)
    y = x[:, :6] @ np.array([3.0, -3, 2, -2, 2, 2]) + 0.1 * rng.normal(size=300)
    how: dict[str, Any] = {"k": 12, "method": "os", "loss": "squared", "workers": 2, "cluster": "ray", "exchange": 16}
    how["fit_intercept"] = False
    return th.FeatureStream(x, block=40), y, how


def test_asy_os_goes_on_without_a_lost_worker_and_from_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from thresher.distributed.async_ray import RayHost, RaySubstitutionRun

    stream, y, how = columns()
    problems: list[Any] = []
    calls, usual, make = iter(range(1000)), RayHost.exchange, RaySubstitutionRun._make_problem

    def kill_one(host: RayHost, given: Any) -> Any:
        if next(calls) == 6:
            ray.kill(host._actor)
        return usual(host, given)

    def interrupt(progress: Any) -> None:
        if progress.features > 380:
            raise KeyboardInterrupt

    monkeypatch.setattr(RayHost, "exchange", kill_one)
    monkeypatch.setattr(
        RaySubstitutionRun, "_make_problem", lambda run, *given: problems.append(make(run, *given)) or problems[-1]
    )
    with caplog.at_level(logging.WARNING), pytest.raises(th.Interrupted):
        th.select(stream, y, **how, checkpoint=tmp_path / "c", progress=interrupt)
    assert "lost: ActorDiedError" in caplog.text
    assert "the other workers take over its features" in caplog.text
    # The rest of the fit, on the worker that is left, and its margins are those of what it keeps.
    found = th.select(stream, y, **how, checkpoint=tmp_path / "c")
    assert set(found.names) >= {f"x{j}" for j in range(6)}
    made = problems[-1]
    assert len(made.summary()["dead"]) == 1
    kept = made.kept()
    assert len(kept.ids) == 12
    margins = (kept.weights[:, 0] * kept.scales) @ kept.columns.astype(float)
    assert np.allclose(made.central.read()[0], margins, rtol=1e-6, atol=1e-6)


def test_asy_os_refuses_what_has_no_workers_elsewhere() -> None:
    stream, y, how = columns()
    for given, message in (
        ({"workers": 1, "exchange": None}, "`cluster` is where workers run: pass their number, `workers=N`"),
        ({"staleness": 2, "exchange": None}, "`staleness` simulates workers in this process: leave out `cluster`"),
        ({"workers": 5}, r"`workers=5` need a processor each, and the cluster 'ray' has 2"),
    ):
        with pytest.raises(th.ThresherError, match=message):
            th.select(stream, y, **(how | given))


def test_more_workers_than_processors_are_refused(file: Path) -> None:
    with pytest.raises(th.ThresherError, match=r"`workers=5` need a processor each, and the cluster 'ray' has 2"):
        th.select(file, cluster="ray", **(HOW | {"workers": 5, "sync": 50}))


def test_an_address_without_ray_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(th.ThresherError, match=r"no Ray cluster answers at '127\.0\.0\.1:1'"):
        th.select(file, cluster="127.0.0.1:1", **HOW)
    with pytest.raises(th.ThresherError, match=r'cluster must be "ray", or an address'):
        th.select(file, cluster="somewhere", **HOW)


def test_a_ray_that_refuses_is_an_error(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray answers, and its own errors follow."""
    address = ray.get_runtime_context().gcs_address  # of the Ray of the tests
    with monkeypatch.context() as patched:
        patched.setattr(ray, "is_initialized", lambda: False)
        for raised, message in (
            (ConnectionError("Failed to connect"), r"cannot be used: Failed to connect\. If .*RAY_AUTH_MODE=token"),
            (ray.exceptions.AuthenticationError("no token"), r"cannot be used: no token.*RAY_AUTH_MODE=token"),
            (RuntimeError("Version mismatch: Ray: 2.40"), r"another version of Ray or Python.*Ray: 2\.40"),
        ):

            def refuse(error: Exception = raised, **_: Any) -> None:
                raise error

            patched.setattr(ray, "init", refuse)
            with pytest.raises(th.ThresherError, match=message):
                th.select(file, cluster=address, **HOW)


def test_a_ray_of_this_machine_is_used_and_one_that_does_not_start_is_an_error(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    niceness = "RAY_worker_niceness"  # Ray spells it so
    monkeypatch.delenv(niceness, raising=False)
    given: list[Any] = []

    def init(address: str | None = None, **_: Any) -> None:
        given.append((address, os.environ.get(niceness)))
        if address is None:
            raise ValueError("When connecting to an existing cluster, num_cpus must not be provided.")
        raise ConnectionError("it is going down")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(th.ThresherError, match="'auto' cannot be used: it is going down"):
        th.select(file, cluster="ray", **HOW)
    assert given == [(None, "0"), ("auto", None)]
    monkeypatch.setenv(niceness, "7")
    with pytest.raises(th.ThresherError, match="'auto' cannot be used"):
        th.select(file, cluster="ray", **HOW)
    assert given[2:] == [(None, "7"), ("auto", "7")]

    def slow(**_: Any) -> None:
        raise Exception("The current node timed out during startup.")

    monkeypatch.setattr(ray, "init", slow)
    with pytest.raises(th.ThresherError, match=r"Ray does not start on this machine: .* timed out during startup\."):
        th.select(file, cluster="ray", **HOW)


@pytest.mark.parametrize("answer", [b"", b"220 mail.example ready"], ids=["silent", "another"])
def test_what_answers_and_is_no_ray_is_noticed_soon(answer: bytes, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket
    import threading

    from thresher.distributed import ray_connection

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray_connection, "_PATIENCE", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = threading.Event()

        def serve() -> None:
            with server.accept()[0] as connection:
                connection.sendall(answer)
                done.wait(20)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(th.ThresherError, match=r"no Ray cluster answers at .*(timed out|something else)"):
            th.select(file, cluster=f"127.0.0.1:{server.getsockname()[1]}", **HOW)
        done.set()
        thread.join()


def test_a_node_with_another_version_of_thresher_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from thresher.distributed import ray_connection

    monkeypatch.setattr(ray_connection, "__version__", "0.0.1")  # of this process; workers have the installed one
    with pytest.raises(
        th.ThresherError, match=r"this is Thresher 0\.0\.1, and a node of the cluster has .*install the same one"
    ):
        th.select(file, cluster="ray", **HOW)


def test_a_node_without_thresher_is_refused() -> None:
    from thresher.distributed.ray_connection import check_importable

    check_importable(RuntimeError("the worker was killed"))
    with pytest.raises(th.ThresherError, match=r"cannot import thresher: .*pip install 'thresher\[ray\]'"):
        check_importable(RuntimeError("The actor died: ModuleNotFoundError: No module named 'thresher'"))


def test_without_ray_the_error_names_the_extra(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(th.ThresherError, match=r"this needs ray: pip install 'thresher\[ray\]'"):
        th.select(file, cluster="ray", **HOW)
