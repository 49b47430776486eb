"""One estimator or selection that several threads use: they take turns, and nothing is corrupted."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import thresher as th
from tests.streams import planted

X, Y = planted(rows=1000, width=5000)


def together(*jobs: Callable[[], object]) -> None:
    """Run each job on a thread of its own, and raise what any of them raised."""
    errors: list[BaseException] = []

    def run(job: Callable[[], object]) -> None:
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (th.MissionClassifier, {}),
        (th.MissionClassifier, {"method": "batch-iht"}),
        (th.BudgetedClassifier, {"method": "b-arda"}),
        (th.BudgetedClassifier, {"method": "l1-arda", "lam": 0.01}),
        (th.BudgetedClassifier, {"tune": True}),
    ],
    ids=["mission", "batch-iht", "b-arda", "l1-arda", "tuned"],
)
def test_partial_fit_of_the_same_estimator(kind: Any, settings: dict[str, Any]) -> None:
    model = kind(k=20, **settings)
    times = 4

    def learn() -> None:
        for _ in range(times):
            model.partial_fit(X, Y, classes=[-1, 1])

    def use() -> None:
        for _ in range(times):
            if hasattr(model, "classes_"):
                pickle.loads(pickle.dumps(model))
            if hasattr(model, "_fitted"):
                assert np.isfinite(model.decision_function(X[:50])).all()

    together(learn, learn, use)
    assert model.selection_.provenance["rows"] == 2 * times * X.shape[0]
    assert np.isfinite(model.coef_).all()


def test_the_lock_is_released_after_an_error_and_does_not_travel() -> None:
    model = th.MissionClassifier(k=5)
    with pytest.raises(ValueError, match="inconsistent"):
        model.partial_fit(X, Y[:-1])
    together(lambda: model.partial_fit(X, Y))
    for copy in (clone(model).fit(X, Y), pickle.loads(pickle.dumps(model))):
        together(lambda copy=copy: copy.partial_fit(X, Y))  # type: ignore[misc]
        assert len(copy.selection_) == 5


def test_fit_of_the_same_estimator() -> None:
    model = th.SparseRFClassifier(kernel="gaussian", gamma=0.1, lam=5.0, draws=20, max_iter=3)
    x = X[:300, :50].toarray()
    expected = clone(model).fit(x, Y[:300]).coef_
    together(*[lambda: model.fit(x, Y[:300], validation=(x, Y[:300]))] * 3)
    np.testing.assert_array_equal(model.fit(x, Y[:300]).coef_, expected)


def test_prediction_with_the_same_random_features() -> None:
    x = np.random.default_rng(0).normal(size=(2000, 60)).astype(np.float32)
    found = th.select(x, x[:, 0] > 0, method="sparse-rf", gamma=0.02, lam=0.5, draws=100, max_iter=1)
    expected = found.decision_function(x)

    def predict() -> None:
        for _ in range(8):
            np.testing.assert_array_equal(found.decision_function(x), expected)

    together(predict, predict, predict, predict)
