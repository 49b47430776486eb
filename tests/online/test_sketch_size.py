"""A sketch of the suggested size has the requested error."""

import doctest

import numpy as np
import pytest

from thresher import _native
from thresher.errors import SettingsError
from thresher.online import sketch_size
from thresher.online.sketch_size import suggest_size


def test_example():
    assert doctest.testmod(sketch_size).failed == 0


@pytest.mark.parametrize(("error", "failure"), [(0.05, 0.2), (0.1, 0.02), (0.03, 0.3)])
def test_error_bound(error, failure):
    rows, width = suggest_size(error, failure)
    rng = np.random.default_rng(1)
    keys = rng.integers(0, 2**62, 5000, dtype=np.uint64)
    truth = rng.standard_cauchy(5000)
    sketch = _native.CountSketch(rows, width, 3)
    sketch.add(keys, truth)
    off = np.abs(sketch.query(keys) - truth) > error * np.linalg.norm(truth)
    assert off.mean() <= failure


def test_smaller_errors_take_more_cells():
    cells = [np.prod(suggest_size(error, failure)) for error, failure in [(0.1, 0.1), (0.1, 0.01), (0.01, 0.01)]]
    assert cells[0] < cells[1] < cells[2]


@pytest.mark.parametrize(("error", "failure"), [(0, 0.1), (1, 0.1), (0.1, 0), (0.1, 1), (float("nan"), 0.1)])
def test_invalid_arguments(error, failure):
    with pytest.raises(SettingsError):
        suggest_size(error, failure)
