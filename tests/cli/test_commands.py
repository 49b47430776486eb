"""Every command, as a user runs it: output, exit codes, and mistakes on purpose."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import thresher as th
from tests.streams import planted, planted_outputs, write_libsvm, write_vw
from thresher.cli.main import make_app
from thresher.report.text import print_selection

X, Y = planted(rows=1500)
GROUPS = [("column-3", "column-77"), ("column-1", "column-2", "column-3")]
COMMANDS = ("select", "predict", "inspect", "compare", "stand-ins", "report", "plan", "convert", "locate", "demo")


def run(*args: object) -> Result:
    return CliRunner().invoke(make_app(), [str(arg) for arg in args])


def program(*args: object, **options: object) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own."""
    command = [sys.executable, "-c", "from thresher.cli.main import main; main()", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)  # type: ignore[call-overload,no-any-return]


@pytest.fixture
def vw(tmp_path: Path) -> Path:
    return write_vw(tmp_path / "rows.vw", X, Y)


@pytest.fixture
def thr(tmp_path: Path, vw: Path) -> Path:
    path = tmp_path / "rows.thr"
    assert run("select", vw, "-k", 30, "-o", path).exit_code == 0
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command: str) -> None:
    shown = run(command, "--help")
    assert shown.exit_code == 0
    assert f"thresher {command}" in shown.output.replace("Usage: thresher", "")


def test_the_program_itself() -> None:
    assert program("--version").stdout.strip() == f"thresher {th.__version__}"
    shown = program("--help").stdout
    assert all(command in shown for command in COMMANDS)
    assert program().returncode == 2


