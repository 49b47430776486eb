"""th.select with products of features: found, named, predicted with, saved; same bits whatever the batches."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import thresher as th
from tests.online.test_select import METHODS, _StopAt, saved_bytes
from tests.streams import write_libsvm, write_vw
from thresher.sources.registry import as_source
from thresher.sources.transforms.interactions import Interactions

RNG = np.random.default_rng(0)
X = RNG.choice([-1.0, 1.0], (3000, 20)) * RNG.uniform(0.5, 1.5, (3000, 20))
#: The sign of a product of two: no feature alone says anything about it.
Y = np.sign(X[:, 3] * X[:, 7])
#: What data of every kind calls columns 3 and 7, and how to choose them.
KINDS: dict[str, tuple[str, Any]] = {
    "dense": ("x3 × x7", [(3, 7)]),
    "sparse": ("x3 × x7", [(3, 7)]),
    "libsvm": ("4 × 8", [(4, 8)]),
    "vw": ("column-3 × column-7", [("column-3", "column-7")]),
    "frame": ("c3 × c7", [("c3", "c7")]),
}


def data_of(kind: str, folder: Path, x: np.ndarray = X, y: np.ndarray = Y) -> tuple[Any, ...]:
    """The same rows in every form, as th.select takes them."""
    if kind == "libsvm":
        return (write_libsvm(folder / "rows.svm", sp.csr_matrix(x), y),)
    if kind == "vw":
        return (write_vw(folder / "rows.vw", sp.csr_matrix(x), y),)
    if kind == "frame":
        return pd.DataFrame(x, columns=[f"c{j}" for j in range(x.shape[1])]), y
    return (sp.csr_array(x) if kind == "sparse" else x), y


@pytest.mark.parametrize(
    ("kind", "method"), [*((kind, METHODS[0]) for kind in KINDS), *(("vw", method) for method in METHODS[1:])], ids=str
)
def test_a_planted_product_is_found_and_named(kind: str, method: dict[str, Any], tmp_path: Path) -> None:
    data, (name, groups) = data_of(kind, tmp_path), KINDS[kind]
    plain = th.select(*data, k=10, passes=2, holdout=0.2, **method)
    assert plain.provenance["test"]["accuracy"] < 0.6
    for interactions in (2, groups):
        selection = th.select(*data, k=10, passes=2, holdout=0.2, interactions=interactions, **method)
        assert selection.names[0] == name
        assert selection.weights[0] > 0
        assert selection.named == len(selection)
        assert selection.provenance["test"]["accuracy"] > 0.85


def test_a_product_of_three_is_found_and_named() -> None:
    y = np.sign(X[:, 3] * X[:, 7] * X[:, 11])
    selection = th.select(X, y, k=10, passes=3, interactions=3, random_state=1)
    assert selection.names[0] == "x3 × x7 × x11"


def value_of(name: str, x: np.ndarray) -> np.ndarray:
    """The column of a name such as ``x3 × x7²``, by its meaning."""
    out = np.ones(len(x))
    for factor in name.split(" × "):
        column, power = re.fullmatch(r"x(\d+)([²³]?)", factor).groups()  # type: ignore[union-attr]
        out *= x[:, int(column)] ** {"": 1, "²": 2, "³": 3}[power]
    return out


@pytest.mark.parametrize("how", [{"degree": 2}, {"degree": 3}, {"degree": 3, "squares": True}, {"groups": [(3, 7)]}])
def test_predictions_are_those_of_an_expanded_matrix(how: dict[str, Any], tmp_path: Path) -> None:
    """The saved model on the raw data, against the columns that its names stand for."""
    x = np.where(RNG.random((200, 8)) < 0.6, np.float32(X[:200, :8]), 0.0)
    y = np.sign(x[:, 3] * x[:, 7] + 0.1)
    th.select(Interactions(as_source(x, y), **how), k=30).save(tmp_path / "model.thr")
    selection = th.load(tmp_path / "model.thr")
    assert selection.space.products is not None
    expanded = np.stack([value_of(name, x) for name in selection.names], axis=1)
    for data in (x, sp.csr_array(x), Interactions(as_source(x), **how)):
        np.testing.assert_allclose(selection.transform(data).toarray(), expanded, rtol=1e-6)
        margins = expanded @ selection.weights + selection.intercept[0]
        np.testing.assert_allclose(selection.decision_function(data), margins, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(selection.predict(data), np.where(margins > 0, 1, -1))


def test_the_file_keeps_what_is_needed_to_predict(tmp_path: Path) -> None:
    (path,) = data_of("vw", tmp_path)
    selection = th.select(path, k=10, interactions=[("column-3", "column-7"), ("column-1", "column-2")])
    selection.save(tmp_path / "model.thr")
    loaded = th.load(tmp_path / "model.thr")
    assert loaded.space == selection.space
    assert str(loaded.space) == "hashed names and products column-1 × column-2, column-3 × column-7"
    np.testing.assert_array_equal(loaded.decision_function(path), selection.decision_function(path))


def test_data_with_other_products_is_rejected() -> None:
    pairs, plain = th.select(X, Y, k=5, interactions=2), th.select(X, Y, k=5)
    for model, data in (
        (pairs, X[:, :10]),
        (pairs, pd.DataFrame(X)),
        (pairs, Interactions(as_source(X), 3)),
        (pairs, Interactions(as_source(X), squares=True)),
        (plain, Interactions(as_source(X))),
    ):
        with pytest.raises(th.SpaceError, match="the model's features are"):
            model.predict(data)
    assert len(pairs.predict(X)) == len(plain.predict(X)) == len(X)


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("kind", ["dense", "vw"])
def test_same_bits_for_any_batch_size_and_after_interruptions(kind: str, shuffle: bool, tmp_path: Path) -> None:
    data = data_of(kind, tmp_path, X[:250], Y[:250])
    how: dict[str, Any] = {"k": 20, "passes": 2, "memory": "8MB", "shuffle": shuffle, "interactions": 2}
    answers = {saved_bytes(th.select(*data, batch_rows=rows, **how), tmp_path / "s") for rows in (1, 7, 10**6)}
    assert len(answers) == 1
    checkpoint = tmp_path / "run.ckpt"
    for stop_at in (1, 13, 25):
        with pytest.raises(th.Interrupted):
            th.select(*data, **how, batch_rows=16, checkpoint=checkpoint, progress=_StopAt(stop_at))
        with pytest.raises(th.ResumeError, match="data: "):
            th.select(*data, **{**how, "interactions": 3}, checkpoint=checkpoint)
        resumed = th.select(*data, **how, batch_rows=10, checkpoint=checkpoint)
        assert {saved_bytes(resumed, tmp_path / "resumed")} == answers


def test_stretches_do_not_change_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt may leave a cursor in the middle of a batch that was cut into stretches."""
    (path,) = data_of("vw", tmp_path, X[:500], Y[:500])
    how: dict[str, Any] = {"k": 20, "interactions": 2, "memory": "8MB", "class_weight": {1.0: 2.0}}
    whole = saved_bytes(th.select(path, **how), tmp_path / "whole")
    monkeypatch.setattr("thresher.sources.transforms.interactions.MAX_BATCH_FEATURES", 1000)
    assert saved_bytes(th.select(path, **how), tmp_path / "cut") == whole
    checkpoint = tmp_path / "run.ckpt"
    for stop_at in (1, 40, 90):
        with pytest.raises(th.Interrupted):
            th.select(path, **how, checkpoint=checkpoint, progress=_StopAt(stop_at))
        assert saved_bytes(th.select(path, **how, checkpoint=checkpoint), tmp_path / "resumed") == whole


