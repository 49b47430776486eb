"""Validation of the estimators' inputs with scikit-learn's checks, and their conversion to sources."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_X_y, validate_data

from thresher.errors import DataError
from thresher.sources.base import Source
from thresher.sources.dataframes import are_texts, frame_kind
from thresher.sources.registry import as_source, is_stored, is_text_list


def training_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool, **targets: bool
) -> tuple[Source, Any]:
    """The training rows, and their targets as an array (None if the source contains them).

    With ``reset`` the number and names of the columns are stored on the estimator, otherwise compared with those
    stored. ``targets`` are scikit-learn's ``multi_output`` and ``y_numeric``.
    """
    like = None if reset else estimator._fitted.origin.reading  # further rows are read as the first ones
    if is_stored(X) and not is_text_list(X, y):
        source = as_source(X, y, weight=sample_weight, like=like)
        if reset:
            _set_n_features(estimator, source)
        return source, None
    if are_texts(X):
        _, y = check_X_y(np.zeros((len(X), 1)), y, estimator=estimator, **targets)
        source = as_source(X, y, weight=sample_weight, like=like)
        if reset:
            _set_n_features(estimator, source)
        return source, y
    if frame_kind(X) is not None:
        X = checked_rows(estimator, X, reset=reset)
        # scikit-learn would reject strings and missing values in a frame, so it checks y against a column of zeros.
        _, y = check_X_y(np.zeros((len(X), 1)), y, estimator=estimator, **targets)
    else:
        # The source reports values that are not finite, with their position.
        X, y = validate_data(estimator, X, y, accept_sparse="csr", reset=reset, ensure_all_finite=False, **targets)
    return as_source(X, y, weight=sample_weight, like=like), y


def checked_rows(estimator: Any, X: Any, *, reset: bool = False) -> Any:
    """Validate rows without targets against the columns of the fit; paths, sources and texts are not checked."""
    if is_stored(X) or are_texts(X):
        return X
    X = X.collect() if hasattr(X, "collect") else X  # a lazy frame of polars
    learned = None if reset or not hasattr(estimator, "_fitted") else estimator._fitted.space.kind
    if frame_kind(X) is not None and learned != "column":
        return validate_data(estimator, X, skip_check_array=True, reset=reset)
    X = validate_data(estimator, X, accept_sparse="csr", reset=reset)
    names = getattr(estimator, "feature_names_in_", None)
    # scikit-learn has warned if only one of the two has names, and then matches columns by position. So do we.
    return _named(X, names) if learned == "token" and names is not None and not hasattr(X, "tocsr") else X


def seed_of(random_state: Any) -> int:
    """The seed of a scikit-learn ``random_state``; None is 0."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def check_labels(y: Any, classes: Any) -> None:
    """Raise if a label is not one of the classes."""
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        known = ", ".join(map(str, classes[:10])) + (" …" if len(classes) > 10 else "")
        raise DataError(
            f"the label {unknown[0]} is none of the known classes ({known}): pass all classes in the first call, "
            "partial_fit(X, y, classes=[…])."
        )


def _named(X: Any, names: Any) -> Any:
    """A matrix as a table with these column names."""
    import pyarrow as pa

    return pa.table({name: X[:, j] for j, name in enumerate(names)})


def _set_n_features(estimator: Any, source: Source) -> None:
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            delattr(estimator, name)
    if source.space.size is not None:
        estimator.n_features_in_ = source.space.size
