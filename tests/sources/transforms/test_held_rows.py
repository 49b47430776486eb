"""Rows held out by groups, and the last rows: what is new stays new, in any format, batch size, cache and resume."""

from __future__ import annotations

import gzip
import logging
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.online.test_select import _StopAt, saved_bytes
from tests.sources.reading import exactly, read
from tests.streams import planted, write_libsvm, write_vw
from thresher.core.memory import Watch
from thresher.errors import DataError, SettingsError
from thresher.sources.base import Source
from thresher.sources.dataframes import memory_source
from thresher.sources.registry import scan
from thresher.sources.transforms.held_rows import HeldRows
from thresher.sources.transforms.holdout import Split, hold_out
from thresher.sources.transforms.row_range import split_last

WATCH = Watch(None)


def values(source: Source, rows: int = 8192) -> list[float]:
    """The value of the only feature of each row."""
    return [float(row.values[0]) for row in read(source, rows)]


# ── groups ───────────────────────────────────────────────────────────────────────────────────────


def table(folder: Path, form: str, groups: list[str]) -> Source:
    """Rows of one number, the number of the row from 1, and of a group."""
    import pyarrow as pa
    import pyarrow.parquet

    path = folder / f"rows.{form}"
    numbers = list(range(1, len(groups) + 1))
    if form == "csv":
        path.write_text("user,x,y\n" + "".join(f"{g},{n},{n % 2}\n" for g, n in zip(groups, numbers, strict=True)))
    elif form == "jsonl":
        rows = (f'{{"user": "{g}", "x": {n}, "y": {n % 2}}}\n' for g, n in zip(groups, numbers, strict=True))
        path.write_text("".join(rows))
    else:
        data = pa.table({"user": [g or None for g in groups], "x": numbers, "y": [n % 2 for n in numbers]})
        if form == "frame":
            return memory_source(data, target="y")
        pyarrow.parquet.write_table(data, path)
    return scan(path, target="y", numeric=["x"], categorical=["user"])


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "frame"])
@examples(15)
@given(
    groups=st.lists(st.sampled_from(["", *"abcdefghijklmnop"]), min_size=1, max_size=60),
    rows=st.integers(1, 20),
    seed=st.integers(0, 2**40),
)
def test_a_group_is_on_one_side_of_every_split(
    tmp_path_factory: pytest.TempPathFactory, form: str, groups: list[str], rows: int, seed: int
) -> None:
    chosen = HeldRows.of(0.5, "user", None)
    source = chosen.before_cache(table(tmp_path_factory.mktemp("t"), form, groups), (), WATCH)[0]
    training, test = chosen.split(source, seed)
    fitted, validation = hold_out(training, 0.5, seed=seed, split=Split.VALIDATION)
    parts = [values(part, rows) for part in (test, fitted, validation)]
    assert sorted(chain(*parts)) == [float(n) for n in range(1, len(groups) + 1)]
    of_groups = [{groups[int(n) - 1] for n in part} - {""} for part in parts]
    assert len(set.union(*of_groups)) == sum(map(len, of_groups))
    assert parts == [values(part) for part in (test, fitted, validation)]


def test_a_group_is_on_the_same_side_in_any_format(tmp_path: Path) -> None:
    groups = [f"g{i % 40}" for i in range(200)]
    held = []
    for form in ("csv", "jsonl", "parquet", "frame"):
        source = table(tmp_path, form, groups).grouped("user")
        held.append(values(hold_out(source, 0.3, by="user")[1]))
    assert held[0]
    assert held.count(held[0]) == 4


