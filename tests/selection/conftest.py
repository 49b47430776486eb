"""Rows and weights that the tests of this folder share."""

import numpy as np
import pytest

from tests.selection.makers import K, N, P


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(N, P)) * (rng.random((N, P)) < 0.6)).astype(np.float32)
    columns = rng.permutation(P)[:K]
    return x, columns, rng.normal(size=K)
