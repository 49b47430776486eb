"""Features that are always kept: in the answer whatever their weights are, with the same bits in any batches."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import thresher as th
from thresher.methods import KEEPING

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 15))
Y = np.where(X[:, 3] - X[:, 7] + 0.5 * X[:, 1] > 0, 1, -1)
#: Nothing that an online method would keep by itself.
WEAK = ["x13", "x14"]
ONE_PASS = {"passes": 1, "refit": False, "memory": "8MB"}
ONLINE = [method for method in KEEPING if method not in ("fgm", "os")]
FORMS: list[dict[str, Any]] = [
    *({"method": method, **ONE_PASS} for method in ONLINE),
    {"method": "mission", "active": "sketch", **ONE_PASS},
    {"method": "b-arda", "lam": 0.01, "eta": 0.5, **ONE_PASS},
    {"method": "b-arda", "passes": 1, "refit": True, "memory": "8MB"},
    {"method": "fgm", "C": 1.0},
    {"method": "fgm", "C": 0.001, "refit": False},
    {"method": "os"},
    {"method": "os", "arrivals": 1, "shrink": 0, "ridge": 0, "refit": False, "loss": "squared", "scans": 2},
]


def vw_file(path: Path) -> Path:
    """The rows as names: ``f13`` and ``f14`` are weak, and a namespace has a name for every tenth row."""
    lines = []
    for i, (row, label) in enumerate(zip(X, Y, strict=True)):
        features = " ".join(f"f{j}:{row[j]:.3g}" for j in range(15))
        lines.append(f"{label} | {features}" + (f" |user u{i % 30}" if i % 10 == 0 else "") + "\n")
    path.write_text("".join(lines))
    return path


def bits(selection: th.Selection) -> tuple[Any, ...]:
    weights, intercept = np.asarray(selection.weights), np.asarray(selection.intercept)
    return selection.names, selection.counts.tolist(), weights.tobytes(), intercept.tobytes()


@pytest.mark.parametrize("options", FORMS, ids=str)
def test_they_are_in_the_answer_and_count_towards_k(options: dict[str, Any]) -> None:
    found = th.select(X, Y, k=4, keep=WEAK, **options)
    assert len(found) <= 4
    assert set(WEAK) < set(found.names)
    assert found.counts[[found.names.index(name) for name in WEAK]].min() > 0
    assert found.provenance["kept"] == {"count": 2, "names": WEAK}
    only = th.select(X, Y, k=2, keep=WEAK, **options)
    assert sorted(only.names) == WEAK
    assert all(only.weights)


@pytest.mark.parametrize("options", FORMS[:-5], ids=str)
def test_the_others_are_those_of_a_smaller_fit(options: dict[str, Any]) -> None:
    """A pinned feature has a slot of its own: with features that no row has, the others are what they would be."""
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(15)])
    found = th.select(frame, Y, k=5, keep=["c98", "c99"], **options)
    plain = th.select(frame, Y, k=3, **options)
    assert found.names[:3] == plain.names
    assert found.weights[:3].tobytes() == plain.weights.tobytes()
    assert sorted(found.names[3:]) == ["c98", "c99"]
    assert found.weights[3:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("options", [form for form in FORMS if form["method"] != "batch-iht"], ids=str)
def test_the_same_bits_for_any_batches_with_names(options: dict[str, Any], tmp_path: Path) -> None:
    file = vw_file(tmp_path / "rows.vw")
    keep = ["f13", "user^u10", "never"]
    found = th.select(file, k=6, keep=keep, **options)
    assert set(keep) < set(found.names)
    assert dict(zip(found.names, found.counts.tolist(), strict=True))["user^u10"] > 0
    assert bits(th.select(file, k=6, keep=keep, batch_rows=7, **options)) == bits(found)
    found.save(tmp_path / "found.thr")
    assert th.load(tmp_path / "found.thr").names == found.names


@pytest.mark.parametrize("method", ["mission", "sofs"])
def test_a_fit_goes_on_after_a_pickle(method: str) -> None:
    kind = th.MissionClassifier if method == "mission" else th.BudgetedClassifier
    model = kind(k=4, method=method, keep=WEAK, memory="8MB")
    model.partial_fit(X[:200], Y[:200], classes=[-1, 1])
    again = pickle.loads(pickle.dumps(model)).partial_fit(X[200:], Y[200:])
    model.partial_fit(X[200:], Y[200:])
    assert bits(model.selection_) == bits(again.selection_)
    assert set(WEAK) <= set(model.get_feature_names_out())


def test_a_checkpoint_is_for_the_same_names(tmp_path: Path) -> None:
    file, saved = vw_file(tmp_path / "rows.vw"), tmp_path / "fit.ckpt"

    def stop(progress: Any) -> None:
        if progress.rows >= 200:
            raise KeyboardInterrupt

    options: dict[str, Any] = {"k": 4, "checkpoint": saved, "batch_rows": 50, **ONE_PASS}
    with pytest.raises(KeyboardInterrupt):
        th.select(file, keep=["f13", "never"], progress=stop, **options)
    assert saved.exists()
    with pytest.raises(th.ThresherError, match="keep"):
        th.select(file, keep=["f14"], **options)
    with pytest.raises(th.ThresherError, match="checkpoint"):
        th.select(file, drop=["f14"], **options)
    resumed = th.select(file, keep=["f13", "never"], **options)
    assert bits(resumed) == bits(th.select(file, keep=["f13", "never"], k=4, **ONE_PASS))


def test_patterns_of_columns_and_of_a_matrix() -> None:
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(15)]).assign(city=np.where(X[:, 1] > 0, "Oslo", "Rome"))
    found = th.select(frame, Y, k=7, keep=["c1?", "city=Rome"], **ONE_PASS)
    assert {"c10", "c11", "c12", "c13", "c14", "city=Rome"} < set(found.names)
    assert {"x13", "x14", "x10", "x11", "x12"} < set(th.select(X, Y, k=6, keep="x1?", **ONE_PASS).names)


def test_a_stream_of_features_keeps_those_that_arrive_and_those_that_do_not() -> None:
    named = th.FeatureStream(X, names=[f"c{j}" for j in range(15)])
    found = th.select(named, Y, k=5, method="os", keep=["c13", "c0", "c99"])
    assert len(found) == 5
    assert {"c13", "c0", "c99"} < set(found.names)
    assert found.names[-1] == "c99"
    for data in (X, th.FeatureStream(X)):
        model = th.SubstitutionClassifier(k=4, keep=WEAK).fit(data, Y)
        assert set(WEAK) < set(model.selection_.names)
    model.partial_fit(X[:, :2])
    assert set(WEAK) < set(model.selection_.names)


def test_several_classes_and_numbers() -> None:
    classes = np.argmax(X[:, :3], axis=1)
    for options in (
        {"method": "mission", **ONE_PASS},
        {"method": "b-arda", **ONE_PASS},
        {"method": "fgm", "C": 1.0},
        {"method": "os"},
    ):
        found = th.select(X, classes, k=4, keep=WEAK, task="classes", **options)
        assert set(WEAK) < set(found.names)
    assert set(WEAK) < set(th.select(X, X[:, 3] + X[:, 7], k=4, keep=WEAK, task="numbers", **ONE_PASS).names)


def test_a_name_that_no_row_has_is_a_warning(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    file = vw_file(tmp_path / "rows.vw")
    with caplog.at_level(logging.WARNING):
        found = th.select(file, k=4, keep=["f13", "F14"], **ONE_PASS)
    assert found.provenance["warnings"][0].startswith(
        "`keep` names features that no row to learn from has: 'F14'. They have no weight."
    )
    assert "F14" in found.names


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"method": "hashing"}, "hashing cannot keep features by name"),
    ({"method": "l1-arda"}, "l1-arda cannot keep features by name"),
    ({"method": "grafting"}, "grafting cannot keep features by name"),
    ({"method": "os", "workers": 2}, "`keep` and `workers` exclude each other"),
    ({"method": "sparse-rf"}, "sparse-rf cannot keep features by name"),
    ({"per_class": True}, "`keep` and `per_class` exclude each other"),
    ({"k": "auto"}, '`keep` and `k="auto"` exclude each other'),
    ({"fdr": 0.1}, "`keep` and `fdr` exclude each other"),
    ({"workers": 2}, "`keep` and `workers` exclude each other"),
    ({"method": "b-arda", "groups": "source"}, "`keep` and `groups` exclude each other"),
    ({"method": "fgm", "family": "poly:2"}, "`keep` and `family` exclude each other"),
    ({"k": 1}, "`keep` names 2 features, and `k` counts them: k must be at least 2, got 1"),
    ({"drop": ["x1*"]}, "'x13', 'x14' are in both `keep` and `drop`"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=str)
def test_what_cannot_keep_features_says_so_before_any_row_is_read(options: dict[str, Any], message: str) -> None:
    with pytest.raises(th.ThresherError, match=message):
        th.select("no such file.vw", **{"k": 4, "keep": WEAK, **options})


def test_names_that_the_data_cannot_have(tmp_path: Path) -> None:
    file = vw_file(tmp_path / "rows.vw")
    frame = pd.DataFrame({"a": X[:, 3], "city": np.where(X[:, 1] > 0, "Oslo", "Rome")})
    for data, entries, message in [
        ((file,), ["f1*"], "the names of the features are not known before the first row"),
        ((X, Y), ["age"], r"`keep` names 'age', but the data's features are columns by position"),
        ((frame, Y), ["city"], "a column of which each value is a feature: name the values to keep, as 'city=…'"),
    ]:
        with pytest.raises(th.ThresherError, match=message):
            th.select(*data, k=4, keep=entries)
    with pytest.raises(th.ThresherError, match="`keep` names 'city=Rome', and `drop` its column"):
        th.select(frame, Y, k=4, keep=["city=Rome"], drop=["city"])
