"""Options that are written down once, in groups, for the commands that have them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints


def with_options(
    argument: str, as_library: Callable[[dict[str, Any]], dict[str, Any]], *groups: Callable[..., None]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of all ``groups``, functions of which only the parameters count.

    The command gets those that were used as one dictionary, ``argument``, in the form in which the library takes them.
    """

    def wrap(command: Callable[..., None]) -> Callable[..., None]:
        own, *others = (inspect.signature(function, eval_str=True).parameters for function in (command, *groups))
        added = {name: parameter for parameters in others for name, parameter in parameters.items()}
        # Whatever is still to be given to the command in this way stays, at the end.
        parameters = [p for p in own.values() if p.name != argument and p.kind is not p.KEYWORD_ONLY]
        parameters += added.values()
        parameters += [p for p in own.values() if p.name != argument and p.kind is p.KEYWORD_ONLY]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            used = {name: value for name, p in added.items() if (value := given.pop(name)) != p.default}
            command(**given, **{argument: as_library(used)})

        # What typer reads a command's options from.
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        hints: dict[str, Any] = {}
        for function in (command, *groups):
            hints |= get_type_hints(function, include_extras=True)
        run.__annotations__ = {p.name: hints[p.name] for p in parameters}
        return run

    return wrap
