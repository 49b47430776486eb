"""Intersection and additive kernels as groups, and unions of families, against explicitly computed columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.fgm.families.helpers import columns_of, same_model, some_rows
from tests.reference.fgm import families as reference
from tests.reference.fgm import working_set as scoring
from thresher.fgm.families.additive import KERNELS, AdditiveKernel
from thresher.fgm.families.union import UnionFamily

KINDS = ["hik:7", "hik:100,power=0.5", "additive:gaussian,gamma=2", "additive:chi2", "additive:js,order=2"]
POWERS = st.sampled_from([0.0, 0.5, 1.0])


def parsed(name: str) -> AdditiveKernel:
    (family,) = th.Union(name).families
    assert isinstance(family, AdditiveKernel)
    return family


def expanded(family: AdditiveKernel, x: Any) -> Any:
    """rows x columns x coordinates, with the scales of the kernel."""
    options = family.map_options((min(0.0, float(x.min())), max(0.0, float(x.max()))))
    if isinstance(family, th.HIK):
        scale = np.sqrt((np.abs(x) ** family.power).max(axis=0) / family.bins)
        return reference.steps(x, family.bins, family.power) * scale[:, None]
    return reference.waves(x, options["step"], options["amplitudes"], homogeneous=options["homogeneous"])


@examples(40)
@given(st.integers(0, 10_000), st.sampled_from(KINDS), POWERS, st.booleans(), st.integers(1, 9))
def test_scores_are_those_of_the_computed_coordinates(
    seed: int, name: str, power: float, weighted: bool, limit: int
) -> None:
    family, rng = parsed(name), np.random.default_rng(seed)
    x = some_rows(seed, "any" if "gaussian" in name or "hik" in name else "shares")
    weights = rng.uniform(0.5, 2.0, x.shape[0]) if weighted else None
    residual = rng.normal(size=x.shape[0])
    formed = expanded(family, x.toarray().astype(float))
    scores = np.array([scoring.scores(formed[:, j], residual, power=power, weights=weights).sum() for j in range(12)])
    groups = family.build(columns_of(x, power=power, weights=weights))
    (found,) = groups.top(residual[None, :], limit)
    expected = np.sort(scores)[::-1][:limit]
    assert np.allclose(found.scores, expected[expected > 0], rtol=1e-4, atol=1e-9)
    columns = [groups.known[key][0] for key in found.ids.tolist()]
    assert np.allclose(scores[columns], found.scores, rtol=1e-4)
    taken = groups.columns(found.ids)
    starts, keys = groups.features(found.ids)
    assert len(taken.scales) == len(keys) == starts[-1] == len(np.unique(keys))
    dense = np.zeros((x.shape[0], len(keys)))
    for j in range(len(keys)):
        a, b = taken.indptr[j : j + 2]
        dense[taken.rows[a:b], j] = taken.values[a:b] * taken.scales[j]
    sums = ((residual @ dense) ** 2).reshape(len(columns), -1).sum(axis=1)
    assert np.allclose(sums, found.scores, rtol=1e-4)


def test_maps_give_the_kernel_s_value_within_their_error() -> None:
    x = np.random.default_rng(0).random((40, 3))
    for bins, power in ((10, 1.0), (100, 0.5)):
        formed = expanded(th.HIK(bins, power), x)
        for j in range(3):
            exact = np.minimum.outer(x[:, j] ** power, x[:, j] ** power)
            assert np.abs(formed[:, j] @ formed[:, j].T - exact).max() <= (x[:, j] ** power).max() / (2 * bins) + 1e-12
    kernels = {
        "gaussian": lambda a, b: np.exp(-3.0 * (a - b) ** 2),
        "chi2": lambda a, b: 2 * a * b / (a + b),
        "intersection": np.minimum,
        "js": lambda a, b: (a * np.log2(1 + b / a) + b * np.log2(1 + a / b)) / 2,
    }
    assert set(kernels) == set(KERNELS)
    z = x[:, 0]
    for name, kernel in kernels.items():
        family = th.Additive(name, gamma=3.0)
        formed = expanded(family, np.array([[0.0], *z[:, None].tolist(), [1.0]]))[1:-1, 0]
        if name == "gaussian":  # the map subtracts the value at 0
            step, amplitudes = (family.map_options((0.0, 1.0))[key] for key in ("step", "amplitudes"))
            j = np.arange(1, len(amplitudes))
            at_zero = amplitudes[0] ** 2 + (amplitudes[1:] ** 2 * np.cos(np.multiply.outer(z, j * step))).sum(axis=1)
            whole = formed @ formed.T + at_zero[:, None] + at_zero - (amplitudes**2).sum()
        else:
            whole = formed @ formed.T
        within = family.error() * (1.0 if name == "gaussian" else np.maximum.outer(z, z))
        assert (np.abs(whole - kernel(z[:, None], z[None, :])) <= within * 1.01 + 1e-6).all()
    assert th.Additive("gaussian").error() < 1e-6
    assert th.Additive("chi2").error() < 2e-3


def bumps(rows: int = 500, columns: int = 10) -> tuple[Any, Any]:
    x = np.random.default_rng(0).random((rows, columns)).astype(np.float32)
    return x, np.where(0.6 * (abs(x[:, 3] - 0.5) < 0.25) + 2 * (x[:, 6] - 0.5) * (x[:, 7] - 0.5) > 0.3, 1.0, -1.0)


@pytest.mark.parametrize("scale", ["norm", "root", None])
@pytest.mark.parametrize("name", ["hik:8", "additive:gaussian,gamma=9", "additive:chi2"])
def test_the_model_is_that_of_the_computed_coordinates(name: str, scale: str | None, tmp_path: Any) -> None:
    x, y = bumps()
    family = parsed(name)
    found = th.select(x, y, k=3, B=1, method="fgm", preset="fixed", family=name, scale=scale, inner_tol=1e-9)
    formed = expanded(family, x.astype(float))
    flat = formed.reshape(len(x), -1)
    groups = th.Groups(np.repeat(np.arange(x.shape[1]), formed.shape[2]))
    twin = th.select(flat, y, k=3, B=1, method="fgm", preset="fixed", family=groups, scale=scale, inner_tol=1e-9)
    assert found.names[0].startswith(("x3 ", "cos", "sin", "√x3"))
    theirs = twin.decision_function(flat)
    assert np.allclose(found.decision_function(x), theirs, atol=0.02 * np.abs(theirs).max())
    assert {term.parts[0] for term in found.space.expansion.terms} == set((twin.keys // formed.shape[2]).tolist())
    found.save(tmp_path / "out.thr")
    again = th.load(tmp_path / "out.thr")
    assert again.space == found.space
    assert again.decision_function(x).tolist() == found.decision_function(x).tolist()


def test_a_union_has_the_best_of_all() -> None:
    x, y = bumps()
    residual = (y - y.mean())[None, :]
    members = ["linear", "polynomial:2", "hik:8,columns=none"]
    family = th.Union(*members).build(columns_of(x))
    assert isinstance(family, UnionFamily)
    (found,) = family.top(residual, 7)
    scores = np.concatenate([member.top(residual, 99)[0].scores for member in family.members[1:]])
    assert found.scores.tolist() == np.sort(scores)[::-1][:7].tolist()
    starts, keys = family.features(found.ids)
    assert starts[-1] == len(keys) == len(family.columns(found.ids).scales)
    model = th.select(x, y, k=8, method="fgm", preset="fixed", family=th.Union(*members, by_size=True))
    kinds = {(len(term.parts), term.coordinate.kind) for term in model.space.expansion.terms}
    assert {(2, "itself"), (1, "step")} <= kinds
    linear = th.select(x, y, k=8, method="fgm", preset="fixed")
    assert (model.predict(x) == y).mean() > (linear.predict(x) == y).mean() + 0.1
    assert len(model.names) == len(set(model.names))


@pytest.mark.parametrize("scale", ["norm", "root"])
@pytest.mark.parametrize(
    "family",
    [
        "hik:8",
        "hik:8,power=0.5",
        "additive:gaussian",
        "additive:chi2",
        "linear + polynomial:2 + hik:5",
        "linear:columns=a1|a2 * linear:columns=a2|a3|a7 + linear:columns=a5 + hik:5,columns=a6|a8",
        "linear",
    ],
)
def test_out_of_core_equals_in_memory_bitwise(family: str, scale: str, tmp_path: Any) -> None:
    x, y = bumps(300, 120)
    y = y + (x[:, 7] > 0.8)  # weights, and more than two classes
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    x[np.random.default_rng(2).random(x.shape) < 0.5] = 0
    path = tmp_path / "rows.vw"
    rows = [" ".join(f"a{j}:{v:.9g}" for j, v in enumerate(row) if v) for row in x.astype(float)]
    path.write_text(
        "\n".join(f"{label:g} {w:.6g} | {row}" for label, w, row in zip(y, weight, rows, strict=True)) + "\n"
    )
    settings = {"k": 4, "B": 2, "method": "fgm", "preset": "fixed", "family": family, "scale": scale}
    whole = th.select(str(path), **settings)
    assert len(whole.classes) > 2
    again = th.select(str(path), memory="760KB", batch_rows=23, n_jobs=1, **settings)
    assert same_model(again, whole)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: th.HIK(0), "between 1 and"),
        (lambda: th.HIK(10, power=0.0), "above 0"),
        (lambda: th.Additive("cosine"), "an additive kernel is one of"),
        (lambda: th.Additive("gaussian", gamma=-1.0), "above 0"),
        (lambda: th.Union(), "at least one family"),
        (lambda: th.HIK(columns=[-1]), "must be positions or names"),
        (
            lambda: th.select(-np.eye(3), [0, 1, 0], k=1, method="fgm", preset="fixed", family="additive:chi2"),
            "needs nonnegative values",
        ),
        (
            lambda: th.select(np.eye(3), [0, 1, 0], k=1, method="fgm", preset="fixed", family=th.HIK(columns=[3])),
            "columns 0 to 2",
        ),
    ],
)
def test_invalid_kernels_are_refused(make: Any, message: str) -> None:
    with pytest.raises(th.SettingsError, match=message):
        make()
