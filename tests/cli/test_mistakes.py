"""Mistakes on purpose: what is wrong, where and what to do, in the words of the command line, fit for a terminal."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
import typer.main
from click.testing import Result
from typer.testing import CliRunner

from thresher.cli.main import make_app
from thresher.cli.messages import MessageFormatter
from thresher.methods import METHODS

REVIEW = "this film is the worst that I have seen in years " * 20
ESCAPES = "\x1b[31mred\x1b]0;title\x07\x9b\u202e"


def run(*args: object) -> Result:
    return CliRunner().invoke(make_app(), [str(arg) for arg in args])


@pytest.fixture
def vw(tmp_path: Path) -> Path:
    path = tmp_path / "rows.vw"
    path.write_text("1 | a b:2\n-1 | c b:0.5\n" * 20)
    return path


@pytest.mark.parametrize("method", ["mission", "b-arda", "fgm", "sparse-rf", "os"])
def test_a_weight_of_a_class_that_is_not_there(vw: Path, method: str) -> None:
    shown = run("select", vw, "-k", 2, "--method", method, "--class-weight", "1=2,7=3")
    assert shown.exit_code == 2
    assert "--class-weight has a weight for the label 7, but the labels of the data are" in shown.stderr
    assert run("select", vw, "-k", 2, "--method", method, "--class-weight", "1=2,-1=1").exit_code == 0


@pytest.mark.parametrize("weights", ["balanced", "1=2"])
@pytest.mark.parametrize("method", ["mission", "fgm"])
def test_class_weights_of_numbers(vw: Path, method: str, weights: str) -> None:
    shown = run("select", vw, "-k", 2, "--method", method, "--loss", "squared", "--class-weight", weights)
    assert shown.exit_code == 2
    assert "--class-weight needs rows of one class each, and the squared loss is for numbers" in shown.stderr
    assert "such as logistic" in shown.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "misson"], "unknown method 'misson': did you mean 'mission'?"),
        (["--loss", "logistik"], "unknown loss 'logistik': did you mean 'logistic'"),
        (["--loss", "huber:x"], "unknown loss 'huber:x': its parameter must be a number above 0, as in huber:1.35"),
        (["--format", "libsvn"], "unknown format 'libsvn': did you mean 'libsvm'?"),
        (["--passes", "0"], '--passes must be "auto" or an integer of at least 1'),
        (["--on-error", "ignore"], '--on-error must be "stop" or "skip"'),
        (["--kmer", "3"], "--kmer: not an option for vw files"),
        (["--B", "3"], "mission has no setting --B"),
        (["--method", "fgm", "--groups", "source"], "pass its groups as a family, --family groups:FILE"),
        (["--method", "fgm", "--jobs", "0"], "--jobs must be -1 (all cores) or at least 1"),
        (["--memory", "1KB"], "-k 2 does not fit into --memory 1.0 KB"),
        (["--method", "sofs", "--minibatch", "4"], "leave out --minibatch"),
        (["--test", "a", "--holdout", "0.5"], "pass --test or --holdout, not both"),
    ],
)
def test_options_are_named(vw: Path, options: list[str], message: str) -> None:
    shown = run("select", vw, "-k", 2, *options)
    assert shown.exit_code == 2
    assert message in shown.stderr


def test_a_malformed_line(vw: Path) -> None:
    vw.write_text("1 | a\nnonsense\n")
    shown = run("select", vw, "-k", 2)
    assert shown.exit_code == 1
    assert "skip such lines with --on-error skip." in shown.stderr


def test_data_in_place_of_a_header(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "t.csv").write_text("1,0.5,0.5\n0,2,3\n" * 20)
    (tmp_path / "u.csv").write_text("1,,\n0,2,3\n" * 20)
    for name, quoted in (("t.csv", "'0.5'"), ("u.csv", "''")):
        shown = run("select", tmp_path / name, "-k", 2, "--target", 0)
        assert shown.exit_code == 1
        assert f"two columns have the name {quoted}. If the first row is data, pass --no-header;" in shown.stderr
    (tmp_path / "v.csv").write_text("1,0.5,0.7\n0,2,3\n" * 20)
    run("select", tmp_path / "v.csv", "-k", 2, "--target", 0)
    assert "all column names are numbers, as '1', '0.5', '0.7'" in caplog.text
    caplog.clear()
    (tmp_path / "w.csv").write_text("0,1,2\n" + "1,2,3\n0,3,4\n" * 20)  # as pandas writes columns without names
    assert run("select", tmp_path / "w.csv", "-k", 2, "--target", 0).exit_code == 0
    assert "all column names are numbers" not in caplog.text


@pytest.mark.parametrize("text", [REVIEW, ESCAPES], ids=["review", "escapes"])
def test_labels_columns_and_files_in_messages(tmp_path: Path, text: str) -> None:
    """Whatever the data holds, a message is short and has no control characters."""
    path = tmp_path / f"rows{text[:20]}.csv"
    cells = [f'1,2,"{text}"', f'2,3,"{text}2"', f'3,4,"{text}3"']
    path.write_text("\n".join([f'a,b,"{text}"', *cells * 5]) + "\n")
    for options in (
        ["--target", "nothing"],
        ["--target", 2, "--loss", "logistic"],  # a third label
        ["--target", 2, "--class-weight", "none=2"],  # three classes, all of which a message names
        ["--target", 2, "--loss", "squared"],
        ["--target", "a", "--numeric", 2],
        ["--target", 2, "--loss", "softmax", "--classes", "x,y"],
        ["--target", 2, "--numeric", 2],
        ["--target", text + "?"],
    ):
        shown = run("select", path, "-k", 2, *options)
        assert shown.exit_code in (1, 2), shown.output
        assert len(shown.stderr) < 1000 + 3 * len(str(tmp_path))
        assert all(line.isprintable() for line in shown.stderr.split("\n"))


def test_log_lines_are_fit_for_a_terminal() -> None:
    record = logging.LogRecord(
        "thresher", logging.WARNING, "", 0, "%s: \x1b[2J\ntwo lines, pass `cache=True`", ("http://u:p@h/f?t=x",), None
    )
    assert MessageFormatter("%(message)s").format(record) == "http://***@h/f?t=***: \\x1b[2J\ntwo lines, pass --cache"


def test_predicted_labels_are_one_line_each(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("y,a,b\n" + '"no\x1b[2J",1,0\n"=yes",0,1\n' * 20)
    assert run("select", path, "-k", 2, "--target", "y", "-o", tmp_path / "t.thr").exit_code == 0
    shown = run("predict", tmp_path / "t.thr", path)
    assert set(shown.stdout.split("\n")) == {"no\\x1b[2J", "\\x3dyes", ""}


def test_the_help_of_loss_has_the_defaults_of_the_registry() -> None:
    command = typer.main.get_command(make_app(["select", "plan"])).commands["select"]  # type: ignore[attr-defined]
    text = next(p for p in command.params if p.name == "loss").help
    stated = text.partition("Default: ")[2]
    *named, others = re.split(r", (?=\w+ for )", stated.rstrip("."))
    for spec in METHODS:
        for name in spec.names:
            own = [part for part in named if re.search(rf"(?<![\w-]){name}(?![\w-])", part)]
            assert (own[0] if own else others).split()[0] == spec.loss, name
    assert others.endswith("for the other methods")
