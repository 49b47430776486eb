"""What people read below the table of features."""

import pytest

from thresher.report.table import show_scores


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
