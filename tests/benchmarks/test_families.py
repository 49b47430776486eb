"""The parts of the benchmarks of families, on data of a size for tests."""

from __future__ import annotations

import numpy as np
import pytest

import thresher as th
from benchmarks.fgm import families, families_kernels


def test_planted_products_are_found_and_by_hand_is_the_same() -> None:
    data = families.planted(20_000, 20_000, 12, 2)
    residual = data.y - data.y.mean()
    family = th.Polynomial(2).build(families.stored(data.x))
    (found,) = family.top(residual[None, :], 20)
    parts = [term.parts for term in family.expansion(found.ids).terms]
    scores = families.by_hand(data.x, residual, np.unique(np.ravel(data.products)))
    for product in data.products:
        assert product in parts
        assert np.isclose(found.scores[parts.index(product)] / data.x.shape[0], scores[product])


def test_scipy_s_products_are_ours() -> None:
    x = families.compressed(families.zipf(500, 80, 9, np.random.default_rng(0)), 80)
    residual = np.random.default_rng(1).normal(size=500)
    family = th.Polynomial(2, r=0.0).build(families.stored(x, unit=False))
    assert np.allclose(family.top(residual[None, :], 10)[0].scores, families.by_scipy(x, residual, 10))


@pytest.mark.parametrize("name", ["HIK", "Gaussian", "chi2"])
def test_groups_formed_for_the_baseline_are_ours(name: str) -> None:
    import scipy.sparse as sp

    dense = sp.random(50, 6, 0.5, random_state=0, dtype=np.float32).toarray()
    dense[0, 0] = 1.0  # the range that the maps are made for is [0, 1]
    x = sp.csr_matrix(dense)
    family = families_kernels.FAMILIES[name]
    largest = np.asarray(x.max(axis=0).todense()).ravel()
    formed = families_kernels.formed(family, x, largest).toarray()
    mine = family.build(families.stored(x, unit=False))
    (found,) = mine.top(np.ones((1, 50)), 6)
    columns = mine.columns(found.ids)
    width = formed.shape[1] // 6
    for i, key in enumerate(found.ids.tolist()):
        column = mine.known[key][0]
        for b in range(width):
            dense = np.zeros(50)
            a, z = columns.indptr[i * width + b : i * width + b + 2]
            dense[columns.rows[a:z]] = columns.values[a:z] * columns.scales[i * width + b]
            assert np.allclose(dense, formed[:, column * width + b], atol=1e-5)
