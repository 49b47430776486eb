"""Families by name, as they are written on the command line: ``polynomial:2,gamma=4,r=1``, ``linear + hik:100``,
``groups:FILE``, ``linear:columns=0-9 * linear:columns=age|bmi``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from thresher.columns.family_spec import Structure
from thresher.columns.groups import Groups
from thresher.errors import SettingsError
from thresher.fgm.families.additive import HIK, Additive
from thresher.fgm.families.kmer_spectrum import Spectrum
from thresher.fgm.families.linear import Columns
from thresher.fgm.families.polynomial import Polynomial
from thresher.fgm.families.product import Product
from thresher.fgm.families.tree import Tree
from thresher.fgm.families.union import Union

#: The families that can be written, and which of their settings goes without a name.
NAMED: dict[str, tuple[Callable[..., Structure], str]] = {
    "linear": (Columns, "columns"),
    "polynomial": (Polynomial, "degree"),
    "hik": (HIK, "bins"),
    "additive": (Additive, "kernel"),
    "spectrum": (Spectrum, "by"),
    "groups": (Groups, "groups"),
    "tree": (Tree, "groups"),
}


def structure_of(family: str | Structure) -> Structure | None:
    """The structure that ``family=`` means; None for the columns themselves."""
    if isinstance(family, Structure):
        return family
    if not isinstance(family, str):
        raise SettingsError(f"family is a name or one of thresher's families, such as thresher.Groups, not {family!r}")
    names = [name.strip() for name in family.split("+")]
    if len(names) > 1:
        return Union(*names)
    factors = [name.strip() for name in names[0].replace("×", "*").split("*")]
    if len(factors) > 1:
        return Product(*factors)
    return None if names[0] == "linear" else _named(names[0])


def _named(text: str) -> Structure:
    name, _, rest = text.partition(":")
    if name not in NAMED:
        raise SettingsError(
            f"family is {', '.join(NAMED)}, several with + (beside each other) or * (times each other), or one of "
            f"thresher's families, not {text!r}"
        )
    make, first = NAMED[name]
    known = inspect.signature(make).parameters
    given: dict[str, Any] = {}
    for i, part in enumerate(filter(None, rest.split(","))):
        key, equals, value = part.partition("=")
        if not equals:
            key, value = (first if i == 0 else ""), part
        if key.strip() not in known:
            raise SettingsError(f"{text!r}: {name} has {', '.join(known)}; {part!r} is none of these")
        given[key.strip()] = _AS_WRITTEN.get(key.strip(), _value)(value.strip())
    if first not in given and known[first].default is inspect.Parameter.empty:
        raise SettingsError(f"{text!r}: give its {first}, as in {name}:groups.txt")
    return make(**given)


def _columns(text: str) -> list[int | str] | None:
    """``3|7-9|age``: positions, ranges of them, and names."""
    if text == "none":
        return None
    columns: list[int | str] = []
    for part in text.split("|"):
        first, dash, last = part.strip().partition("-")
        if dash and first.isdecimal() and last.isdecimal():
            columns += range(int(first), int(last) + 1)
        else:
            columns.append(int(part) if part.strip().isdecimal() else part.strip())
    return columns


def _value(text: str) -> Any:
    if text in ("true", "false", "none"):
        return {"true": True, "false": False, "none": None}[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


#: Settings that are not a number or a word: lists of columns, and the name of a file.
_AS_WRITTEN: dict[str, Callable[[str], Any]] = {"columns": _columns, "groups": str}
