"""What people read below the table of features."""

import numpy as np
import pytest

import thresher as th
from thresher.core.memory import MB
from thresher.core.progress import Progress
from thresher.report.table import memory_line, show_scores


@pytest.mark.parametrize(
    ("scores", "shown"),
    [
        (
            {"rows": 2027, "accuracy": 0.912, "auc": 0.96104, "average_precision": 0.88, "log_loss": 0.21},
            "accuracy 0.9120, AUC 0.9610, average precision 0.8800, log loss 0.2100 (2,027 rows)",
        ),
        ({"rows": 3, "rmse": 12345678.9, "r2": -0.5, "loss": 0.0}, "RMSE 1.235e+07, R² -0.5000, loss 0.0000 (3 rows)"),
        ({"rmse": 0.000123456, "loss": float("inf")}, "RMSE 0.0001235, loss inf"),
        ({"rows": 3, "rmse": None}, "RMSE not finite (3 rows)"),  # as it comes back from a file
        (
            {"micro_f1": 0.5, "macro_f1": 0.25, "hamming_accuracy": 1.0},
            "micro F1 0.5000, macro F1 0.2500, hamming accuracy 1.0000",
        ),
        ({"balanced_accuracy": 0.75}, "balanced accuracy 0.7500"),
    ],
)
def test_scores_as_people_write_them(scores, shown):
    assert show_scores(scores) == shown


@pytest.mark.parametrize(
    ("provenance", "grown", "mapped", "shown"),
    [
        ({"plan": {"memory": 64 * MB, "total": 45 * MB}}, 38, 9, "64.0 MB allowed, 45.0 MB planned, 38.0 MB used"),
        (
            {"plan": {"memory": 8 * MB, "total": 6 * MB}},
            10,
            5,
            "8.0 MB allowed, 6.0 MB planned, 10.0 MB used; 4.0 MB more than planned: 5.0 MB of program code and mapped "
            "files",
        ),
        (
            {"plan": {"memory": 8 * MB, "total": 6 * MB}},
            10,
            0,
            "8.0 MB allowed, 6.0 MB planned, 10.0 MB used; 4.0 MB more than planned: Python's own objects, and rows "
            "larger than a buffer",
        ),
        (
            {"plan": {"memory": 0, "total": 20 * MB, "seen": 0}, "seen": {"features": 1000, "bytes": 100 * MB}},
            120,
            0,
            "no limit set, 20.0 MB planned and 100.0 MB for the 1,000 features seen, 120.0 MB used",
        ),
    ],
)
def test_memory_over_the_plan_is_explained(provenance, grown, mapped, shown):
    run = Progress(1, 1, 1, 1, 0, None, 1, None, 1.0, grown * MB, mapped * MB)
    assert memory_line(provenance, run) == shown


def test_a_budgeted_method_without_memory_states_no_limit():
    data = [[1.0, 0.0], [0.0, 1.0]] * 5, [1, 0] * 5
    assert th.select(*map(np.array, data), k=1, method="b-arda").provenance["plan"]["memory"] == 0
    assert th.select(*map(np.array, data), k=1, method="b-arda", memory="16MB").provenance["plan"]["memory"] == 16 * MB
    assert th.select(*map(np.array, data), k=1).provenance["plan"]["memory"] == 64 * MB
