"""Lists of feature names and patterns, as given or from files with one a line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thresher.display import listed, quoted, shown_path
from thresher.errors import SettingsError

#: The tokens of a pattern besides bytes: any one character, and any number of characters.
_ONE, _ANY = 256, 257
#: What a backslash makes an ordinary character.
_SPECIAL = "*?@\\"
#: The most names of a list; a key takes about 50 bytes.
MOST_NAMES = 1 << 20


@dataclass(frozen=True)
class Pattern:
    """A shell-style pattern of names: ``*`` is any number of characters, ``?`` any one; all others are themselves."""

    text: str
    tokens: tuple[int, ...]

    @cached_property
    def _regex(self) -> re.Pattern[bytes]:
        wild = {_ONE: rb"[^\x80-\xbf][\x80-\xbf]*", _ANY: rb".*"}
        parts = (wild.get(token) or re.escape(bytes([token])) for token in self.tokens)
        return re.compile(b"".join(parts), re.DOTALL)

    def matches(self, name: str) -> bool:
        """Whether the pattern matches a whole name."""
        return self._regex.fullmatch(as_bytes(name)) is not None

    @property
    def head(self) -> bytes:
        """The bytes that every match begins with."""
        wild = [i for i, token in enumerate(self.tokens) if token >= _ONE]
        return bytes(self.tokens[: wild[0]])


@dataclass(frozen=True)
class NameList:
    """Names and patterns of features.

    Attributes
    ----------
    names : tuple of str
        Plain names, each once.
    patterns : tuple of Pattern
    given : tuple of str
        The entries as given: names, patterns, and files as ``@path``.
    """

    names: tuple[str, ...]
    patterns: tuple[Pattern, ...]
    given: tuple[str, ...]

    @classmethod
    def of(cls, entries: Any, setting: str) -> NameList | None:
        r"""Read the value of a setting; None if it is not set.

        An entry is a name, a pattern, or ``@`` and the path of a file with a name or pattern a line. A backslash makes
        the ``*``, ``?``, ``@`` or backslash behind it an ordinary character.
        """
        if entries is None:
            return None
        given = _entries(entries, setting)
        if not given:
            raise SettingsError(f"`{setting}` is empty: name features, or leave it out")
        names: dict[str, None] = {}
        patterns: dict[str, Pattern] = {}
        for entry in given:
            for line in _lines(entry[1:], setting) if entry.startswith("@") else (entry,):
                found = _parsed(line, setting)
                if isinstance(found, Pattern):
                    patterns[found.text] = found
                else:
                    names[found] = None
        if len(names) > MOST_NAMES:
            raise SettingsError(f"`{setting}` has {len(names):,} names, and at most {MOST_NAMES:,} are possible")
        return cls(tuple(names), tuple(patterns.values()), given)

    def matches(self, name: str) -> bool:
        """Whether a name is in the list or matches a pattern of it."""
        return bool(self.entries_of(name))

    def entries_of(self, name: str) -> list[str]:
        """The name itself if it is in the list, and the patterns that it matches."""
        return [name] * (name in self._set) + [one.text for one in self.patterns if one.matches(name)]

    @cached_property
    def _set(self) -> frozenset[str]:
        return frozenset(self.names)


def check_apart(keep: NameList | None, drop: NameList | None) -> None:
    """Raise if a feature is to be both kept and dropped."""
    if keep is None or drop is None:
        return
    both = [name for name in keep.names if drop.matches(name)]
    both += [name for name in drop.names if name not in both and keep.matches(name)]
    if both:
        verb = "is" if len(both) == 1 else "are"
        raise SettingsError(f"{listed(both, 3)} {verb} in both `keep` and `drop`: decide for one of them")


def as_bytes(name: str) -> bytes:
    """A name as the bytes of the data."""
    return name.encode("utf-8", "surrogateescape")


def _entries(entries: Any, setting: str) -> tuple[str, ...]:
    several = [entries] if isinstance(entries, (str, int, np.integer)) else entries
    if not isinstance(several, Iterable) or isinstance(several, (bytes, dict)):
        raise SettingsError(f"`{setting}` must be a list of feature names, got {quoted(entries)}")
    found: list[str] = []
    for entry in several:
        if isinstance(entry, bool) or not isinstance(entry, (str, int, np.integer)):
            raise SettingsError(f"`{setting}` must be a list of feature names, but it has {quoted(entry)}")
        found.append(str(entry))
    return tuple(found)


def _lines(path: str, setting: str) -> Sequence[str]:
    """The lines of a file that are not empty."""
    try:
        with open(os.path.expanduser(path), encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
            lines = [line for line in (line.rstrip("\r\n") for line in file) if line]
    except OSError as error:
        raise SettingsError(
            f"`{setting}` names the file {shown_path(path)}, which cannot be read ({error.strerror}). If the name of a "
            rf"feature begins with @, write it as \@{shown_path(path)}"
        ) from None
    if not lines:
        raise SettingsError(f"`{setting}` names the file {shown_path(path)}, which has no names")
    return lines


def _parsed(entry: str, setting: str) -> str | Pattern:
    """A name, or a pattern if a wildcard is in it."""
    if not entry:
        raise SettingsError(f"`{setting}` has an empty name: leave it out")
    pieces = list(_pieces(entry))
    if not any(wild for wild, _ in pieces):
        return "".join(text for _, text in pieces)
    tokens = [{"*": (_ANY,), "?": (_ONE,)}[text] if wild else tuple(as_bytes(text)) for wild, text in pieces]
    return Pattern(entry, tuple(token for part in tokens for token in part))


def _pieces(entry: str) -> Iterator[tuple[bool, str]]:
    """The characters of an entry without escapes, and whether each is a wildcard."""
    at = 0
    while at < len(entry):
        escaped = entry[at] == "\\" and entry[at + 1 : at + 2] in tuple(_SPECIAL)
        at += escaped
        yield not escaped and entry[at] in "*?", entry[at]
        at += 1