def test_a_terminal_shows_what_a_file_gets(
    thr: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = th.load(thr)
    print_selection(model, top=7)
    plain = capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")
    print_selection(model, top=7)
    styled = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert [line.split() for line in styled.splitlines()] == [line.split() for line in plain.splitlines()]
    assert "… and 23 more" in plain


def test_select_ends_with_the_named_features_and_the_facts(vw: Path, tmp_path: Path) -> None:
    shown = run(
        "select", vw, "-k", 30, "--test", vw, "--passes", 2, "--no-refit", "--top", 5, "-o", tmp_path / "out.thr"
    )
    assert shown.exit_code == 0
    assert shown.output.count("column-") == 5
    for message in ("30 of 30 named", "held out", "accuracy", "memory", "planned", "used", "time", "out.thr"):
        assert message in shown.output
    (held,) = [line for line in shown.output.splitlines() if line.startswith("held out")]
    assert re.fullmatch(
        r"held out +accuracy 0\.\d{4}, AUC 0\.\d{4}, log loss 0\.\d{4}, ECE 0\.\d{4} \(1,500 rows\)", held
    )
    assert "3,000 rows" in shown.output  # two passes of 1,500


def test_the_command_line_is_th_select(vw: Path, tmp_path: Path) -> None:
    out, own = tmp_path / "out.thr", tmp_path / "own.thr"
    arguments = [
        "--loss",
        "squared_hinge",
        "--step",
        0.1,
        "--passes",
        2,
        "--seed",
        7,
        "--memory",
        "32MB",
        "--no-shuffle",
    ]
    assert run("select", vw, "-k", 12, *arguments, "--class-weight", "1=2,-1=0.5", "-o", out).exit_code == 0
    th.select(
        vw,
        k=12,
        loss="squared_hinge",
        step=0.1,
        passes=2,
        random_state=7,
        memory="32MB",
        shuffle=False,
        class_weight={1.0: 2.0, -1.0: 0.5},
    ).save(own)
    assert out.read_bytes() == own.read_bytes()


def test_predict_writes_a_line_a_row(vw: Path, thr: Path, tmp_path: Path) -> None:
    selection = th.load(thr)
    labels = run("predict", thr, vw).output.split()
    assert labels == [str(label) for label in selection.predict(vw)]
    assert set(labels) == {"1", "-1"}
    margins = np.array(run("predict", thr, vw, "--margin").output.split(), dtype=float)
    np.testing.assert_array_equal(margins, selection.decision_function(vw))
    chances = np.array(run("predict", thr, vw, "--proba").output.split(), dtype=float)
    np.testing.assert_array_equal(chances, selection.predict_proba(vw)[:, 1])
    unlabelled = tmp_path / "new.vw"
    unlabelled.write_text(re.sub(r"^\S+ ", "", vw.read_text(), flags=re.MULTILINE))
    assert run("predict", thr, unlabelled).output.split() == labels


def test_inspect_in_every_form(thr: Path, tmp_path: Path) -> None:
    selection = th.load(thr)
    assert selection.names[0] in run("inspect", thr).output
    rows = list(csv.reader(io.StringIO(run("inspect", thr, "--format", "tsv").output), delimiter="\t"))
    assert rows[0] == ["rank", "name", "key", "weight", "bound", "count"]
    assert [row[1] for row in rows[1:]] == selection.names
    assert [float(row[3]) for row in rows[1:]] == selection.weights.tolist()
    parsed = json.loads(run("inspect", thr, "--format", "json").output)
    assert [feature["name"] for feature in parsed["features"]] == selection.names
    assert run("inspect", thr, "-o", tmp_path / "out.parquet").exit_code == 0
    assert (tmp_path / "out.parquet").stat().st_size > 0
    assert run("inspect", thr, "--format", "xml").exit_code == 2


def test_plan_shows_the_parts_without_learning(vw: Path) -> None:
    shown = run("plan", vw, "-k", 100, "--memory", "16MB")
    assert shown.exit_code == 0
    for part in ("table", "buffers", "shuffle", "total", "16.0 MB", "hashed names"):
        assert part in shown.output
    assert run("plan", vw, "-k", 10**8).exit_code == 2


@pytest.mark.parametrize(
    ("options", "same"),
    [
        (["--interactions", "2"], 2),
        (["--interactions", "column-3,column-77", "--interactions", "column-1, column-2,column-3"], GROUPS),
    ],
)
def test_products_from_selecting_to_predicting(vw: Path, tmp_path: Path, options: list[str], same: object) -> None:
    out = tmp_path / "pairs.thr"
    assert run("select", vw, "-k", 400, *options, "-o", out).exit_code == 0
    own = th.select(vw, k=400, interactions=same)
    assert th.load(out).names == own.names
    assert any(" × " in name for name in own.names)
    lines = run("predict", out, vw, "--margin").stdout.splitlines()
    assert [float(line) for line in lines] == own.decision_function(vw).tolist()
    assert " × " in run("inspect", out, "--format", "tsv").stdout
    planned = run("plan", vw, "-k", 30, *options)
    assert "products" in planned.output


def test_convert_there_and_back(tmp_path: Path, vw: Path) -> None:
    svm = write_libsvm(tmp_path / "rows.svm", X, Y)
    assert run("convert", svm, "-o", tmp_path / "again.svm.gz").exit_code == 0
    # Shuffled, the blocks of a plain file decide the order.
    first, second = (th.select(path, k=20, shuffle=False) for path in (svm, tmp_path / "again.svm.gz"))
    np.testing.assert_array_equal(first.weights, second.weights)
    assert run("convert", vw, "-o", tmp_path / "again.vw").exit_code == 0
    assert th.select(vw, k=20, shuffle=False).names == th.select(tmp_path / "again.vw", k=20, shuffle=False).names
    assert run("convert", vw, "-o", tmp_path / "hashed.svm").exit_code == 0
    hashed = th.select(tmp_path / "hashed.svm", k=20, shuffle=False)
    np.testing.assert_array_equal(np.sort(hashed.keys), np.sort(th.select(vw, k=20, shuffle=False).keys))
    assert run("convert", vw, "-o", tmp_path / "rows.xyz").exit_code == 2


def test_demo_finds_what_it_planted(tmp_path: Path) -> None:
    shown = run("demo", "--rows", 6000, "--keep", tmp_path / "stream.vw")
    assert shown.exit_code == 0
    found, planted_ones = map(int, re.search(r"Found (\d+) of the (\d+)", shown.output).groups())  # type: ignore[union-attr]
    assert found >= 0.7 * planted_ones
    assert (tmp_path / "stream.vw").exists()


@pytest.mark.parametrize(
    ("text", "arguments", "code", "message"),
    [
        ("1 3:x\n", (), 1, r"line 1, column 5.*--on-error skip"),
        ("1 3:1\n1 4:1\n", (), 1, "only one class"),
        ("1 3:1\n0 4:1\n2 5:1\n", ("--loss", "logistic"), 1, "a third one"),
        ("1 3:1\n0 4:1\n", ("--task", "rank"), 2, "--task must be"),
        ("1 3:1\n0 4:1\n", ("--task", "numbers", "--loss", "hinge"), 2, "leave out --loss or --task numbers"),
        ("1 3:1\n0 4:1\n.5 5:1\n", ("--class-weight", "balanced"), 2, "--class-weight needs classes.*--task classes"),
        ("", (), 1, "empty"),
        ("1 3:1\n0 4:1\n", ("-k", "0"), 2, "k must be an integer"),
        ("1 3:1\n0 4:1\n", ("--method", "magic"), 2, "unknown method"),
        ("1 3:1\n0 4:1\n", ("--memory", "many"), 2, "not a size"),
        ("1 3:1\n0 4:1\n", ("--every", "soon"), 2, "a duration must be"),
        ("1 3:1\n0 4:1\n", ("--class-weight", "1:5"), 2, "--class-weight must be"),
        ("1 3:1\n0 4:1\n", ("--on-error", "panic"), 2, "--on-error"),
        ("1 3:1\n0 4:1\n", ("-o", "no/such/folder/out.thr"), 2, "no folder"),
        ("1 3:1\n0 4:1\n", ("--checkpoint", "no/such/folder/run.ckpt"), 2, "no folder"),
        ("1 3:1\n0 4:1\n", ("--interactions", "4"), 2, "interactions must be 1, 2, 3"),
        ("1 3:1\n0 4:1\n", ("--interactions", "user"), 2, "--interactions must be 2, 3"),
        ("1 3:1\n0 4:1\n", ("--interactions", "user,ad"), 2, "must be numbers of features"),
        ("1 3:1\n0 4:1\n", ("--no-such-option",), 2, "No such option"),
    ],
)
def test_errors_have_a_message_and_an_exit_code(
    tmp_path: Path, text: str, arguments: tuple[str, ...], code: int, message: str
) -> None:
    data, out = tmp_path / "data.svm", tmp_path / "out.thr"
    data.write_text(text)
    shown = run("select", data, "-k", "2", "-o", out, *arguments)
    assert shown.exit_code == code
    assert isinstance(shown.exception, SystemExit)  # and not an error that the program would end with
    assert re.search(message, shown.stderr, re.DOTALL)
    assert "Traceback" not in shown.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("text", "arguments", "code", "message"),
    [
        ("1 3:x\n", (), 1, "thresher: .*line 1, column 5"),
        ("1 3:1\n0 4:1\n", ("-k", "0"), 2, "thresher: -k must be an integer"),
        ("1 3:1\n0 4:1\n", ("--no-such-option",), 2, "No such option"),
    ],
)
def test_the_program_ends_with_the_message_and_the_exit_code(
    tmp_path: Path, text: str, arguments: tuple[str, ...], code: int, message: str
) -> None:
    data, out = tmp_path / "data.svm", tmp_path / "out.thr"
    data.write_text(text)
    shown = program("select", data, "-k", "2", "-o", out, *arguments)
    assert shown.returncode == code
    assert re.search(message, shown.stderr, re.DOTALL)
    assert "Traceback" not in shown.stderr
    assert not out.exists()


