"""Parsing of families written as text: ``polynomial:2,gamma=4,r=1``, ``linear + hik:100``, ``groups:FILE``,
``linear:columns=0-9 * linear:columns=age|bmi``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from thresher.columns.groups import Groups
from thresher.errors import SettingsError
from thresher.fgm.families.additive import HIK, Additive
from thresher.fgm.families.group_family import GroupSpec
from thresher.fgm.families.kmer_spectrum import Spectrum
from thresher.fgm.families.linear import Columns
from thresher.fgm.families.polynomial import Polynomial
from thresher.fgm.families.product import Product
from thresher.fgm.families.spec import FamilyLike, FamilySpec
from thresher.fgm.families.tree import Tree, TreeSpec
from thresher.fgm.families.union import Union

#: The families by name, each with the parameter that needs no keyword.
NAMED: dict[str, tuple[Callable[..., FamilySpec | Groups], str]] = {
    "linear": (Columns, "columns"),
    "polynomial": (Polynomial, "degree"),
    "hik": (HIK, "bins"),
    "additive": (Additive, "kernel"),
    "spectrum": (Spectrum, "by"),
    "groups": (Groups, "groups"),
    "tree": (Tree, "groups"),
}


def as_family_spec(family: FamilyLike) -> FamilySpec | None:
    """The description of the family that ``family=`` requests; None for all columns of the data."""
    if isinstance(family, FamilySpec):
        return family
    if isinstance(family, Tree):
        return TreeSpec(family)
    if isinstance(family, Groups):
        return GroupSpec(family)
    if not isinstance(family, str):
        raise SettingsError(
            f"family must be a name or one of thresher's families, such as thresher.Groups, not {family!r}"
        )
    names = [name.strip() for name in family.split("+")]
    if len(names) > 1:
        return Union(*names)
    factors = [name.strip() for name in names[0].replace("×", "*").split("*")]
    if len(factors) > 1:
        return Product(*factors)
    return None if names[0] == "linear" else as_family_spec(_parse(names[0]))


def _parse(text: str) -> FamilySpec | Groups:
    name, _, rest = text.partition(":")
    if name not in NAMED:
        raise SettingsError(
            f"unknown family {text!r}; use {', '.join(NAMED)}, several of them joined by + (union) or * (product), or "
            "one of thresher's families"
        )
    make, first = NAMED[name]
    known = inspect.signature(make).parameters
    parameters: dict[str, Any] = {}
    for i, part in enumerate(filter(None, rest.split(","))):
        key, equals, value = part.partition("=")
        if not equals:
            key, value = (first if i == 0 else ""), part
        if key.strip() not in known:
            raise SettingsError(f"{text!r}: {name} has no parameter {part!r}, only {', '.join(known)}")
        parameters[key.strip()] = _CONVERTERS.get(key.strip(), _value)(value.strip())
    if first not in parameters and known[first].default is inspect.Parameter.empty:
        raise SettingsError(f"{text!r}: {first} is missing; write for example {name}:groups.txt")
    return make(**parameters)


def _columns(text: str) -> list[int | str] | None:
    """Parse a list such as ``3|7-9|age``: positions, ranges of positions, and names."""
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


#: The parameters that `_value` does not parse: a list of columns, and a file name.
_CONVERTERS: dict[str, Callable[[str], Any]] = {"columns": _columns, "groups": str}
