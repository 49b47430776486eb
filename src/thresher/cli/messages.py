"""Messages of the library in the words of the command line: options instead of keyword arguments.

Messages name a setting in backticks, as in ``pass `on_error="skip"` ``, or begin with it, as in ``k must be at least
1``. The library shows them so; a command shows ``--on-error skip`` and ``-k must be at least 1``.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import logging
import re
from functools import cache
from typing import Any, NamedTuple

from typer.models import OptionInfo

from thresher.display import redact, visible_lines

_NAMED = re.compile(r"`(\w+)(?:=([^`]*))?`")
_FIRST = re.compile(r"(\w+)(?: and (\w+))?(?= must )")
#: The commands whose options the messages may name; of several options of one name the first counts.
_COMMANDS = ("select", "predict", "convert", "stand_ins")
#: Settings that the command line spells otherwise, besides those that ``with_options`` renames.
_SPELLING = {"random_state": "seed", "sample_weight": "weight"}
#: Flags that have another option for a value.
_WITH_VALUE = {"cache": "cache_dir", "refit": "refit_C"}


class Spelling(NamedTuple):
    """How the command line spells a setting: with a value or as ``True``, and as ``False``."""

    positive: str
    negative: str


def as_options(message: str) -> str:
    """The message with its settings as options; what is no option stays."""
    if first := _FIRST.match(message):
        names = [option_of(name) for name in first.groups() if name is not None]
        if None not in names:
            message = " and ".join(name.positive for name in names if name is not None) + message[first.end() :]
    return _NAMED.sub(lambda found: _option(found[1], found[2]) or found[0], message)


def option_of(setting: str) -> Spelling | None:
    """The option for a keyword argument of the library; None if the command line has none."""
    spelled = _spellings()
    return spelled.get(_SPELLING.get(setting, setting))


def _option(setting: str, value: str | None) -> str | None:
    plain = value in (None, "True", "False")
    option = option_of(setting if plain else _WITH_VALUE.get(setting, setting))
    if option is None:
        return None
    if value is None or value == "True":
        return option.positive
    if value == "False":
        return option.negative
    return f"{option.positive} {_plain(value, 'x' if setting == 'sketch' else ',')}"


def _plain(value: str, separator: str) -> str:
    """A Python value as an option takes it."""
    try:
        parsed: Any = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value  # as 64 MB
    while isinstance(parsed, list):
        parsed = parsed[0] if len(parsed) == 1 else tuple(parsed)
    return separator.join(map(str, parsed)) if isinstance(parsed, tuple) else str(parsed)


@cache
def _spellings() -> dict[str, Spelling]:
    """The options of the commands by the keyword arguments they become."""
    found: dict[str, Spelling] = {}
    for name in _COMMANDS:
        command = getattr(importlib.import_module(f"thresher.cli.{name}"), name)
        renamed = getattr(command, "renamed", {})
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            info = next(iter(getattr(parameter.annotation, "__metadata__", ())), None)
            if not isinstance(info, OptionInfo):  # an argument, or a dictionary of options
                continue
            # Within Annotated, Typer takes the first argument of Option for a name too.
            declared = [text for text in (info.default, *(info.param_decls or ())) if isinstance(text, str)]
            positive, _, negative = [*declared, f"--{parameter.name.replace('_', '-')}"][0].partition("/")
            # --no-header and --as-written are the option for False, and the only one.
            for setting in (parameter.name, renamed.get(parameter.name, parameter.name)):
                found.setdefault(setting, Spelling(positive, negative or positive))
    return found


class MessageFormatter(logging.Formatter):
    """Log lines as a terminal may show them, in the words of the command line."""

    def format(self, record: logging.LogRecord) -> str:
        return visible_lines(redact(as_options(super().format(record))))