def test_skipped_lines_are_counted_and_reported(tmp_path: Path) -> None:
    data = tmp_path / "data.svm"
    data.write_text("1 3:1\nnonsense\n0 4:1\n1 5:\n" * 3)
    shown = program("select", data, "-k", "2", "--on-error", "skip")
    assert shown.returncode == 0
    assert "6 malformed lines skipped" in shown.stdout
    assert "line 2, column 1" in shown.stderr


def test_a_wrong_or_damaged_model_is_refused(tmp_path: Path, vw: Path, thr: Path) -> None:
    damaged = tmp_path / "damaged.thr"
    damaged.write_bytes(thr.read_bytes()[:-1] + b"x")
    for model in (damaged, vw, tmp_path / "absent.thr"):
        shown = program("predict", model, vw)
        assert shown.returncode == 1
        assert shown.stderr.startswith("thresher: ")
    svm = write_libsvm(tmp_path / "rows.svm", X, Y)
    assert "another feature" in program("predict", thr, svm).stderr


def test_several_classes_and_labels(tmp_path: Path) -> None:
    x, margins = planted_outputs(rows=400)
    one = write_libsvm(tmp_path / "one.svm", x, [str(c) for c in margins.argmax(axis=1)])
    many = write_libsvm(tmp_path / "many.svm", x, [",".join(map(str, np.flatnonzero(row > 0))) for row in margins])
    for data, how in (
        (one, ["--loss", "softmax"]),
        (many, ["--multilabel"]),
        (one, ["--loss", "softmax", "--per-class"]),
    ):
        thr = tmp_path / "several.thr"
        shown = run("select", data, "-k", 8, "--passes", 2, "-o", thr, *how)
        assert shown.exit_code == 0, shown.output
        assert run("inspect", thr).exit_code == 0
        for asked, kind in (([], int), (["--margin"], float), (["--proba"], float)):
            lines = run("predict", thr, data, *asked).output.splitlines()
            answers = np.array([[kind(word) for word in line.split("\t")] for line in lines])
            single = not asked and "--multilabel" not in how
            assert answers.shape == (400, 1 if single else 3)
            if asked == ["--proba"] and "--multilabel" not in how:
                np.testing.assert_allclose(answers.sum(axis=1), 1.0)
    refused = run("select", many, "-k", 8, "--loss", "softmax")
    assert refused.exit_code == 1
    assert "several labels" in refused.output
    named = run("select", one, "-k", 8, "--loss", "softmax", "--classes", "0,1,2")
    assert named.exit_code == 0


