"""The share of rows that hold a selected feature."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

import thresher as th
from thresher.cli.main import make_app
from thresher.selection.coverage import rows_of_test, show_share


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """Rows of a common word, or, one in four, of a rare one; each has a word of its own."""
    path = tmp_path / "words.vw"
    common = ["bad", "good"]
    lines = [f"{2 * (i % 2) - 1} | n{i} {f'rare{i}' if i % 4 == 3 else common[i % 2]}" for i in range(400)]
    path.write_text("\n".join(lines))
    return path


def _of_predictions(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == "thresher.selection.predictions"]


def test_the_share_of_the_held_out_rows(words: Path) -> None:
    for how in ({"holdout": 0.3}, {"test": words}):
        found = th.select(words, k=2, passes=3, **how)  # type: ignore[arg-type]
        assert sorted(found.names) == ["bad", "good"]
        share = found.provenance["covered"]
        assert share == 0.75 if "test" in how else 0.5 < share < 1
        assert ("holdout" in found.provenance) == ("holdout" in how)
    assert rows_of_test(found.provenance) == "75 % of the rows hold at least one selected feature"


def test_commands_say_it(words: Path, tmp_path: Path) -> None:
    run, model = CliRunner().invoke, str(tmp_path / "m.thr")
    shown = run(make_app(), ["select", str(words), "-k", "2", "--passes", "3", "--holdout", "0.3", "-o", model]).output
    assert "tested on    30 % of the rows, chosen by a hash of their content; " in shown
    assert "% of the rows hold at least one selected feature" in shown
    assert "tested on" in run(make_app(), ["inspect", model]).output


def test_predictions_without_any_feature_are_a_warning(
    words: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = th.select(words, k=2, passes=3)
    strange = tmp_path / "strange.vw"
    strange.write_text("| other\n| words\n")
    with caplog.at_level(logging.INFO):
        assert len(set(model.predictions(strange)["prediction"])) == 1
    (record,) = _of_predictions(caplog)
    assert record.levelno == logging.WARNING
    assert "strange.vw: no row holds a selected feature, so every prediction is the intercept alone" in record.message
    caplog.clear()
    with caplog.at_level(logging.INFO):
        model.predictions(words)
    assert [(r.levelno, r.message.partition(": ")[2]) for r in _of_predictions(caplog)] == [
        (logging.INFO, "75 % of the rows hold at least one selected feature")
    ]


def test_nothing_is_said_where_every_row_has_all_features(caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 8))
    y = x[:, 1] > 0
    for more in ({}, {"method": "sparse-rf", "kernel": "gaussian", "gamma": 0.1, "lam": 1}):
        found = th.select(x, y, k=2, holdout=0.2, **more)  # type: ignore[arg-type]
        assert "covered" not in found.provenance
    with caplog.at_level(logging.INFO):
        th.select(x, y, k=2).predictions(np.zeros((3, 8)))
    assert _of_predictions(caplog) == []
    assert th.select(sp.csr_matrix(x), y, k=2, holdout=0.2).provenance["covered"] == 1.0


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.97, "97 %"), (0.5, "50 %"), (0.9999, "99.9 %"), (0.995, "99.5 %"), (1e-6, "0.1 %"), (0.0, "no row holds")],
)
def test_a_share_is_never_rounded_to_all_or_none(share: float, shown: str) -> None:
    assert show_share(share).startswith(shown)