def test_the_memory_for_products_is_planned_and_enforced() -> None:
    assert th.select(X[:100], Y[:100], k=5, interactions=2).provenance["plan"]["products"] == 16 << 20
    assert th.select(Interactions(as_source(X[:100], Y[:100])), k=5).provenance["plan"]["products"] == 16 << 20
    assert th.select(X[:100], Y[:100], k=5).provenance["plan"]["products"] == 0
    wide = np.ones((4, 600))
    wide[0] = 2.0
    with pytest.raises(th.DataError, match=r"row \d.*600 features, 180,300 .* Pass `memory="):
        th.select(wide, [0, 1, 0, 1], k=5, interactions=2)
    assert len(th.select(wide, [0, 1, 0, 1], k=5, interactions=2, memory="128MB")) == 5


@pytest.mark.parametrize("wrong", [0, 4, True, "2", ("user", "ad"), [("user",)]])
def test_interactions_are_checked_before_the_first_row(wrong: Any, tmp_path: Path) -> None:
    broken = tmp_path / "broken.svm"
    broken.write_text("not a row\n")
    with pytest.raises(th.SettingsError, match="interactions"):
        th.select(broken, k=5, interactions=wrong)
    with pytest.raises(th.SettingsError, match="must be numbers of features, got 'user'"):
        th.select(broken, k=5, interactions=[("user", "ad")])
