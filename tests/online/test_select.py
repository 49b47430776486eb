"""th.select from data to named features: reproducibility, resumption, and rejected settings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from tests.streams import planted, planted_outputs, write_libsvm, write_vw
from thresher.core.memory import Progress
from thresher.online.engine import OnlineSettings
from thresher.online.run import OnlineRun
from thresher.run import RunOptions

SUPPORT = (3, 77, 200, 399)
X, Y = planted(support=SUPPORT)


@pytest.fixture(scope="module")
def vw_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vw(tmp_path_factory.mktemp("stream") / "rows.vw", X, Y)


@pytest.fixture(scope="module")
def few_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough rows for many batches, where only the bits count."""
    return write_vw(tmp_path_factory.mktemp("stream") / "rows.vw", X[:900], Y[:900])


def saved_bytes(selection: th.Selection, path: Path) -> bytes:
    selection.save(path)
    return path.read_bytes()


METHODS: tuple[dict[str, Any], ...] = (
    {"method": "mission"},
    {"method": "mission", "active": "sketch"},
    {"method": "mission", "minibatch": 10},
    {"method": "iht"},
    {"method": "batch-iht", "sketch": (1, 300)},
)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_planted_support_is_found_and_named(vw_file: Path, tmp_path: Path, method: dict[str, Any]) -> None:
    svm = write_libsvm(tmp_path / "rows.svm", X, Y)
    for data, names in (
        ((X, Y), {f"x{j}" for j in SUPPORT}),
        ((X.toarray(), Y), {f"x{j}" for j in SUPPORT}),
        ((vw_file,), {f"column-{j}" for j in SUPPORT}),
        ((svm,), {f"{j + 1}" for j in SUPPORT}),
    ):
        selection = th.select(*data, k=40, passes=3, refit=False, **method)
        assert set(selection.names[:4]) == names
        assert selection.named == len(selection) == 40
        signs = {name: weight > 0 for name, weight in zip(selection.names, selection.weights, strict=True)}
        ordered = sorted(names, key=lambda name: int("".join(c for c in name if c.isdigit())))
        assert [signs[name] for name in ordered] == [True, False, True, False]


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("shuffle", [True, False])
def test_same_bits_for_any_batch_size(few_rows: Path, tmp_path: Path, shuffle: bool, method: dict[str, Any]) -> None:
    how: dict[str, Any] = {"k": 20, "passes": 2, "refit": False, "memory": "4MB", "shuffle": shuffle, **method}
    some = 1 if method is METHODS[0] else 7
    answers = {saved_bytes(th.select(few_rows, batch_rows=rows, **how), tmp_path / "s") for rows in (some, 300, 10**6)}
    assert len(answers) == 1


def test_the_seed_decides(vw_file: Path, tmp_path: Path) -> None:
    answers = (th.select(vw_file, k=20, memory="4MB", random_state=seed) for seed in (1, 1, 2))
    first, again, other = (saved_bytes(answer, tmp_path / "s") for answer in answers)
    assert first == again != other


def test_files_and_compressed_files_give_the_same_weights(vw_file: Path, tmp_path: Path) -> None:
    """In the order of the file: a plain file is shuffled in blocks, which a compressed one has not."""
    import gzip

    packed = tmp_path / "rows.vw.gz"
    packed.write_bytes(gzip.compress(vw_file.read_bytes()))
    plain, inflated = (th.select(path, k=20, shuffle=False) for path in (vw_file, packed))
    np.testing.assert_array_equal(plain.weights, inflated.weights)
    assert plain.names == inflated.names


