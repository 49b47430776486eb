"""Sizes, the plan, and that the plan is kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from thresher import _native
from thresher.core.memory import MB, ReadLimits, parse_size, resident, show_size
from thresher.errors import DataError, SettingsError
from thresher.online.memory_plan import Needs, make_plan, plan_for
from thresher.online.settings import OnlineSettings


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64MB", 64 * MB),
        ("1.5GB", 3 << 29),
        ("10 kb", 10240),
        ("2GiB", 2 << 30),
        ("4096", 4096),
        (4096, 4096),
        ("7M", 7 * MB),
    ],
)
def test_sizes_as_people_write_them(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MB", "-3MB", "64XB", "0", "1e3MB", "64MB!"])
def test_what_is_not_a_size(text: str) -> None:
    with pytest.raises(SettingsError, match="not a size"):
        parse_size(text)


def test_sizes_are_shown_in_the_unit_that_fits() -> None:
    assert [show_size(n) for n in (5, 2048, 3 * MB, 3 << 30)] == ["5 B", "2.0 KB", "3.0 MB", "3.0 GB"]


@pytest.mark.parametrize("memory", ["4MB", "16MB", "64MB", "1GB"])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("products", [True, False])
def test_the_parts_fit_into_the_whole(memory: str, shuffle: bool, products: bool) -> None:
    needs = Needs(k=300, tables=3, numbers=3, scores=MB, products=products)
    plan = make_plan(needs, memory, shuffle=shuffle)
    assert plan.total + plan.window <= plan.memory
    assert plan.limits.line_cap == ReadLimits.of(plan.memory).line_cap == min(16 * MB, plan.memory // 32)
    assert plan.table == 3 * _native.TopK.planned_bytes(300, plan.name_cap, 3)
    assert plan.scores == MB


def test_names_are_cut_before_k_is_refused() -> None:
    assert make_plan(Needs(k=1000), "64MB").name_cap == 256
    tight = make_plan(Needs(k=150_000), "64MB")
    assert 32 <= tight.name_cap < 256
    with pytest.raises(SettingsError, match="Pass about"):
        make_plan(Needs(k=10_000_000), "64MB")


def test_a_sketch_is_planned_or_refused() -> None:
    plan = make_plan(Needs(k=1000, sketch_rows=3, cell=6), "64MB")
    assert plan.sketch == 6 * plan.sketch_rows * plan.sketch_width > 0
    assert plan.total + plan.window <= plan.memory
    assert make_plan(Needs(k=1000, sketch=(2, 500)), "64MB").sketch == 4000
    with pytest.raises(SettingsError, match="smaller `k` or `sketch`"):
        make_plan(Needs(k=1000, sketch=(3, 10**8)), "64MB")
    refusals = set()
    for k in range(10_000, 60_000, 50):
        try:
            assert make_plan(Needs(k=k, sketch_rows=1), "8MB").sketch_width >= k
        except SettingsError as error:
            refusals.add("fewer cells" in str(error))
    assert refusals == {True, False}  # first the sketch gets too small, then the table too large


def test_what_a_refusal_advises_is_enough() -> None:
    for products in (False, True):
        needs = Needs(k=1_000_000, products=products)
        with pytest.raises(SettingsError) as refused:
            make_plan(needs, "64MB")
        advised = str(refused.value).split("Pass about ")[1].split(" of `memory`")[0]
        make_plan(needs, advised)


def test_the_plan_of_every_method() -> None:
    """What has no sketch plans none; cells are as large as steps and outputs make them; tables come by outputs."""
    plan = plan_for(OnlineSettings(k=1000), "64MB")
    assert (plan.sketch_rows, plan.sketch) == (1, 4 * plan.sketch_width)
    assert plan_for(OnlineSettings(k=1000, active="sketch"), "64MB").sketch_rows == 3
    assert plan_for(OnlineSettings(k=1000, method="iht"), "64MB").sketch == 0
    hashing = plan_for(OnlineSettings(k=1000, method="hashing"), "64MB")
    assert hashing.table == 0
    assert hashing.answer == hashing.sketch_width * 176  # every bucket is part of the answer
    assert hashing.total + hashing.window <= hashing.memory
    waiting = plan_for(OnlineSettings(k=1000, method="batch-iht"), "64MB")
    assert waiting.sketch == 120 * waiting.sketch_width
    several = OnlineSettings(k=1000, loss="softmax", outputs=5, sketch=(1, 1000))
    assert plan_for(several, "64MB").sketch == 2 * 6 * 1000
    assert plan_for(several, "64MB").scores == 0
    split = OnlineSettings(k=1000, loss="softmax", outputs=5, sketch=(1, 1000), per_class=True, step=0.1)
    assert plan_for(split, "64MB").sketch == 4 * 5 * 1000
    assert plan_for(split, "64MB").table > 4 * plan_for(several, "64MB").table


_CHILD = """
import json, sys, thresher as th
from thresher.core.memory import peak_resident, resident
small, large, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
th.select(small, **options)
before = resident()
selection = th.select(large, **options)
plan = selection.provenance["plan"]
planned = plan["total"]
if "seen" in plan and not plan["seen"]:  # no end was given: what was seen comes on top
    planned += selection.provenance.get("seen", {"bytes": 0})["bytes"]
