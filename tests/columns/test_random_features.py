"""Random features: their kernels, their bits, their names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import thresher as th
from tests.examples import examples
from tests.reference.sparse_rf.kernels import exact
from thresher import _native
from thresher.columns.kernels import make_sampler
from thresher.columns.random_features import RandomFeatureMap
from thresher.core.batch import Batch
from thresher.core.feature_space import FeatureSpace, RandomFeatureSpec

POOL = _native.ThreadPool(2)
KERNELS = (
    "gaussian", "laplacian", "binning", "perceptron", "matern:0.5", "matern:1.5", "matern:2.5", "arc-cosine",
    "arc-cosine:0", "maclaurin", "polynomial:2", "polynomial:3",
)  # fmt: skip


def batch_of(x: Any) -> Batch:
    rows = sp.csr_matrix(np.asarray(x, np.float32))
    return Batch(rows.indptr.astype(np.int64), rows.indices.astype(np.uint64), rows.data)


def features(
    kernel: str, numbers: Any, *, size: int = 4, seed: int = 0, pool: Any = POOL, **rest: Any
) -> RandomFeatureMap:
    space = FeatureSpace("column", size).with_random_features(RandomFeatureSpec(kernel, seed=seed, **rest))
    return RandomFeatureMap(space, np.asarray(numbers, np.uint64), pool)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_mean_of_products_is_the_kernel(kernel: str) -> None:
    x = np.random.default_rng(0).uniform(-0.8, 0.8, size=(6, 4)).astype(np.float32)
    gamma = 0.7
    wanted = exact(kernel, gamma, x.astype(np.float64), x.astype(np.float64))
    errors = []
    for count in (1000, 16_000):
        values = features(kernel, np.arange(count), gamma=gamma).values(batch_of(x)).astype(np.float64)
        mean = values.T @ values / count
        deviation = np.sqrt(np.maximum((values**2).T @ values**2 / count - mean**2, 0.0))
        # Every pair within five standard deviations of its mean: the Monte-Carlo rate.
        assert (np.abs(mean - wanted) <= 5.0 * deviation / np.sqrt(count) + 1e-6).all()
        errors.append(np.abs(mean - wanted).mean())
    assert errors[1] < 0.6 * errors[0]  # a quarter, but for luck


def test_cosines_are_cosines() -> None:
    rows = np.linspace(-1e4, 1e4, 4001)[:, None]
    drawn = features("gaussian", np.arange(8), size=1, gamma=0.5)
    values = drawn.values(batch_of(rows))
    made = _native.draw(_rule(drawn), 0, drawn.numbers, np.zeros(1, np.uint64))
    phases = 2 * np.pi * (rows.astype(np.float32).astype(np.float64) * made.coefficients + made.offsets)
    assert np.allclose(values.T, np.sqrt(2) * np.cos(phases), atol=3e-7)


def _rule(features: RandomFeatureMap) -> dict[str, Any]:
    return make_sampler(features.spec, 1).rule


@examples(30)
@given(st.sampled_from(KERNELS), st.integers(1, 40), st.integers(1, 9), st.integers(0, 2**63))
def test_bits_depend_on_seed_and_number_alone(kernel: str, rows: int, cut: int, seed: int) -> None:
    rng = np.random.default_rng(rows)
    x = rng.normal(size=(rows, 4)) * (rng.random((rows, 4)) < 0.7)
    numbers = rng.permutation(20)[:7].astype(np.uint64)
    whole = features(kernel, numbers, seed=seed).values(batch_of(x))
    by_rows = [
        features(kernel, numbers, seed=seed, pool=_native.ThreadPool(1)).values(batch_of(x[i : i + cut]))
        for i in range(0, rows, cut)
    ]
    assert np.hstack(by_rows).tobytes() == whole.tobytes()
    one_by_one = [features(kernel, [number], seed=seed).values(batch_of(x)) for number in numbers]
    assert np.vstack(one_by_one).tobytes() == whole.tobytes()


def test_keys_and_positions_give_the_same_features() -> None:
    x = np.random.default_rng(1).normal(size=(30, 4))
    by_position = features("gaussian", np.arange(5)).values(batch_of(x))
    space = FeatureSpace("index", None).with_random_features(RandomFeatureSpec("gaussian"))
    by_key = RandomFeatureMap(space, np.arange(5, dtype=np.uint64), POOL).values(batch_of(x))
    assert by_key.tobytes() == by_position.tobytes()


def test_features_of_a_few_inputs() -> None:
    drawn = features("gaussian", np.arange(200), size=50, few=3)
    x = np.random.default_rng(2).normal(size=(1, 50))
    here = drawn.values(batch_of(x))
    touched = np.zeros((50, 200), bool)
    for j in range(50):
        moved = x.copy()
        moved[0, j] += 1.0
        touched[j] = (drawn.values(batch_of(moved)) != here)[:, 0]
    assert (touched.sum(axis=0) == 3).all()
    assert touched.any(axis=1).all()  # every input is used by some feature


def test_names_show_the_formula() -> None:
    inputs = np.arange(2, dtype=np.uint64)
    drawn = features("gaussian", [0, 1], size=2, gamma=0.5)
    made = _native.draw(_rule(drawn), 0, drawn.numbers, inputs)
    omega = 2 * np.pi * made.coefficients.reshape(2, 2)
    first = drawn.names(inputs, ["age", "bmi"])[0]
    assert first.startswith("cos(")
    assert f"{abs(omega[0, 0]):.3g}·age" in first
    assert f"{abs(omega[1, 0]):.3g}·bmi" in first
    assert f"{2 * np.pi * made.offsets[0]:.3g})" in first
    assert features("perceptron", [0], size=2).names(inputs, ["a", "b"])[0].startswith("step(")
    many = features("gaussian", [0], size=20).names(np.arange(20, dtype=np.uint64), [f"x{j}" for j in range(20)])[0]
    assert many.count("·x") == 6
    assert "…" in many


def test_user_defined_features() -> None:
    def bump(rows: Any, rng: np.random.Generator) -> Any:
        at = rng.uniform(-1, 1, rows.shape[1])
        return np.exp(-4.0 * ((rows.toarray() - at) ** 2).sum(axis=1))

    x = np.random.default_rng(3).uniform(-1, 1, size=(500, 2))
    y = np.exp(-4.0 * (x**2).sum(axis=1))
    found = th.select(x, y, method="sparse-rf", loss="squared", lam=1e-3, draws=50, max_iter=2,
                      kernel=th.RandomFeatures(bump, "bump"), test=(x, y))  # fmt: skip
    assert found.provenance["test"]["r2"] > 0.95
    assert found.names[0].startswith("bump ")
    with pytest.raises(th.SettingsError, match="pickle"):
        found.save("nowhere.thr")
    with pytest.raises(th.DataError, match="one finite number"):
        th.select(x, y, method="sparse-rf", loss="squared", kernel=th.RandomFeatures(lambda rows, rng: np.nan))
    with pytest.raises(th.SettingsError, match="must be callable"):
        th.RandomFeatures(3)  # type: ignore[arg-type]