class _StopAt:
    """A progress callback that raises KeyboardInterrupt after a number of batches."""

    def __init__(self, batches: int) -> None:
        self.left = batches

    def __call__(self, progress: Progress) -> None:
        self.left -= not progress.phase
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize(
    ("data", "method"),
    [
        ("vw", METHODS[0]),
        ("vw", METHODS[2]),
        ("arrays", METHODS[1]),
        ("arrays", {"lazy": 0.2, "l2": 0.1, "decay": 0.9}),
    ],
    ids=str,
)
def test_an_interrupted_run_resumes_to_the_same_bits(
    few_rows: Path, tmp_path: Path, shuffle: bool, data: str, method: dict[str, Any]
) -> None:
    given: Any = (few_rows,) if data == "vw" else (X[:900], Y[:900])
    how: dict[str, Any] = {"k": 20, "passes": 2, "refit": False, "memory": "4MB", "shuffle": shuffle, "batch_rows": 30}
    how |= {"memory": "8MB", **method}
    checkpoint = tmp_path / "run.ckpt"
    whole = saved_bytes(th.select(*given, **how), tmp_path / "whole")
    for stop_at in (1, 13, 29, 30, 31, 55):
        with pytest.raises(th.Interrupted) as caught:
            th.select(*given, **how, checkpoint=checkpoint, progress=_StopAt(stop_at))
        assert isinstance(caught.value.selection, th.Selection)
        assert checkpoint.exists()
        # Batches of another size on the way on: they must not matter either.
        resumed = th.select(*given, **{**how, "batch_rows": 23}, checkpoint=checkpoint)
        assert saved_bytes(resumed, tmp_path / "resumed") == whole
        assert not checkpoint.exists()


@pytest.mark.parametrize("minibatch", [1, 9])
def test_an_interrupt_between_two_rows_of_a_batch_loses_and_repeats_nothing(
    vw_file: Path, tmp_path: Path, minibatch: int
) -> None:
    settings = OnlineSettings(k=20, sketch=(3, 500), minibatch=minibatch, passes=1, refit=False)
    options = RunOptions(memory="64MB", checkpoint=tmp_path / "run.ckpt", batch_rows=100)
    source = th.scan(vw_file)
    run = OnlineRun(source, settings, options)
    step = run.engine.step

    def interrupted_step(batch: Any) -> None:
        if run.engine.rows >= 500:
            step(batch.take(slice(0, 42)))
            raise KeyboardInterrupt
        step(batch)

    run.engine.step = interrupted_step  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        run.run()
    resumed, whole = OnlineRun(source, settings, options), OnlineRun(source, settings, RunOptions(memory="64MB"))
    assert resumed.engine.rows == 542
    resumed.run()
    whole.run()
    state = whole.engine.state()
    for name in state.keys() - {"heap"}:  # bounds that an exact table need not keep
        np.testing.assert_array_equal(state[name], resumed.engine.state()[name], err_msg=name)


_CHILD = """
import sys, thresher as th
data, checkpoint = sys.argv[1:]
def slow(progress):
    print(progress.rows, flush=True)
    import time
    time.sleep(0.01)
th.select(data, k=20, passes=50, memory="4MB", batch_rows=50, checkpoint=checkpoint, every=0.0, progress=slow)
"""