@pytest.fixture
def users(tmp_path: Path) -> Path:
    """Rows of 60 users; each user has a label, and is its own best feature."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=60)
    lines = ["user,x,y"]
    for user in rng.integers(60, size=900).tolist():
        lines.append(f"u{user},{labels[user] + rng.normal():.3f},{labels[user]}")
    path = tmp_path / "users.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_column_is_no_feature_unless_it_is_named(users: Path, caplog: pytest.LogCaptureFixture) -> None:
    how: dict[str, Any] = {"k": 80, "target": "y", "holdout_by": "user", "passes": 1, "refit": False}
    with caplog.at_level(logging.INFO):
        found = th.select(users, **how)
    assert found.names == ["x"]
    assert "the column 'user' forms the groups, and is no feature" in caplog.text
    held = found.provenance["holdout"]
    assert (held["by"], held["column"], held["fraction"]) == ("column", "user", 0.2)
    assert found.provenance["test"]["rows"] + found.provenance["rows"] == 900
    assert any(name.startswith("user=") for name in th.select(users, categorical=["user"], **how).names)
    assert th.select(users, holdout=0.5, **how).provenance["test"]["rows"] > found.provenance["test"]["rows"]


@pytest.mark.parametrize("how", [{"holdout_by": "user"}, {"holdout_last": 0.3}], ids=["by", "last"])
def test_same_bits_for_any_batch_size_cache_and_resume(users: Path, tmp_path: Path, how: dict[str, Any]) -> None:
    how = {"k": 5, "target": "y", "passes": 2, "memory": "4MB", **how}
    whole = saved_bytes(th.select(users, **how), tmp_path / "s")
    for rows, more in ((7, {}), (100, {"cache": tmp_path / "cache"}), (10**6, {"cache": tmp_path / "cache"})):
        assert saved_bytes(th.select(users, **how, **more, batch_rows=rows), tmp_path / "s") == whole
    for stop_at in (3, 11):
        options = {**how, "checkpoint": tmp_path / "c"}
        with pytest.raises(th.Interrupted):
            th.select(users, **options, batch_rows=100, progress=_StopAt(stop_at))
        assert saved_bytes(th.select(users, **options, batch_rows=33), tmp_path / "s") == whole


def test_query_ids_form_groups(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{i % 2} qid:{i % 30} 1:{i + 1}\n" for i in range(300)))
    training, test = hold_out(th.scan(path).grouped("qid"), 0.3, by="qid")
    sides = [{(int(n) - 1) % 30 for n in values(side)} for side in (training, test)]
    assert sides[1]
    assert not sides[0] & sides[1]
    assert sum(map(len, sides)) == 30


def test_what_has_no_groups_says_so(tmp_path: Path) -> None:
    x, y = planted(rows=50)
    vw, svm = write_vw(tmp_path / "rows.vw", x, y), write_libsvm(tmp_path / "rows.svm", x, y)
    for data, column in ((vw, "user"), (svm, "user")):
        with pytest.raises(SettingsError, match="tables and data frames have them, and LIBSVM files have qid"):
            th.select(data, k=3, holdout_by=column)
    with pytest.raises(SettingsError, match="the first row has no qid"):
        th.select(svm, k=3, holdout_by="qid")
    with pytest.raises(SettingsError, match="no columns to form groups by"):
        th.select(x, y, k=3, holdout_by="user")
    source = table(tmp_path, "csv", ["a", "b"])
    with pytest.raises(DataError, match="named twice"):
        source.grouped("y")
    with pytest.raises(DataError, match=r"no column 'usr': did you mean 'user'\?"):
        read(source.grouped("usr"))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"holdout_last": 0.1, "holdout": 0.1}, "exclude each other"),
        ({"holdout_last": 0.1, "holdout_by": "user"}, "exclude each other"),
        ({"holdout_last": 1.5}, "between 0 and 1"),
        ({"holdout_by": "user", "test": "rows"}, "not both"),
    ],
)
def test_settings_that_contradict(how: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        th.select("rows.csv", k=3, **how)


# ── the last rows ────────────────────────────────────────────────────────────────────────────────


def numbered(folder: Path, form: str, n: int) -> Source:
    """Rows of one number each, from 1, in the order of two files; plain files have several blocks."""
    if form == "array":
        return memory_source(np.arange(1.0, n + 1)[:, None], np.zeros(n))
    if form in ("csv", "parquet", "frame"):
        return table(folder, form, [""] * n)
    lines = [b"%d 1:%d  # %s\n" % (i % 2, i + 1, b"." * 90) for i in range(n)]
    pack = gzip.compress if form == "gzip" else bytes
    for name, part in (("a", lines[: n // 3]), ("b", lines[n // 3 :])):
        (folder / f"{name}.svm").write_bytes(pack(b"".join(part)))
    return th.scan([folder / "a.svm", folder / "b.svm"])


@pytest.mark.parametrize("form", ["plain", "gzip", "csv", "parquet", "frame", "array"])
@pytest.mark.parametrize("fraction", [0.1, 2 / 3, 0.999])
def test_the_last_rows_are_held_out(tmp_path: Path, form: str, fraction: float) -> None:
    n = 3000
    first, last = split_last(numbered(tmp_path, form, n), fraction, WATCH)
    at = n - round(fraction * n)
    for rows in (70, 8192):
        assert values(first, rows) == list(range(1, at + 1))
        assert values(last, rows) == list(range(at + 1, n + 1))
    assert sorted(values(first.shuffled(1, rows=500, features=10**6))) == list(range(1, at + 1))
    nested = hold_out(first, 0.5, split=Split.VALIDATION)
    assert sorted(chain(*map(values, nested))) == list(range(1, at + 1))


@pytest.mark.parametrize("form", ["plain", "gzip"])
def test_the_first_rows_resume_anywhere(tmp_path: Path, form: str) -> None:
    for side in split_last(numbered(tmp_path, form, 2000), 0.25, WATCH):
        whole = exactly(read(side))
        before = 0
        for batch, cursor in side.batches(130):
            before += len(batch)
            assert exactly(read(side, 999, start=cursor)) == whole[before:]


def test_a_sorted_file_without_its_last_rows_is_shuffled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain files by blocks, a gzip file through a temporary file; the last rows are drawn from both classes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    x, y = planted(rows=3000, support=(3, 77, 200, 399), seed=1)
    order = np.concatenate([np.argsort(y[:2400], kind="stable"), np.arange(2400, 3000)])
    path = write_libsvm(tmp_path / "sorted.svm", x[order], y[order])
    packed = tmp_path / "sorted.svm.gz"
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    how: dict[str, Any] = {"k": 30, "memory": "4MB", "holdout_last": 0.2, "passes": 1, "refit": False}
    for data in (path, packed):
        found = th.select(data, **how).provenance
        assert found["test"]["rows"] == 600
        assert found["rows"] == 2400
        assert found["test"]["accuracy"] > 0.8
    assert th.select(path, **how, shuffle=False).provenance["test"]["accuracy"] < 0.7


def test_a_class_of_the_last_rows_only_is_known(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "".join(f"{i % 3},{'abc'[i % 3] if i > 250 else 'ab'[i % 2]}\n" for i in range(300)))
    found = th.select(path, k=2, target="y", loss="softmax", holdout_last=0.1)
    assert found.classes == ["a", "b", "c"]


def test_data_without_last_rows_says_so(tmp_path: Path) -> None:
    (tmp_path / "g.fa").write_text(">a\n" + "ACGT" * 100 + "\n")
    with pytest.raises(SettingsError, match="fragments are in a random order"):
        th.select(tmp_path / "g.fa", k=3, kmer=4, fragments=20, holdout_last=0.1)
    with pytest.raises(SettingsError, match="read only once"):
        th.select("-", format="vw", k=3, holdout_last=0.1)
    with pytest.raises(DataError, match="leaves none on one side"):
        split_last(numbered(tmp_path, "plain", 3), 0.01, WATCH)
