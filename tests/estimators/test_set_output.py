"""`set_output`: the selected columns as a data frame, whatever the data is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import thresher as th

N = 120


def mixed() -> tuple[dict[str, Any], np.ndarray]:
    """Numbers, categories and dates."""
    rng = np.random.default_rng(0)
    city = rng.choice(["Oslo", "Rome", "Bern"], N)
    age = rng.normal(size=N)
    day = np.datetime64("2024-01-01") + rng.integers(0, 300, N)
    return {"age": age, "city": city.tolist(), "day": day.astype("datetime64[us]")}, (city == "Oslo") | (age > 1)


@pytest.mark.parametrize("k", [2, 12])
@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_mixed_frames(package: str, k: int) -> None:
    """Before, more features than columns were a sparse matrix, which scikit-learn cannot put into a frame."""
    frames = pytest.importorskip(package)
    columns, y = mixed()
    X = frames.DataFrame(columns)
    model = th.MissionClassifier(k=k, passes=3).set_output(transform=package)
    out = model.fit_transform(X, y)
    assert isinstance(out, frames.DataFrame)
    assert list(out.columns) == model.get_feature_names_out().tolist()
    plain = th.MissionClassifier(k=k, passes=3).fit(X, y).transform(X)
    plain = plain.toarray() if hasattr(plain, "toarray") else plain
    np.testing.assert_array_equal(out.to_numpy(), plain)
    assert "city=Oslo" in out.columns
    chained = make_pipeline(th.MissionClassifier(k=k, passes=3), th.MissionClassifier(k=2)).set_output(
        transform=package
    )
    assert chained.fit(X, y).score(X, y) > 0.7


def test_the_index_of_pandas_stays() -> None:
    pandas = pytest.importorskip("pandas")
    columns, y = mixed()
    X = pandas.DataFrame(columns, index=[f"row{i}" for i in range(N)])
    out = th.MissionClassifier(k=12).set_output(transform="pandas").fit(X, y).transform(X)
    assert out.index.equals(X.index)


def test_other_data() -> None:
    """Sparse matrices and texts too."""
    pandas, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    X = sparse.random_array((N, 30), density=0.3, rng=np.random.default_rng(0), format="csr")
    y = np.asarray(X[:, [3]].todense()).ravel() > 0
    out = th.MissionClassifier(k=4).set_output(transform="pandas").fit(X, y).transform(X)
    assert isinstance(out, pandas.DataFrame)
    assert "x3" in out.columns
    texts = ["grand film", "dull plot"] * 20
    words = th.MissionClassifier(k=3).set_output(transform="pandas").fit(texts, [1, 0] * 20)
    assert words.transform(texts).shape == (40, 3)