def test_a_killed_run_resumes_to_the_same_bits(vw_file: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "run.ckpt"
    for delay in (0.02, 0.3):
        child = subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(vw_file), str(checkpoint)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        while child.stdout.readline() and not checkpoint.exists():
            pass
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        assert checkpoint.exists()
    how: dict[str, Any] = {"k": 20, "passes": 50, "memory": "4MB"}
    whole = saved_bytes(th.select(vw_file, **how), tmp_path / "whole")
    resumed = saved_bytes(th.select(vw_file, **how, checkpoint=checkpoint), tmp_path / "resumed")
    assert resumed == whole


def test_a_checkpoint_of_another_run_is_refused(vw_file: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "run.ckpt"
    with pytest.raises(th.Interrupted):
        th.select(vw_file, k=20, batch_rows=100, checkpoint=checkpoint, progress=_StopAt(3))
    before = checkpoint.read_bytes()
    with pytest.raises(th.ResumeError, match=r"k: 20 there, 21 now"):
        th.select(vw_file, k=21, checkpoint=checkpoint)
    other = tmp_path / "other.vw"
    other.write_text(vw_file.read_text().replace("column-3:", "column-4:", 1))
    with pytest.raises(th.ResumeError, match=r"data: "):
        th.select(other, k=20, checkpoint=checkpoint)
    assert checkpoint.read_bytes() == before
    assert len(th.select(other, k=20, checkpoint=checkpoint, restart=True)) == 20


def test_scores_and_holding_out(vw_file: Path) -> None:
    selection = th.select(vw_file, k=40, passes=3, refit=False, holdout=0.25)
    held = selection.provenance["test"]
    assert 600 < held["rows"] < 900
    assert held["rows"] + selection.provenance["rows"] / 3 == 3000
    assert held["accuracy"] > 0.8
    assert th.select(vw_file, k=40, test=vw_file).provenance["test"]["rows"] == 3000
    in_memory = th.select(X, Y, k=40, test=(X, Y)).provenance["test"]
    assert in_memory["rows"] == 3000
    with pytest.raises(th.SettingsError, match="not both"):
        th.select(vw_file, k=4, test=vw_file, holdout=0.5)


def test_weights_count_as_repetition_does() -> None:
    """Weighting the positive class by two at half the step moves the weights as far as the plain step for it."""
    doubled = th.select(X, Y, k=400, step=0.1, shuffle=False, class_weight={1.0: 2.0}, fit_intercept=False)
    sampled = th.select(
        X, Y, k=400, step=0.1, shuffle=False, sample_weight=np.where(Y > 0, 2.0, 1.0), fit_intercept=False
    )
    plain = th.select(X, Y, k=400, step=0.1, shuffle=False, fit_intercept=False)
    np.testing.assert_array_equal(doubled.weights, sampled.weights)
    assert not np.array_equal(doubled.weights, plain.weights)
    few = Y.copy()
    few[: len(few) // 2] = -1
    balanced = th.select(X, few, k=50, class_weight="balanced")
    counts = {label: int((few == label).sum()) for label in (-1.0, 1.0)}
    expected = {label: len(few) / (2 * count) for label, count in counts.items()}
    np.testing.assert_array_equal(balanced.weights, th.select(X, few, k=50, class_weight=expected).weights)


def test_regression_by_squared_and_huber_loss() -> None:
    target = X[:, [3, 77]] @ np.array([2.0, -3.0])
    for loss in ("squared", "huber:0.5"):
        selection = th.select(X, target, k=30, loss=loss, passes=20, test=(X, target))
        assert set(selection.names[:2]) == {"x3", "x77"}
        assert selection.classes is None
        assert selection.provenance["test"]["r2"] > 0.9


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "at least 1"),
        ({"k": 5, "method": "magic"}, "unknown method"),
        ({"k": 10**7, "memory": "64MB"}, "does not fit"),
        ({"k": 5, "memory": "lots"}, "not a size"),
        ({"k": 5, "passes": 0}, "at least 1"),
        ({"k": 5, "active": "maybe"}, "active"),
        ({"k": 5, "sketch": (0, 5)}, "rows, width"),
        ({"k": 5, "sketch": (3, 10**8)}, "smaller `k` or `sketch`"),
        ({"k": 5, "method": "iht", "sketch": (3, 100)}, "no sketch"),
        ({"k": 5, "shuffle": "maybe"}, "shuffle"),
        ({"k": 5, "loss": "nope"}, "unknown loss"),
        ({"k": 5, "holdout": 1.5}, "between 0 and 1"),
        ({"k": 5, "minibatch": 0}, "minibatch"),
        ({"k": 5, "l2": -1.0}, "l2"),
        ({"k": 5, "decay": 2.0}, "decay"),
        ({"k": 5, "lazy": 1.0}, "lazy"),
        ({"k": 5, "step": "long"}, "positive number"),
        ({"k": 5, "step": "adaptive", "active": "sketch"}, "does not support adaptive steps"),
        ({"k": 5, "multilabel": True, "loss": "squared", "classes": ["a", "b"]}, "must be binary"),
        ({"k": 5, "class_weight": "heavy"}, "balanced"),
        ({"k": 5, "class_weight": {1.0: -1.0}}, "not negative"),
    ],
)
def test_settings_are_checked_before_the_first_row(wrong: dict[str, Any], message: str, tmp_path: Path) -> None:
    """The file's only line is malformed: reading it would raise another error."""
    broken = tmp_path / "broken.svm"
    broken.write_text("not a row\n")
    with pytest.raises(th.SettingsError, match=message):
        th.select(broken, **wrong)


def test_a_single_class_is_an_error_at_the_end_of_the_first_pass() -> None:
    with pytest.raises(th.DataError, match="only one class"):
        th.select(X, np.ones(len(Y)), k=5, passes=3)


def test_fewer_features_than_k_are_simply_fewer() -> None:
    selection = th.select(X[:, :10], Y, k=1000)
    assert len(selection) == 10


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_steps_too_long_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "steep.svm"
    path.write_text("1 1:1e30\n2 1:1e30\n3 1:1e30\n" * 5)
    with pytest.raises(th.DataError, match=r"steep.svm, line \d+: the prediction became"):
        th.select(path, k=3, loss="squared", step=1e300, shuffle=False)


