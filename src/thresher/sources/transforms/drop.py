"""Drops features by name: whole columns where they are encoded, all others row by row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.core.batch import Batch, Cursor, Names
from thresher.core.feature_space import FeatureSpace
from thresher.core.units import DenseColumns
from thresher.display import listed, quoted, similar
from thresher.errors import DataError, SettingsError
from thresher.sources.arrays import DenseSource, MaskedSource
from thresher.sources.base import Source, Wrapped
from thresher.sources.feature_keys import keys_of
from thresher.sources.files.name_list import NameList, Pattern
from thresher.sources.transforms.interactions import Interactions

#: The signs after which a column's name goes on in the names of its features.
_BEHIND_COLUMNS = (b"=", b".", b"[")
#: The most columns by position whose names are compared with patterns before the first row, and how many at a time.
_MOST_POSITIONS, _POSITIONS = 1 << 24, 1 << 20
#: Bytes of a name: its text, its entries in lists and sets, its key. Fewer names are not part of the plan.
_NAME_BYTES, _FEW_NAMES = 256, 1024
#: The most names that the provenance lists.
_LISTED = 100


@dataclass
class FeatureDrop:
    """The features to drop, and which of them were found.

    Attributes
    ----------
    wanted : NameList
    columns : list of str
        The columns of a table that are left out.
    found : set of str
        The names and patterns that some feature had.
    rows_read : bool
        Whether rows were read in this process, so that ``found`` means something.
    known : list of str
        The columns of the data, for advice.
    """

    wanted: NameList
    columns: list[str] = field(default_factory=list)
    found: set[str] = field(default_factory=set)
    rows_read: bool = False
    known: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, drop: Any) -> FeatureDrop | None:
        """The value of the setting ``drop``."""
        wanted = NameList.of(drop, "drop")
        return None if wanted is None else cls(wanted)

    def from_source(self, source: Source) -> Source:
        """The rows of a source without these features, and without the products they are part of."""
        if isinstance(source, Interactions):
            return source._with(self.from_source(source.source))
        space = source.space
        if any((space.products, space.hashing, space.random_features, space.expansion)):
            raise SettingsError(
                f"`drop` needs features with names of their own, but the data's are {space}: drop before"
            )
        self.known = list(source.feature_columns)
        self.columns = [column for column in self.known if self._wants(column)]
        if self.columns and len(self.columns) == len(self.known):
            raise DataError("`drop` names every column: no feature is left.")
        source = source.without_columns(self.columns) if self.columns else source
        left = [column for column in self.known if column not in self.columns]
        patterns = [one for one in self.wanted.patterns if not self.known or _may_match(one, left)]
        owners = {key: name for name in self.wanted.names if name not in self.columns for key in keys_of(space, name)}
        for pattern in list(patterns):
            if (positions := match_positions(space, pattern)) is not None:
                patterns.remove(pattern)
                owners |= {key: pattern.text for name in positions for key in keys_of(space, name)}
        if space.kind == "column" and space.size is not None:
            self.found.update(owners.values())  # also of a column of zeros
        if type(source) is DenseSource:
            self.rows_read = True
            if len(owners) == source.x.shape[1]:
                raise DataError("`drop` names every column: no feature is left.")
            masked = np.array(sorted(owners), np.uint64)
            return MaskedSource(source.x, source.targets, source.weight, source.order, masked=masked)
        self.rows_read = not owners and not patterns  # then nothing else can be found
        return source if self.rows_read else Dropped(source, self, owners, patterns)

    def has(self, name: str) -> bool:
        """Whether a feature of a stream is dropped."""
        self.rows_read = True
        return self._wants(name) or self._wants(name.removeprefix("x"))

    def _wants(self, name: str) -> bool:
        """Whether a name is in the list; notes it."""
        hits = self.wanted.entries_of(name)
        self.found.update(hits)
        return bool(hits)

    def warnings(self, names: Sequence[str] = ()) -> list[str]:
        """A sentence about names that no feature had; ``names`` are known ones, for advice."""
        every = [*self.wanted.names, *(one.text for one in self.wanted.patterns)]
        unknown = [name for name in every if name not in self.found]
        if not unknown or not self.rows_read:
            return []
        close = similar(unknown[0], [*self.known, *names])
        advice = f" Did you mean {' or '.join(map(quoted, close))} instead of {quoted(unknown[0])}?" if close else ""
        return [f"`drop` names features that the data does not have: {listed(unknown, 5)}.{advice}"]

    def facts(self) -> dict[str, Any]:
        """What was dropped, for the provenance of a selection."""
        return {
            "given": list(self.wanted.given[:_LISTED]),
            "entries": len(self.wanted.names),
            "columns": self.columns,
            "patterns": [one.text for one in self.wanted.patterns[:_LISTED]],
        }

    def identity(self) -> str:
        """A hash of the names and patterns."""
        digest = hashlib.blake2b(digest_size=16)
        for entry in (*self.wanted.names, "", *(one.text for one in self.wanted.patterns)):
            digest.update(entry.encode("utf-8", "surrogateescape") + b"\0")
        return digest.hexdigest()


class Dropped(Wrapped):
    """The rows of a source without the features of these keys, or with names that match these patterns.

    Parameters
    ----------
    source : Source
    drop : FeatureDrop
        What was wanted; notes what is found.
    owners : dict
        The keys to drop, each with its entry of the list.
    patterns : list of Pattern
        Patterns that names are compared with as rows are read.
    """

    def __init__(
        self,
        source: Source,
        drop: FeatureDrop,
        owners: dict[int, str],
        patterns: Sequence[Pattern],
    ) -> None:
        super().__init__(source)
        self.drop, self.owners, self.patterns = drop, owners, patterns
        self._keys = np.fromiter(owners, np.uint64, len(owners))
        self._entries = list(owners.values())
        self._index = _native.KeyIndex(self._keys)
        if len(owners) > _FEW_NAMES:  # a few change no plan, so that answers are those of data without the features
            self.schema_bytes = source.schema_bytes + _NAME_BYTES * len(owners)

    def _with(self, source: Source) -> Source:
        return Dropped(source, self.drop, self.owners, self.patterns)

    def __reduce__(self) -> tuple[Any, ...]:
        return Dropped, (self.source, self.drop, self.owners, self.patterns)

    def _settings(self) -> str:
        return f":dropped:{self.drop.identity()}"

    def shuffled(self, seed: int, *, rows: int, features: int) -> Source:
        return self._shuffled_within(seed, rows=rows, features=features)

    @property
    def dense_columns(self) -> DenseColumns | None:
        dense = self.source.dense_columns
        if dense is None:
            return None
        stays = ~np.isin(dense.keys, self._keys)
        names = None if dense.names is None else [name for name, left in zip(dense.names, stays, strict=True) if left]
        return DenseColumns(dense.keys[stays], names) if stays.any() else None

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        names = want_names or (bool(self.patterns) and not self.space.invertible)
        for batch, cursor in self.source._read(rows, start, only, names, want_labels):
            self.drop.rows_read |= only is None
            yield self._without(batch, want_names), cursor

    def _without(self, batch: Batch, want_names: bool) -> Batch:
        indptr, where, hits = self._index.drop(batch.indptr, batch.keys, self._flags(batch))
        self.drop.found.update(self._entries[i] for i in np.flatnonzero(hits).tolist())
        names = batch.names if want_names else None
        if len(where) == batch.nnz:
            return batch if names is batch.names else replace(batch, names=names)
        values = None if batch.values is None else batch.values[where]
        names = None if names is None else replace(names, words=names.words[where])
        return replace(batch, indptr=indptr, keys=batch.keys[where], values=values, names=names)

    def _flags(self, batch: Batch) -> NDArray[np.uint8] | None:
        """Which features match a pattern."""
        if not self.patterns:
            return None
        if batch.names is not None:
            flags, hits = match_names(batch.names, self.patterns)
        else:  # the keys give the names: each is spelled once
            keys, which = np.unique(batch.keys, return_inverse=True)
            spelled = Names.of_bytes([name.encode() for name in self.space.decode(keys)])
            flags, hits = match_names(spelled, self.patterns)
            flags = flags[which]
        self.drop.found.update(self.patterns[i].text for i in np.flatnonzero(hits).tolist())
        return flags


def match_names(names: Names, patterns: Sequence[Pattern]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Which names match a pattern, and which patterns matched."""
    return _native.match_names(names.words, names.text, names.prefixes, [list(one.tokens) for one in patterns])


def match_positions(space: FeatureSpace, pattern: Pattern) -> list[str] | None:
    """The names of columns by position that match a pattern; None if they cannot be listed."""
    if space.kind != "column" or space.size is None or space.size > _MOST_POSITIONS:
        return None
    found: list[str] = []
    for at in range(0, space.size, _POSITIONS):
        keys = np.arange(at, min(at + _POSITIONS, space.size), dtype=np.uint64)
        flags, _ = match_names(Names.of_keys(keys, b"x"), [pattern])
        found += space.decode(keys[flags != 0])
    return found


def _may_match(pattern: Pattern, columns: Sequence[str]) -> bool:
    """Whether a pattern may match a feature that is made from one of these columns, but not the column's own name."""
    head = pattern.head
    behind = [column.encode("utf-8", "surrogateescape") + sign for column in columns for sign in _BEHIND_COLUMNS]
    return any(start.startswith(head) or head.startswith(start) for start in behind)
