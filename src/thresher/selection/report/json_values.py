"""Texts and numbers of a report as JSON holds them: names made visible, numbers short."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from thresher.display import cut, redact, visible
from thresher.selection.selection import escaped

log = logging.getLogger(__name__)

#: The data of a view, as JSON holds it.
View = dict[str, Any]
#: The most characters of a name in a chart, and of any other text.
NAME, TEXT = 48, 400


def name_of(text: Any, most: int = NAME) -> str:
    """A name or label as charts show it: without control characters, and cut."""
    if isinstance(text, float) and text.is_integer():
        text = int(text)
    return cut(visible(escaped(str(text))), most)


def shown(text: Any, most: int = TEXT) -> str:
    """Any other text of a file: without credentials and control characters, and cut."""
    return cut(visible(redact(escaped(str(text)))), most)


def short(value: Any, digits: int = 6) -> Any:
    """A number with a few digits; None for what JSON cannot hold."""
    number = float(value)
    if not math.isfinite(number):
        return None
    rounded = float(f"{number:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded


def shorts(values: Iterable[Any], digits: int = 6) -> list[Any]:
    """`short` of each."""
    return [short(value, digits) for value in values]


def attempted(make: Callable[..., View], *given: Any) -> Iterator[View]:
    """The view, or nothing if a file does not hold what it needs: such a view is left out."""
    try:
        view = make(*given)
        json.dumps(view, allow_nan=False)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        log.info("the report leaves out a view, whose data is not as expected: %s: %s", make.__name__, error)
        return
    yield view


def percent(share: float) -> str:
    """A share as ``97.2 %``."""
    return f"{100 * share:.1f} %"


def thin(values: list[Any], most: int) -> list[int]:
    """At most ``most`` positions of a list, evenly spread, the first and the last among them."""
    if len(values) <= most:
        return list(range(len(values)))
    return sorted({round(i * (len(values) - 1) / (most - 1)) for i in range(most)})


def as_script(data: Any) -> str:
    """JSON that a script element can hold: nothing in it ends the element or a line."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, code in _ESCAPES.items():
        text = text.replace(character, code)
    # A surrogate that stands alone, from a byte that is not UTF-8, has no UTF-8 form.
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text) if _lone(text) else text


_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def _lone(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