# ── several classes, several labels ──────────────────────────────────────────────────────────────

SEVERAL, MARGINS = planted_outputs()
NUMBERS = MARGINS.argmax(axis=1)
NAMED = np.array(["ant", "bee", "cow"], object)[NUMBERS]


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("labels", [NUMBERS, NAMED, NUMBERS * 2.5 - 1], ids=["numbers", "words", "floats"])
def test_several_classes(labels: Any, per_class: bool) -> None:
    how: dict[str, Any] = {"k": 12, "loss": "softmax", "passes": 5, "per_class": per_class}
    selection = th.select(SEVERAL, labels, test=(SEVERAL, labels), **how)
    assert selection.classes == sorted({*labels.tolist()})
    assert set(selection.names[:6]) == {f"x{j}" for j in range(6)}
    assert selection.weights.shape == (3, len(selection))
    assert selection.provenance["test"]["accuracy"] > 0.75
    assert (selection.predict(SEVERAL) == labels).mean() > 0.75
    if per_class:
        assert ((selection.weights != 0).sum(axis=1) <= 12).all()
    else:
        assert len(selection) == 12


@pytest.mark.parametrize("per_class", [False, True])
def test_several_labels_per_row(tmp_path: Path, per_class: bool) -> None:
    """From a file whose rows have none to three labels."""
    path, wanted = tmp_path / "labels.svm", MARGINS > 0
    write_libsvm(path, SEVERAL, [",".join(str(c) for c in np.flatnonzero(row)) for row in wanted])
    how: dict[str, Any] = {"k": 12, "multilabel": True, "passes": 5, "refit": False, "per_class": per_class}
    selection = th.select(path, test=path, **how)
    assert selection.classes == [0.0, 1.0, 2.0]
    assert selection.multilabel
    assert set(selection.names[:6]) == {f"{j + 1}" for j in range(6)}
    assert selection.provenance["test"]["hamming_accuracy"] > 0.7  # half the margins are noise around 0
    assert selection.provenance["progressive"]["rows"] == 5 * len(MARGINS)
    assert (selection.predict(path) == wanted).mean() > 0.7
    named = th.select(path, classes=[2, 0, 1], **how)
    np.testing.assert_array_equal(named.weights, selection.weights)


@pytest.mark.parametrize("several", [{"loss": "softmax"}, {"loss": "softmax", "per_class": True, "minibatch": 4}])
def test_several_classes_interrupted_resume_to_the_same_bits(tmp_path: Path, several: dict[str, Any]) -> None:
    how: dict[str, Any] = {"k": 8, "memory": "4MB", "batch_rows": 100, **several}
    checkpoint = tmp_path / "run.ckpt"
    whole = saved_bytes(th.select(SEVERAL, NAMED, **how), tmp_path / "whole")
    with pytest.raises(th.Interrupted) as caught:
        th.select(SEVERAL, NAMED, **how, checkpoint=checkpoint, progress=_StopAt(4))
    assert isinstance(caught.value.selection, th.Selection)
    resumed = th.select(SEVERAL, NAMED, **{**how, "batch_rows": 77}, checkpoint=checkpoint)
    assert saved_bytes(resumed, tmp_path / "resumed") == whole


def test_classes_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(th.DataError, match="none of the known classes"):
        th.select(SEVERAL, NUMBERS, k=5, loss="softmax", classes=[0, 1])
    with pytest.raises(th.DataError, match="two or more"):
        th.select(SEVERAL, np.zeros(len(NUMBERS)), k=5, loss="softmax")
    with pytest.raises(th.DataError, match="softmax"):
        th.select(SEVERAL, NUMBERS, k=5, loss="logistic")
    path = write_libsvm(tmp_path / "labels.svm", SEVERAL, ["0,1"] * len(NUMBERS))
    with pytest.raises(th.DataError, match="multilabel=True"):
        th.select(path, k=5, loss="softmax", classes=[0, 1])
    with pytest.raises(th.DataError, match="none of the known ones"):
        th.select(path, k=5, multilabel=True, classes=[0, 2])


def test_hashing_learns_and_selects_nothing() -> None:
    selection = th.select(X, Y, k=5, method="hashing", passes=3, test=(X, Y))
    assert all(name.startswith("bucket ") for name in selection.names)
    assert selection.provenance["test"]["accuracy"] > 0.7
    assert selection.provenance["progressive"]["accuracy"] > 0.7
