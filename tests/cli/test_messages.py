"""Messages on the command line speak of options, and cannot speak of anything else."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

import thresher
from thresher.api import select
from thresher.cli.main import make_app
from thresher.cli.messages import as_options, option_of
from thresher.methods import METHODS
from thresher.sources.registry import OPTIONS

#: What only Python has: data in memory, objects, callbacks.
PYTHON_ONLY = {"y", "data", "progress", "callback", "batch_rows", "settings", "nulls"}
SETTINGS = {
    *inspect.signature(select).parameters,
    *OPTIONS,
    *(name for spec in METHODS for name in spec.own),
    "seed",
    "ids",
    "id_column",
} - PYTHON_ONLY
#: Words in backticks that are no settings.
OTHER_WORDS = {"shuf"}
#: Parameters of functions and families that only Python has, at the start of a message.
PARAMETERS = {
    "function",
    "kinds",
    "columns",
    "letters",
    "block",
    "failure",
    "error",
    "outputs",
    "products",
    "squares",
    "bins",
}
ROOT = Path(thresher.__file__).parent
NATIVE = Path(__file__).parents[2] / "native"


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ('skip such lines with `on_error="skip"`.', "skip such lines with --on-error skip."),
        ("k must be at least 1, got 0", "-k must be at least 1, got 0"),
        ("draws and max_iter must be at least 1", "--draws and --max-iter must be at least 1"),
        ("`n_jobs` and `random_state`", "--jobs and --seed"),
        ("`cache=True`, `cache=FOLDER`", "--cache, --cache-dir FOLDER"),
        ("`header=False`, `lower=False`, `shuffle=False`", "--no-header, --as-written, --no-shuffle"),
        ("`sketch=(1, 4096)`", "--sketch 1x4096"),
        ('`interactions=[("user", "ad")]`', "--interactions user,ad"),
        ("`memory=64.0 MB`, `k=10`", "--memory 64.0 MB, -k 10"),
        ("`family='groups:FILE'`, `B`, `refit=True`", "--family groups:FILE, --B, --refit"),
        ("`shuf`, pass y, the rows must be", "`shuf`, pass y, the rows must be"),
        ("function must be callable", "function must be callable"),
    ],
)
def test_settings_become_options(message: str, shown: str) -> None:
    assert as_options(message) == shown


def test_every_setting_has_an_option_that_exists() -> None:
    commands = typer.main.get_command(make_app(["select", "predict", "convert"])).commands  # type: ignore[attr-defined]
    existing = {option for c in commands.values() for p in c.params for option in (*p.opts, *p.secondary_opts)}
    for setting in sorted(SETTINGS):
        spelling = option_of(setting)
        assert spelling is not None, f"{setting} has no option: add one, or name it in PYTHON_ONLY"
        assert {*spelling} <= existing


def messages() -> Iterator[tuple[str, str]]:
    """Every text of the library that may be shown, with its place; f-strings with {} for their values."""
    for path in sorted(ROOT.rglob("*.py")):
        if path.parent.name in ("cli", "report", "estimators", "pictures"):  # these know whom they speak to
            continue
        tree = ast.parse(path.read_text())
        inside = {id(v) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for v in node.values}
        docstrings = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                parts = [v.value if isinstance(v, ast.Constant) else "{}" for v in node.values]
                text = "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside | docstrings:
                text = node.value
            else:
                continue
            if " " in text.strip():
                yield f"{path.relative_to(ROOT)}:{node.lineno}", text
    for path in sorted(NATIVE.glob("sources/**/*.?pp")):  # the parsers
        code = re.sub(r"//.*|'.'|'\\\\.'", "", path.read_text())
        for found in re.finditer(r'"((?:[^"\\\n]|\\.)*)"', code):
            if " " in found[1]:
                yield path.name, found[1]


def test_no_message_speaks_python_to_the_command_line() -> None:
    faults = []
    with_underscore = {name for name in SETTINGS if "_" in name}
    seen = 0
    for place, text in messages():
        plain = re.sub(r"`[^`]*`", "", text)
        named = [found[1] for found in re.finditer(r"`(\w+)(?:=[^`]*)?`", text)]
        seen += len(named)
        faults += [f"{place}: `{name}` is no setting" for name in named if name not in SETTINGS | OTHER_WORDS]
        words = re.findall(r"(?<![\w.\"'-])(\w+)=(?!=)", plain)
        faults += [f"{place}: {name}= without backticks" for name in words if name in SETTINGS]
        words = re.findall(r"(?<![\w.\"'-])\w+(?![\w\"'(])", plain)
        first = re.match(r"(\w+)(?: and (\w+))? must ", plain)
        if first:
            names = [name for name in first.groups() if name]
            faults += [f"{place}: {name} is no setting" for name in names if name not in SETTINGS | PARAMETERS]
            words = [word for word in words if word not in names]
        faults += [f"{place}: {name} without backticks" for name in words if name in with_underscore]
        faults += [
            f"{place}: an option" for _ in re.findall(r"(?<![\w-])--[a-z]", plain) if not re.search(r"vw|Vowpal", plain)
        ]
    assert not faults, "\n".join(faults)
    assert seen > 50
