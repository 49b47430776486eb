"""Selecting with a cache: the same bits as without, also after any interruption, and from standard input."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import thresher as th
from tests.online.test_select import _StopAt, saved_bytes
from tests.streams import planted, write_libsvm, write_vw

X, Y = planted()


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stream")
    path = folder / "rows.vw.gz"
    path.write_bytes(gzip.compress(write_vw(folder / "rows.vw", X, Y).read_bytes()))
    return path


@pytest.mark.parametrize(
    "how",
    [
        {"passes": 3},
        {"passes": 2, "shuffle": False, "minibatch": 10},
        {"passes": 2, "holdout": 0.3, "method": "iht"},
        {"passes": 2, "interactions": 2, "holdout": 0.5, "class_weight": "balanced"},
        {"loss": "softmax", "memory": "8MB"},
    ],
    ids=str,
)
def test_same_bits_with_and_without(packed: Path, tmp_path: Path, how: dict[str, Any]) -> None:
    options: dict[str, Any] = {"k": 20, "random_state": 3, "memory": "4MB", **how}
    whole = saved_bytes(th.select(packed, **options), tmp_path / "s")
    for rows in (31, 10**6):  # the first writes the cache, the others read it
        kept = th.select(packed, **options, batch_rows=rows, cache=tmp_path / "cache")
        assert saved_bytes(kept, tmp_path / "s") == whole


@pytest.mark.parametrize("memory", ["8MB", "64MB", "256MB"])
def test_a_cache_made_with_other_memory_gives_the_same_bits(packed: Path, tmp_path: Path, memory: str) -> None:
    th.select(packed, k=20, cache=tmp_path / "cache", memory="32MB")
    options: dict[str, Any] = {"k": 20, "memory": memory, "passes": 2}
    kept = th.select(packed, **options, cache=tmp_path / "cache")
    assert len(list((tmp_path / "cache").iterdir())) == 1
    assert saved_bytes(kept, tmp_path / "s") == saved_bytes(th.select(packed, **options), tmp_path / "s")


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("form", ["vw", "svm"])
def test_checkpoints_resume_with_and_without(tmp_path: Path, shuffle: bool, form: str) -> None:
    """Interrupted with the cache and resumed without it, the other way round, and with it throughout."""
    write = {"vw": write_vw, "svm": write_libsvm}[form]
    data = [write(tmp_path / f"{i}.{form}", X[:1200], Y[:1200]) for i in range(2)]
    how: dict[str, Any] = {"k": 20, "passes": 2, "refit": False, "shuffle": shuffle, "holdout": 0.2, "batch_rows": 40}
    how["memory"] = "4MB"
    checkpoint = tmp_path / "run.ckpt"
    whole = saved_bytes(th.select(data, **how), tmp_path / "whole")
    kept = {"cache": tmp_path / "cache"}
    for stop_at, first, then in ((1, kept, {}), (35, {}, kept), (51, kept, {}), (77, {}, kept), (90, kept, kept)):
        with pytest.raises(th.Interrupted):
            th.select(data, **how, **first, checkpoint=checkpoint, progress=_StopAt(stop_at))
        resumed = th.select(data, **{**how, "batch_rows": 31}, **then, checkpoint=checkpoint)
        assert saved_bytes(resumed, tmp_path / "resumed") == whole


_PIPED = """
import sys, thresher as th
from tests.online.test_select import _StopAt
folder, out, stop = sys.argv[1:]
options = dict(k=20, passes=3, memory="4MB", holdout=0.2, format="vw", cache=folder, batch_rows=100)
options["checkpoint"] = out + ".ckpt"
if stop != "0":
    options["progress"] = _StopAt(int(stop))
try:
    th.select("-", **options).save(out)
except th.Interrupted:
    print("stopped")
"""


def _pipe(data: Path, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _PIPED, *map(str, arguments)],
        input=gzip.decompress(data.read_bytes()),
        capture_output=True,
        check=True,
        cwd=Path(__file__).parent.parent.parent,
    )
    return done.stdout.decode()


def test_standard_input_several_times_and_resumed(packed: Path, tmp_path: Path) -> None:
    """Everything but its name and fingerprint is as from the file; and it goes on when piped in again."""
    expected = th.select(packed, k=20, passes=3, memory="4MB", holdout=0.2)
    _pipe(packed, tmp_path / "cache", tmp_path / "whole", 0)
    whole = th.load(tmp_path / "whole")
    assert whole.names == expected.names
    assert whole.weights.tolist() == expected.weights.tolist()
    assert whole.provenance["test"] == expected.provenance["test"]
    assert _pipe(packed, tmp_path / "cache", tmp_path / "resumed", 40) == "stopped\n"
    assert _pipe(packed, tmp_path / "cache", tmp_path / "resumed", 0) == ""
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()
    assert len(list((tmp_path / "cache").glob("*"))) == 1


def test_other_standard_input_is_recognised(packed: Path, tmp_path: Path) -> None:
    assert _pipe(packed, tmp_path / "cache", tmp_path / "out", 40) == "stopped\n"
    other = tmp_path / "other.gz"
    other.write_bytes(gzip.compress(gzip.decompress(packed.read_bytes()).replace(b"column-3:", b"column-4:", 1)))
    with pytest.raises(subprocess.CalledProcessError) as refused:
        _pipe(other, tmp_path / "cache", tmp_path / "out", 0)
    assert b"belongs to another run (data: " in refused.value.stderr


def test_an_estimator_accepts_a_cached_source(packed: Path, tmp_path: Path) -> None:
    source = th.scan(packed, cache=tmp_path / "cache")
    kept, plain = (th.MissionClassifier(k=20, passes=2, memory="4MB").fit(data) for data in (source, packed))
    assert kept.coef_.tolist() == plain.coef_.tolist()
    assert kept.score(source) == plain.score(packed)
