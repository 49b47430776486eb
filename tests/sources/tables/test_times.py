"""Columns of dates and times."""

from __future__ import annotations

import datetime as dt
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.reference.sources.tables import time_row
from thresher.errors import DataError
from thresher.sources.dataframes import TableSource

pa = pytest.importorskip("pyarrow")

MOMENTS = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31))
ZONES = st.sampled_from(["", "Z", "+02:00", "-0530", "+01"])


def rows_of(source: th.Source) -> list[tuple[list[int], list[str]]]:
    out = []
    for batch, _ in source.batches(want_names=True, want_labels=False):
        names = batch.names.decode()
        out += [(batch.keys[a:b].tolist(), names[a:b]) for a, b in zip(batch.indptr, batch.indptr[1:], strict=False)]
    return out


@examples(100)
@given(st.lists(st.tuples(MOMENTS, st.sampled_from(["date", "minutes", "seconds", "fraction"]), ZONES), min_size=1))
def test_twin(moments: list[tuple[dt.datetime, str, str]]) -> None:
    """Names and keys follow from what is written, whatever its precision and zone."""
    texts, expected = [], []
    for moment, how, zone in moments:
        text = f"{moment.date().isoformat()}"
        if how != "date":
            precise = {"minutes": "minutes", "seconds": "seconds", "fraction": "microseconds"}[how]
            text += ("T" if zone else " ") + moment.time().isoformat(precise) + zone
        texts.append(text)
        expected.append(time_row("when", moment, has_hour=how != "date"))
    table = pa.table({"when": texts})
    from thresher.sources.tables.table_encoder import ColumnEncoder, TableEncoder

    source = TableSource(table, encoder=TableEncoder((ColumnEncoder("when", "time"),)))
    assert rows_of(source) == expected


def test_types_of_arrow() -> None:
    moments = [dt.datetime(2024, 2, 29, 23, 59, 1), dt.datetime(1969, 12, 31, 0, 0), None]
    expected = [time_row("t", m, has_hour=True) if m else ([], []) for m in moments]
    for kind in (pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns")):
        assert rows_of(TableSource(pa.table({"t": pa.array(moments, kind)}))) == expected
    aware = pa.array(moments, pa.timestamp("us", tz="UTC"))
    assert rows_of(TableSource(pa.table({"t": aware}))) == expected
    dates = [time_row("t", m, has_hour=False) if m else ([], []) for m in moments]
    for kind in (pa.date32(), pa.date64()):
        days = pa.array([m and m.date() for m in moments], kind)
        assert rows_of(TableSource(pa.table({"t": days}))) == dates


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames(package: str) -> None:
    frames = pytest.importorskip(package)
    moments = [dt.datetime(2024, 5, 17, 8, 30), dt.datetime(2023, 1, 1, 0, 0)]
    frame = frames.DataFrame({"t": moments, "x": [1.0, 2.0]})
    model = th.select(frame, [0, 1], k=9)
    assert {"t.year=2024", "t.month=05", "t.weekday=Fri", "t.hour=08", "x"} <= set(model.names)
    assert len(model.predict(frame)) == 2


def _write(tmp_path: Path, kind: str, dates: list[str], y: list[int]) -> Path:
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        path.write_text("when,y\n" + "".join(f"{d},{v}\n" for d, v in zip(dates, y, strict=True)))
    elif kind == "jsonl":
        path.write_text("".join(f'{{"when": "{d}", "y": {v}}}\n' for d, v in zip(dates, y, strict=True)))
    else:
        import pyarrow.parquet as pq

        stamps = pa.array([dt.datetime.fromisoformat(d) for d in dates], pa.timestamp("us"))
        pq.write_table(pa.table({"when": stamps, "y": y}), path)
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_files(tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """Shown in what was inferred, stored in the recipe, and the same for other files of the model."""
    caplog.set_level(logging.INFO, "thresher")
    start = dt.datetime(2023, 12, 25, 3)
    moments = [start + dt.timedelta(hours=7 * i) for i in range(200)]
    y = [int(moment.weekday() >= 5) for moment in moments]
    path = _write(tmp_path, kind, [moment.isoformat() for moment in moments], y)
    model = th.select(path, target="y", k=3, passes=3)
    assert "  times        when (year, month, weekday, hour)" in caplog.text
    assert {"when.weekday=Sat", "when.weekday=Sun"} <= set(model.names)
    assert model.provenance["reading"]["form"]["columns"] == [["when", "time", None]]
    # One row of a file without any other dates is read the same way, though its type may be inferred differently.
    one = tmp_path / "one.csv"
    one.write_text("when\n2024-01-06\n2024-01-08T10:00:00Z\n")
    assert model.predict(one).tolist() == [1, 0]
    frame = pa.table({"when": [dt.date(2024, 1, 6), dt.date(2024, 1, 8)]})
    assert model.predict(frame).tolist() == [1, 0]
    plain = th.select(path, target="y", k=3, categorical=["when"])
    assert all(name.startswith("when=") for name in plain.names)


def test_values_that_are_not_dates(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    bad = ["2023-02-29", "2023-13-01", "2023-00-10", "24-01-01", "2023-01-01T25:00", "2023-01-01x", "soon"]
    path.write_text("when,y\n2023-01-01,1\n,0\n" + "".join(f"{text},1\n" for text in bad) + "2023-01-02,0\n")
    source = th.scan_csv(path, target="y", times=["when"], on_error="skip")
    rows = rows_of(source)
    assert [names for _, names in rows] == [
        ["when.year=2023", "when.month=01", "when.weekday=Sun"],
        [],
        ["when.year=2023", "when.month=01", "when.weekday=Mon"],
    ]
    assert source.skipped_files() == {str(path): len(bad)} or len(rows) == 3
    with pytest.raises(DataError, match=r"line 4.*not a date or time as 2024-05-17.*'when'"):
        rows_of(th.scan_csv(path, target="y", times=["when"]))
    missing = th.scan_csv(path, target="y", times=["when"], missing="feature", on_error="skip")
    assert rows_of(missing)[1][1] == ["when=<missing>"]


def test_fingerprint_of_a_frame_with_times() -> None:
    one, two = (TableSource(pa.table({"t": [dt.date(2024, 5, day)]})).fingerprint() for day in (17, 18))
    assert one != two
