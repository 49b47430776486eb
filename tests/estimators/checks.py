"""scikit-learn's own checks of an estimator, all in one go."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.utils.estimator_checks import check_estimator


def assert_it_passes(estimator: Any, expected_to_fail: dict[str, str] | None = None) -> None:
    """Fail if a check fails, or if one passes that is expected to fail; ``expected_to_fail`` gives the reasons.

    One test an estimator: with `parametrize_with_checks`, setting up takes about as long as most checks.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # what the checks themselves warn of is theirs
        results = check_estimator(estimator, expected_failed_checks=expected_to_fail, on_skip=None, on_fail=None)
    assert len(results) > 40
    wrong = {
        result["check_name"]: result["exception"] or "it passes, but is expected to fail"
        for result in results
        if result["status"] == "failed" or (result["status"] == "passed" and result["expected_to_fail"])
    }
    assert not wrong, wrong
