"""Workers on Ray: the bits of threads, also after workers were killed. One Ray serves all tests."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import thresher as th
from tests.distributed.streams import bits, planted, write_svm

ray = pytest.importorskip("ray", reason="Ray has no wheel for this Python or platform")

HOW: dict[str, Any] = {"k": 20, "memory": "4MB", "passes": 2, "refit": False, "random_state": 3}
HOW |= {"workers": 2, "sync": 700}


@pytest.fixture(scope="module", autouse=True)
def one_ray() -> Iterator[None]:
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # otherwise Ray may replace the loopback address and wait
    ray.init(
        num_cpus=2, object_store_memory=100 << 20, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
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
            ray.kill(team._workers[number % 2])
        return usual(team, *given)

    monkeypatch.setattr(RayTeam, "round", kill_some)
    with caplog.at_level(logging.WARNING):
        selection = th.select(file, cluster="ray", **HOW)
    assert caplog.text.count("is replaced; its round is done again") >= 2
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


def test_more_workers_than_processors_are_refused(file: Path) -> None:
    with pytest.raises(th.ThresherError, match=r"`workers=5` need a processor each, and the cluster 'ray' has 2"):
        th.select(file, cluster="ray", **(HOW | {"workers": 5, "sync": 50}))


def test_an_address_without_ray_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(th.ThresherError, match=r"no Ray cluster answers at '127\.0\.0\.1:1'"):
        th.select(file, cluster="127.0.0.1:1", **HOW)
    with pytest.raises(th.ThresherError, match=r'cluster must be "ray", or an address'):
        th.select(file, cluster="somewhere", **HOW)


def test_without_ray_the_error_names_the_extra(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(th.ThresherError, match=r"this needs ray: pip install 'thresher\[ray\]'"):
        th.select(file, cluster="ray", **HOW)