print(json.dumps([peak_resident() - before, planned, len(selection)]))
"""


def _write_wide(path: Path, rows: int) -> Path:
    """Rows of 40 features with keys spread over [0, 2^62)."""
    bar = "| " if path.suffix == ".vw" else ""
    # The states s of a linear congruential generator, s = a s + c from s = 1: powers of a, and sums of them.
    powers = np.cumprod(np.full(40 * rows, 6364136223846793005, dtype=np.uint64), dtype=np.uint64)
    sums = np.cumsum(np.concatenate([np.ones(1, dtype=np.uint64), powers[:-1]]), dtype=np.uint64)
    states = powers + np.uint64(1442695040888963407) * sums
    with open(path, "w") as file:
        for i, keys in enumerate((states >> np.uint64(2)).reshape(rows, 40).tolist()):
            file.write(f"{i % 2} {bar}{' '.join([f'{key}:{1 + key % 7}' for key in keys])}\n")
    return path


def _growth(small: Path, large: Path, **options: Any) -> list[int]:
    """What a fit grew by in a process of its own, what was planned, and the features found."""
    arguments = [str(small), str(large), json.dumps(options)]
    # What two threads hold at once varies a little from run to run: the leaner of two counts.
    runs: list[list[int]] = []
    while len(runs) < 2 and not (runs and runs[0][0] <= 1.1 * runs[0][1]):
        out = subprocess.run([sys.executable, "-c", _CHILD, *arguments], capture_output=True, text=True, check=True)
        runs.append(json.loads(out.stdout))
    return min(runs)


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
@pytest.mark.parametrize(("form", "degree"), [("svm", 1), ("vw", 1), ("svm", 2), ("vw", 3)])
def test_a_stream_of_2_to_62_possible_features_stays_within_the_plan(tmp_path: Path, form: str, degree: int) -> None:
    """Keys spread over [0, 2^62), hundreds of thousands of distinct ones: growth at most 1.1 times the plan.

    With products there are up to 2^62 choose 3 features, and millions of distinct ones.
    """
    small = _write_wide(tmp_path / f"small.{form}", 100)
    large = _write_wide(tmp_path / f"large.{form}", {1: 20_000, 2: 5_000, 3: 500}[degree])
    grown, planned, found = _growth(small, large, k=2000, memory="32MB", interactions=degree)
    assert found == 2000
    assert grown <= 1.1 * planned


def _write_spaces(path: Path, rows: int) -> Path:
    """Rows of 40 of 100,000 names; each row has its own namespace, one of 100, and half of its features have none."""
    rng = np.random.default_rng(0)
    with open(path, "w") as file:
        for i in range(rows):
            names = rng.integers(0, 100_000, 40)
            file.write(f"{i % 2} | {' '.join(map(str, names[:20]))} |s{i % 100} {' '.join(map(str, names[20:]))}\n")
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
@pytest.mark.parametrize("memory", [None, "48MB"])
def test_groups_stay_within_the_plan(tmp_path: Path, memory: str | None) -> None:
    """Thousands of groups of one feature, and a hundred large ones; without a limit, features seen count too."""
    small, large = _write_spaces(tmp_path / "small.vw", 10), _write_spaces(tmp_path / "large.vw", 4000)
    grown, planned, found = _growth(small, large, k=5, method="b-arda", groups="source", memory=memory)
    assert found >= 5
    assert grown <= 1.1 * planned


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_groups_in_a_file_stay_within_the_plan(tmp_path: Path) -> None:
    small, large = _write_wide(tmp_path / "small.svm", 10), _write_wide(tmp_path / "large.svm", 2000)
    keys = [feature.split(":")[0] for line in large.read_text().splitlines() for feature in line.split()[1:]]
    listed = tmp_path / "groups.txt"
    listed.write_text("\n".join(" ".join(keys[g::500]) for g in range(500)))
    grown, planned, found = _growth(small, large, k=5, method="b-amd", groups=str(listed), memory="48MB")
    assert found > 500
    assert grown <= 1.1 * planned


def test_groups_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = _write_spaces(tmp_path / "large.vw", 1000)
    with pytest.raises(SettingsError, match="holds every feature seen and its group"):
        th.select(path, k=5, method="b-arda", groups="source", memory="8MB")
    with pytest.raises(SettingsError, match="the list of groups"):
        groups = th.Groups([np.arange(50_000), np.arange(50_000, 100_000)])
        plan_for(OnlineSettings(k=1, method="b-amd", groups=groups), "4MB")


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
@pytest.mark.parametrize("memory", [12, 32])
def test_fgm_stays_within_the_plan(tmp_path: Path, memory: int) -> None:
    """Streamed in the one, with columns in memory in the other."""
    small, large = _write_wide(tmp_path / "small.svm", 10), _write_wide(tmp_path / "large.svm", 12_000)
    grown, planned, found = _growth(small, large, k=20, B=5, method="fgm", memory=memory * MB)
    assert found == 20
    assert planned <= memory * MB
    assert grown <= 1.1 * planned


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
@pytest.mark.parametrize(("form", "few", "many"), [("vw", 2_500, 10_000), ("svm", 6_000, 30_000)])
def test_rows_from_the_cache_stay_within_the_plan(tmp_path: Path, form: str, few: int, many: int) -> None:
    """Mapped pages count as memory while they are held: growth is bounded by the plan, and flat in the rows."""
    small = _write_wide(tmp_path / f"small.{form}", 10)  # VW has names, the largest rows
    grown = {}
    for rows in (few, many):
        large, cache = _write_wide(tmp_path / f"{rows}.{form}", rows), str(tmp_path / "cache")
        for run in ("written", "read"):
            grown[run, rows], planned, found = _growth(
                small, large, k=2000, memory="16MB", cache=cache, passes=2, refit=False
            )
            assert found == 2000
            assert grown[run, rows] <= 1.1 * planned
    files = [path.stat().st_size for path in (tmp_path / "cache").iterdir()]
    assert max(files) > planned
    assert grown["read", many] - grown["read", few] < 4 * MB


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_checkpoints_stay_within_the_plan(tmp_path: Path) -> None:
    """A checkpoint is written from the cells of the sketch, without a copy of them."""
    small, large = _write_wide(tmp_path / "small.svm", 10), _write_wide(tmp_path / "large.svm", 5000)
    saved = {"checkpoint": str(tmp_path / "run.ckpt"), "every": 0.0}
    grown, planned, found = _growth(small, large, k=2000, memory="64MB", **saved)
    assert found == 2000
    assert grown <= 1.1 * planned


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
@pytest.mark.parametrize("method", ["mission", "fgm"])
def test_error_control_stays_within_the_memory(tmp_path: Path, method: str) -> None:
    """Every row has 40 of 300 candidates: the columns of a half do not fit, and a sample of its rows is tested."""
    rng = np.random.default_rng(0)
    for name, rows in (("small", 200), ("large", 40_000)):
        with open(tmp_path / name, "w") as file:
            for i, keys in enumerate(rng.integers(0, 300, (rows, 40))):
                file.write(f"{i % 2} {' '.join(f'{key}:1' for key in np.unique(keys))}\n")
    limit = {"mission": 12, "fgm": 40}[method] * MB
    more = {} if method == "mission" else {"C": 1.0, "scale": "norm", "refit": False}
    grown, planned, _ = _growth(
        tmp_path / "small", tmp_path / "large", k=8, method=method, fdr=0.5, memory=limit, **more
    )
    assert planned <= limit
    assert grown <= 1.1 * limit


def _write_names(path: Path, rows: int, length: int) -> Path:
    path.write_text(
        "".join(f"{i % 2} | {' '.join(f'{i}_{j}'.ljust(length, 'x') for j in range(5))}\n" for i in range(rows))
    )
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
@pytest.mark.parametrize("cached", [False, True])
def test_long_names_stay_within_the_plan(tmp_path: Path, cached: bool) -> None:
    """Five names of 10 kB a row: the shuffle buffer and the blocks of the cache count their text."""
    small, large = _write_names(tmp_path / "small.vw", 100, 9), _write_names(tmp_path / "large.vw", 400, 10_000)
    more = {"cache": str(tmp_path / "cache")} if cached else {}
    grown, planned, found = _growth(small, large, k=20, memory="16MB", passes=1, **more)
    assert found == 20
    assert grown <= 1.1 * planned + 2 * MB * cached


def test_features_seen_that_do_not_fit_are_refused_with_what_they_take(tmp_path: Path) -> None:
    large = _write_wide(tmp_path / "large.svm", 3000)
    with pytest.raises(SettingsError, match="no longer fits into the") as refused:
        th.select(large, k=5, method="b-amd", memory="8MB")
    advised = str(refused.value).split("About ")[1].split(" is enough")[0]
    assert len(th.select(large, k=5, method="b-amd", memory=advised)) == 5


def _write_columns(path: Path, rows: int, columns: int) -> Path:
    with open(path, "w") as file:
        file.write("y," + ",".join(f"x{i}" for i in range(columns)) + "\n")
        for i in range(rows):
            file.write(f"{i % 2}," + ",".join(f"{(i * 7 + j) % 997 / 8}" for j in range(columns)) + "\n")
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_wide_tables_stay_within_the_plan(tmp_path: Path) -> None:
    """A table of 20,000 columns: their names and kinds are part of the plan, and so is what batches hold."""
    small, large = _write_columns(tmp_path / "small.csv", 10, 8), _write_columns(tmp_path / "large.csv", 60, 20_000)
    more = {"target": "y", "k": 20, "shuffle": False, "refit": False}
    grown, planned, found = _growth(small, large, memory="64MB", passes=2, **more)
    assert found == 20
    assert grown <= 1.1 * planned


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_long_rows_stay_within_the_plan_or_are_refused_with_what_they_take(tmp_path: Path) -> None:
    """Rows of 100,000 names: larger than a block, and several are alive at once."""
    small, large = tmp_path / "small.vw", tmp_path / "large.vw"
    row = " ".join(f"{key * 2654435761 % 2**30}:1" for key in range(100_000))
    for path, rows, text in ((small, 20, "a:1 b:2"), (large, 16, row)):
        path.write_text("".join(f"{i % 2} | {text} {i}:1\n" for i in range(rows)))
    with pytest.raises(DataError, match=r"longer than 524288 .* `memory` of at least") as refused:
        th.select(large, k=20, memory="16MB")
    advised = str(refused.value).split("at least ")[1].split(")")[0]
    for shuffle in (False, True):
        grown, planned, found = _growth(small, large, k=20, memory=advised, passes=1, shuffle=shuffle)
        assert found == 20
        assert grown <= 1.1 * planned + 2 * MB


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_large_buffers_go_back_to_the_system_at_once() -> None:
    """Also between small objects, and after a larger one was freed, from which on glibc takes them from its heap."""
    _native.release_buffers(MB)
    _native.new_block(16 * MB)[:] = 1
    held, small = [], []
    for i in range(64):
        held.append(_native.new_block(MB))
        held[i][:] = 1
        small.append(bytes(100_000))
    before = resident()
    assert before >= 64 * MB
    del held
    assert resident() <= before - 60 * MB


def test_columns_and_answers_that_do_not_fit_are_refused_with_what_they_take() -> None:
    for needs in (Needs(k=100, columns=8 * MB, sketch_rows=1), Needs(k=20, tables=200, outputs=200, sketch_rows=1)):
        with pytest.raises(SettingsError, match="does not hold the") as refused:
            make_plan(needs, "16MB")
        make_plan(needs, str(refused.value).split("Pass about ")[1].split(" of memory")[0])
    plan = make_plan(Needs(k=100, columns=MB), "16MB")
    assert plan.total == make_plan(Needs(k=100), "16MB").total + MB
    assert plan.window == make_plan(Needs(k=100), "16MB").window - MB


_SEQUENCES = """
import json, sys, thresher as th
from thresher.core.memory import peak_resident, resident
small, large, memory = sys.argv[1:]
options = dict(k=2000, memory=memory, kmer=12, canonical=True, fragments=200, coverage=0.3)
th.select(small, **options)
before = resident()
source = th.scan_fasta(large, kmer=12, canonical=True, fragments=200, coverage=0.3)
selection = th.select(source, k=2000, memory=memory)
planned, held = selection.provenance["plan"]["total"], source.held_bytes
print(json.dumps([peak_resident() - before, planned, held, selection.provenance["plan"]["window"]]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_genomes_are_held_within_what_the_plan_leaves(tmp_path: Path) -> None:
    """Two genomes of eight million letters: growth at most 1.1 times the plan and their two bits a letter."""
    rng = np.random.default_rng(0)
    for folder, letters in (("small", 5000), ("large", 8_000_000)):
        (tmp_path / folder).mkdir()
        for name in ("a.fa", "b.fa"):
            genome = rng.choice(np.frombuffer(b"ACGT", np.uint8), letters).tobytes()
            (tmp_path / folder / name).write_bytes(b">" + name.encode() + b"\n" + genome + b"\n")
    out = subprocess.run(
        [sys.executable, "-c", _SEQUENCES, str(tmp_path / "small"), str(tmp_path / "large"), "32MB"],
        capture_output=True,
        text=True,
        check=True,
    )
    grown, planned, held, left = json.loads(out.stdout)
    assert 4_000_000 <= held <= left
    assert grown <= 1.1 * (planned + held)
