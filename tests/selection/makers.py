"""Selections of given weights, and their comparison."""

import numpy as np

from thresher.core.feature_space import FeatureSpace
from thresher.core.losses import get_loss
from thresher.selection.file import current_settings
from thresher.selection.selection import Selection

ARRAYS = ("keys", "weights", "bounds", "counts", "intercept")


N, P, K = 60, 9, 4


def make(weights, *, keys=None, names=None, intercept=(0.25,), loss="logistic", classes=(0.0, 1.0), space=None):
    """A selection of given weights; the rest is filled in."""
    weights = np.asarray(weights, dtype=np.float64)
    k = weights.shape[-1]
    loss = get_loss(loss)
    return Selection(
        names=[f"f{i}" for i in range(k)] if names is None else names,
        keys=np.arange(k, dtype=np.uint64) if keys is None else np.asarray(keys, dtype=np.uint64),
        weights=weights,
        bounds=np.zeros(k),
        counts=np.ones(k, np.uint64),
        intercept=np.asarray(intercept, dtype=np.float64),
        loss=loss,
        classes=None if loss.task == "real" else list(classes),
        space=space or FeatureSpace("token"),
    )


def assert_same(a, b):
    """Equal in every part, arrays to the bit."""
    for name in ARRAYS:
        left, right = getattr(a, name), getattr(b, name)
        assert left.dtype == right.dtype
        assert left.shape == right.shape
        assert left.tobytes() == right.tobytes()
    for name in ("names", "loss", "classes", "space", "provenance"):
        assert getattr(a, name) == getattr(b, name)
    assert current_settings(a.settings) == current_settings(b.settings)
