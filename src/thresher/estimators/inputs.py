"""What users hand to an estimator, checked as scikit-learn does, and made a source."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_X_y, validate_data

from thresher.errors import DataError
from thresher.sources.base import Source
from thresher.sources.dataframes import frame_kind
from thresher.sources.registry import as_source, is_stored


def training_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool, **targets: bool
) -> tuple[Source, Any]:
    """The rows to learn from, and their targets as an array (None where the source brings them).

    ``reset`` notes the number and names of the columns on the estimator, otherwise they are compared with what
    is noted there. ``targets`` are scikit-learn's ``multi_output`` and ``y_numeric``.
    """
    if is_stored(X):
        source = as_source(X, y, weight=sample_weight)
        if reset:
            _note_size(estimator, source)
        return source, None
    if frame_kind(X) is not None:
        X = checked_rows(estimator, X, reset=reset)
        # A frame may hold words and gaps, which is no matter for scikit-learn: it checks y against one column of zeros.
        _, y = check_X_y(np.zeros((len(X), 1)), y, estimator=estimator, **targets)
    else:
        # What is no number is found, and its place told, when the rows are gone through.
        X, y = validate_data(estimator, X, y, accept_sparse="csr", reset=reset, ensure_all_finite=False, **targets)
    return as_source(X, y, weight=sample_weight), y


def checked_rows(estimator: Any, X: Any, *, reset: bool = False) -> Any:
    """Rows without targets: paths and sources as they are, the rest checked against the columns of the fit."""
    if is_stored(X):
        return X
    X = X.collect() if hasattr(X, "collect") else X  # a lazy frame of polars
    learned = None if reset or not hasattr(estimator, "_fitted") else estimator._fitted.space.kind
    if frame_kind(X) is not None and learned != "column":
        return validate_data(estimator, X, skip_check_array=True, reset=reset)
    X = validate_data(estimator, X, accept_sparse="csr", reset=reset)
    names = getattr(estimator, "feature_names_in_", None)
    # scikit-learn has warned by now, and goes by position where one of fit and this had names. So do we.
    return _named(X, names) if learned == "token" and names is not None and not hasattr(X, "tocsr") else X


def seed_of(random_state: Any) -> int:
    """None is 0, a number is itself, and anything else that scikit-learn knows gives a number."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def check_labels(y: Any, classes: Any) -> None:
    """Raise unless every label is one of the classes."""
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        known = ", ".join(map(str, classes[:10])) + (" …" if len(classes) > 10 else "")
        raise DataError(
            f"the label {unknown[0]} is none of the known classes, {known}: name them all in the first call, "
            "partial_fit(X, y, classes=[…])."
        )


def _named(X: Any, names: Any) -> Any:
    """A matrix as the table that has its columns under these names."""
    import pyarrow as pa

    return pa.table({name: X[:, j] for j, name in enumerate(names)})


def _note_size(estimator: Any, source: Source) -> None:
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            delattr(estimator, name)
    if source.space.size is not None:
        estimator.n_features_in_ = source.space.size
