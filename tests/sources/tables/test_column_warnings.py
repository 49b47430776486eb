"""Warnings about columns: each rule where it holds, and just below its threshold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest

import thresher as th
from thresher.sources.registry import as_source, scan
from thresher.sources.tables.column_rules import TargetColumn, is_identifier
from thresher.sources.tables.column_values import Numbers, Texts, column_values, label_values

N = 2000
RNG = np.random.default_rng(3)
PERMUTED = RNG.permutation(N)
CODES = [f"u{i:05d}" for i in PERMUTED]
CLASSES = RNG.choice(["no", "maybe", "yes"], N, p=[0.6, 0.25, 0.15])
NUMBERS = np.round(RNG.lognormal(3, 1, N), 2)


def is_id(values, name: str = "x") -> bool:
    column = column_values(pa.array(values))
    assert column is not None
    return is_identifier(name, column, len(values))


def held(column, target) -> str | None:
    goal = TargetColumn.of(values_of(target))
    return None if goal is None else goal.relation(values_of(column))


def values_of(values) -> Numbers | Texts:
    found = column_values(pa.array(list(values)))
    assert found is not None
    return found


def with_repeats(values, repeats: int) -> list:
    return [*values[: len(values) - repeats], *values[:repeats]]


# ── identifiers ──────────────────────────────────────────────────────────────────────────────────


def test_one_row_in_a_thousand_may_repeat_an_identifier() -> None:
    assert is_id(CODES)
    assert is_id(with_repeats(CODES, 2))
    assert not is_id(with_repeats(CODES, 3))
    assert is_id([*CODES[2:], None, None])
    assert not is_id([*CODES[3:], None, None, None])


def test_whole_numbers_that_fill_half_of_their_range_count_up() -> None:
    assert is_id(PERMUTED * 2 + 7)
    assert is_id((PERMUTED * 2 + 7).astype(float))
    assert not is_id(PERMUTED * 2.5)  # every second one is no whole number
    assert not is_id(PERMUTED * 3)
    assert is_id(PERMUTED * 3, "user_id")
    assert is_id(PERMUTED * 3, "UserID")
    assert not is_id(PERMUTED * 3, "paid")
    assert not is_id(with_repeats(PERMUTED, 3), "user_id")


def test_distinct_texts_are_no_identifiers() -> None:
    """The words of a list of texts are the features."""
    texts = [f"film {i}" for i in range(200)]
    assert not as_source(texts, np.arange(200) % 2).warnings()


def test_years_and_measurements_and_sentences_are_no_identifiers() -> None:
    assert not is_id(np.arange(1700, 2009))
    assert is_id(np.arange(1700, 2009), "id")
    assert is_id(np.arange(1400, 1700))
    assert not is_id([*map(str, NUMBERS[:1990].cumsum()), *("?" * 10)])
    assert not is_id([f"the review of a customer, number {i}" for i in PERMUTED])
    assert is_id([f"Mr {i}, customer" for i in PERMUTED])
    assert is_id([f"{i:064x}" for i in PERMUTED])
    assert not is_id([f"{i:065x}" for i in PERMUTED])  # rather a sequence


# ── columns that hold the target ─────────────────────────────────────────────────────────────────


def changed(values, rows: int, to) -> list:
    """The values, other ones in some rows that are not of the most frequent class."""
    where = np.flatnonzero(np.asarray(CLASSES) != "no")[:rows]
    out = list(values)
    for i in where:
        out[i] = to
    return out


def test_a_copy_may_differ_in_a_hundredth_of_the_rows_outside_the_largest_class() -> None:
    outside = int((CLASSES != "no").sum())
    assert held(CLASSES, CLASSES) == "copy"
    assert held(changed(CLASSES, outside // 100, "no"), CLASSES) == "copy"
    assert held(changed(CLASSES, outside // 100 + 1, "no"), CLASSES) is None
    assert held(NUMBERS, NUMBERS) == "copy"
    few, more = NUMBERS.copy(), NUMBERS.copy()
    few[:19], more[:25] = 0, 0
    assert held(few, NUMBERS) == "copy"
    assert held(more, NUMBERS) is None


def test_classes_under_other_names() -> None:
    numbers = {"no": 3, "maybe": 1, "yes": 2}
    assert held([numbers[label] for label in CLASSES], CLASSES) == "names"
    assert held(CLASSES, [numbers[label] for label in CLASSES]) == "names"
    assert held([None if label == "no" else label.upper() for label in CLASSES], CLASSES) == "names"
    # A coarser column does not hold the target, and a finer one is not the target under other names.
    assert held(CLASSES == "no", CLASSES) is None
    assert held([f"{label}{i % 7}" for i, label in enumerate(CLASSES)], CLASSES) is None
    assert held(np.where(CLASSES == "no", -1, 1), CLASSES == "no") == "names"


def test_the_same_number_in_another_unit() -> None:
    celsius = RNG.normal(15, 8, N).round(1)
    assert held((celsius * 9 / 5 + 32).round(1), celsius) == "unit"
    assert held(celsius * 9 / 5 + 32 + RNG.normal(0, 0.5, N), celsius) is None
    # One extreme row makes the correlation of unrelated numbers nearly 1.
    x, y = RNG.normal(size=N), RNG.normal(size=N)
    x[0] = y[0] = 1e6
    assert held(x, y) is None


def test_the_same_order() -> None:
    y = NUMBERS + RNG.random(N) * 1e-3
    assert held(np.log(y), y) == "order"
    assert held(1 / y, y) == "order"
    swapped = np.log(y)
    swapped[[5, 6]] = swapped[[6, 5]]
    assert held(swapped, y) is None
    # Rows in the order of time: a trend is no copy.
    assert held(np.log(np.sort(y)), np.sort(y)) is None


def test_rare_classes_and_few_rows_decide_nothing() -> None:
    for rows, minority, rule in ((50, 5, "copy"), (49, 5, None), (50, 4, None)):
        y = [1] * minority + [0] * (rows - minority)
        assert held(y, y) == rule


def test_labels_in_memory_are_values_like_columns() -> None:
    labels = np.array(["a", None, "b", 3.0], dtype=object)
    codes, meaning = label_values(labels).codes()
    assert codes.tolist() == [0, -1, 1, 2]
    assert meaning == ["a", "b", "3.0"]
    codes, meaning = label_values(np.array([2.0, np.nan, 1.0])).codes()
    assert codes.tolist() == [1, -1, 0]
    assert meaning == [1.0, 2.0]
    damaged = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 9, 2], np.int32)), pa.py_buffer(b"ab")]
    )
    assert column_values(damaged) is None


# ── sentences ────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "y": CLASSES == "no",
            "row": np.arange(N),
            "user": CODES,
            "label": np.where(CLASSES == "no", "keep", "churn"),
            "age": RNG.integers(18, 90, N),
            "city": RNG.choice(["Oslo", "Rome"], N),
        }
    )


def test_tables_of_every_format_have_the_same_warnings(frame, tmp_path) -> None:
    frame = frame.iloc[:900]  # all of them in the sample of any format
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "t.parquet")
    pa.feather.write_feather(frame, tmp_path / "t.arrow")
    for name in ("t.csv", "t.jsonl", "t.parquet", "t.arrow"):
        path = tmp_path / name
        assert scan(path, target="y").warnings() == [
            f"{path}: the column 'label' is the target under other names, value for value (first 900 rows). Ignore it "
            "(`ignored=['label']`), unless it is known before the target.",
            f"{path}: the columns 'row', 'user' look like identifiers: no two rows have the same value "
            "(first 900 rows). Ignore them (`ignored=['row', 'user']`), or name their kinds to keep them "
            "(`numeric`, `categorical`).",
        ]
    assert as_source(frame, target="y").warnings() == [
        "the column 'label' is the target under other names, value for value (first 900 rows). Drop it from the table, "
        "unless it is known before the target.",
        "the columns 'row', 'user' look like identifiers: no two rows have the same value (first 900 rows). Drop them "
        "from the table.",
    ]


def test_what_the_user_says_is_not_doubted(frame, tmp_path) -> None:
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    assert len(th.scan_csv(path, target="y").warnings()) == 2
    assert not th.scan_csv(path, target="y", ignored=["row", "user", "label"]).warnings()
    (leak,) = th.scan_csv(path, target="y", numeric=["row"], categorical=["user", "label"]).warnings()
    assert "'label' is the target" in leak
    assert not th.scan_text(path, text="user", target="y").warnings()


def test_a_sentence_lists_few_columns(tmp_path) -> None:
    frame = pd.DataFrame({"y": [0, 1] * 50} | {f"c{i}": np.arange(100) for i in range(40)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    (found,) = scan(tmp_path / "t.csv", target="y").warnings()
    assert "'c11' and 28 more look" in found
    assert "'c12'" not in found


def test_fewer_than_fifty_rows_say_nothing(frame, tmp_path) -> None:
    for rows, count in ((50, 2), (49, 0)):
        frame.iloc[:rows].to_csv(tmp_path / "t.csv", index=False)
        assert len(scan(tmp_path / "t.csv", target="y").warnings()) == count


def test_a_first_row_of_data_says_so(tmp_path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("".join(f"{'ham' if i % 5 else 'spam'}\tword{i} and more\n" for i in range(100)))
    (found,) = (one for one in scan(path).warnings() if "first row" in one)
    assert found == (
        f"{path}: the first row looks like data: its value 'spam' is also that of 19 of the first 99 rows. "
        "If it is data, pass `header=False`."
    )
    assert not [one for one in scan(path, header=False).warnings() if "first row" in one]


def test_a_name_among_the_values_is_no_row_of_data(frame, tmp_path) -> None:
    frame["label"] = ["label", *frame["label"][1:]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    for name in ("t.csv", "t.jsonl"):
        assert not [one for one in scan(tmp_path / name, target="y").warnings() if "first row" in one]
