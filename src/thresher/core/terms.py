"""Expanded features: products of several features, or coordinates of the kernel map of one."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from thresher.errors import SettingsError

#: The kinds of coordinates, in the order of native/base/kernel_map.hpp.
MAPS = ("itself", "step", "root-cosine", "root-sine", "cosine", "sine")
_POWERS = {2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸"}
_MAX_LENGTH = 256


class Coordinate(NamedTuple):
    """A function of one feature that is 0 at 0, with two parameters; see native/base/kernel_map.hpp."""

    kind: str = "itself"
    u: float = 1.0
    v: float = 0.0

    def name(self, of: str) -> str:
        """The name of the coordinate of a feature of this name, without the constant factor."""
        if self.kind == "step":
            return f"{of if self.u == 1 else f'|{of}|^{self.u:g}'} ≥ {self.v:.6g}"
        if self.kind.startswith("root") and self.v == 0:
            return f"√{of}"
        if self.kind.startswith("root"):
            return f"√{of} {self._wave}({self.v:.6g} log {of})"
        return of if self.kind == "itself" else f"{self._wave}({self.v:.6g} {of})"

    @property
    def _wave(self) -> str:
        return "cos" if self.kind.endswith("cosine") else "sin"


#: The feature itself.
PLAIN = Coordinate()


@dataclass(frozen=True, slots=True)
class Term:
    """A feature: a product of others (by their keys, ascending), or a coordinate of one."""

    key: int
    parts: tuple[int, ...]
    coordinate: Coordinate = PLAIN

    def name(self, names: Mapping[int, str]) -> str:
        """The name, composed from the names of its parts in natural order: ``a² × b``."""
        if len(self.parts) == 1:
            return _cut(self.coordinate.name(names[self.parts[0]]), _MAX_LENGTH)
        counted = Counter(names[part] for part in self.parts)
        room = (_MAX_LENGTH - 4 * len(counted)) // len(counted)
        spelled = [_cut(name, room) + _POWERS.get(counted[name], "") for name in sorted(counted, key=_natural)]
        return " × ".join(spelled)


@dataclass(frozen=True, slots=True)
class Expansion:
    """The terms of a model; only these are formed."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        return f"{len(self.terms)} features made of them"

    def to_list(self) -> list[Any]:
        """The fields, as files store them."""
        return [
            [term.key, list(term.parts), *(term.coordinate if term.coordinate != PLAIN else ())] for term in self.terms
        ]

    @classmethod
    def from_list(cls, terms: Sequence[Sequence[Any]]) -> Expansion:
        """The inverse of `to_list`."""
        return cls(tuple(_term(*fields) for fields in terms))


def _term(key: Any, parts: Any, kind: Any = "itself", u: Any = 1.0, v: Any = 0.0) -> Term:
    numbers = [key, *parts]
    if not parts or any(type(number) is not int or not 0 <= number < 2**64 for number in numbers):
        raise SettingsError("a term has no parts, or a key that is not a 64-bit integer")
    if kind not in MAPS or not all(isinstance(x, (int, float)) and math.isfinite(x) for x in (u, v)):
        raise SettingsError(f"a term has an unknown kind of coordinate or a parameter that is not finite: {kind!r}")
    return Term(key, tuple(parts), Coordinate(kind, float(u), float(v)))


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """A sort key that compares numbers within names by value."""
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", name)]


def _cut(name: str, room: int) -> str:
    text = name.encode("utf-8", "surrogateescape")
    return name if len(text) <= room else text[:room].decode("utf-8", "ignore")