@pytest.mark.parametrize(
    "how",
    [
        ["--method", "iht"],
        ["--method", "batch-iht"],
        ["--method", "hashing"],
        ["--active", "sketch"],
        ["--step", "0.5/sqrt"],
        ["--step", "adaptive:0.5", "--minibatch", "5"],
        ["--l2", "0.01", "--decay", "0.99", "--lazy", "0.1"],
    ],
    ids=" ".join,
)
def test_every_way_to_learn(vw: Path, how: list[str]) -> None:
    shown = run("select", vw, "-k", 5, *how)
    assert shown.exit_code == 0, shown.output
    assert "hashing" in how or "column-" in shown.output


def test_standard_input(vw: Path) -> None:
    shown = program("select", "-", "--format", "vw", "-k", "5", input=vw.read_text())
    assert shown.returncode == 0
    assert "<stdin>" in shown.stdout
    assert program("select", "-", "-k", "5", input="").returncode == 2
    twice = program("select", "-", "--format", "vw", "-k", "5", "--passes", "2", input=vw.read_text())
    assert twice.returncode == 2
    assert "read only once" in twice.stderr


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_saves_the_checkpoint_and_keeps_a_good_output(vw: Path, thr: Path, tmp_path: Path) -> None:
    checkpoint, good = tmp_path / "run.ckpt", thr.read_bytes()
    arguments = ["select", str(vw), "-k", "30", "--passes", "100000", "--checkpoint", str(checkpoint), "-o", str(thr)]
    child = subprocess.Popen(
        [sys.executable, "-c", "from thresher.cli.main import main; main()", *arguments, "--every", "0.1s"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not checkpoint.exists():
        time.sleep(0.02)
        assert child.poll() is None
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "repeat the command to continue" in err
    assert "column-" in out
    assert checkpoint.exists()
    assert thr.read_bytes() == good


def test_progress_shows_rates(vw: Path) -> None:
    from thresher.core.progress_text import log_line
    from thresher.report.progress import show_progress

    with show_progress(quiet=True) as shown:
        th.select(vw, k=5, passes=1, refit=False, progress=shown)
    assert shown.last is not None
    assert re.match(r"1,500 rows, [\d,]+ rows/s, [\d.,]+ MB/s", log_line(shown.last, 1.0))


@pytest.mark.skipif(os.name == "nt", reason="named pipes")
def test_a_named_pipe_is_read_once(vw: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "cannot be detected" in program("select", pipe, "-k", 5).stderr
    assert "read only once" in program("select", pipe, "--format", "vw", "-k", 5, "--passes", 2).stderr
    writer = threading.Thread(target=lambda: pipe.write_text(vw.read_text()))
    writer.start()
    shown = program("select", pipe, "--format", "vw", "-k", 5)
    writer.join()
    assert shown.returncode == 0
    assert "1,500 rows" in shown.stdout


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_while_waiting_for_an_idle_pipe(vw: Path) -> None:
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from thresher.cli.main import main; main()",
            "select",
            "-",
            "--format",
            "vw",
            "-k",
            "5",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    text = vw.read_text()
    child.stdin.write(text * (1 + (1 << 20) // len(text)))  # more than a pipe holds: the child has begun to read
    child.stdin.flush()
    time.sleep(0.5)  # and now it probably waits for more
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "stopped" in err
