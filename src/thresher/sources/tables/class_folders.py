"""A folder of texts for each class, a file a text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.memory import ReadLimits
from thresher.errors import DataError, SettingsError
from thresher.sources.base import Source
from thresher.sources.files import paths as opening
from thresher.sources.files.paths import Part, PathLike, Stream, _natural
from thresher.sources.tables.arrow_columns import binary_array
from thresher.sources.tables.ngram_encoder import TextForm
from thresher.sources.tables.row_encoder import batch_of
from thresher.sources.text.parse_errors import OnError, Place

#: Files that cannot be used of which a reading tells; all are counted.
_TOLD = 5


class _Some(NamedTuple):
    """Texts, the numbers of their files, files that could not be read and why, and the number of the next file."""

    texts: list[bytes]
    numbers: list[int]
    unread: list[tuple[int, DataError]]
    end: int


@dataclass(frozen=True)
class ClassFolders(Source):
    """Files whose folder is their label. Their paths are held in memory; so they can be read in any order."""

    paths: tuple[str, ...]
    form: TextForm
    on_error: OnError = "stop"
    limits: ReadLimits = field(default_factory=ReadLimits)
    space = FeatureSpace("token")

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "skip"):
            raise SettingsError(f'on_error is "stop" or "skip", not {self.on_error!r}')

    @property
    def parts(self) -> list[Part]:
        """The files, for whoever looks whether they have changed."""
        return [Part(path) for path in self.paths]

    @property
    def held_bytes(self) -> int:  # type: ignore[override]
        return sum(len(path) + 57 for path in self.paths)

    @property
    def total_rows(self) -> int | None:  # type: ignore[override]
        return len(self.paths) if self.on_error == "stop" else None

    def limited(self, limits: ReadLimits) -> Source:
        return replace(self, limits=limits)

    def fingerprint(self) -> str:
        return opening.fingerprint(
            self.parts,
            format="folders",
            labels=[_class_of(path) for path in self.paths],
            form=self.form.identity(),
            on_error=self.on_error,
        )

    def reading(self) -> dict[str, Any]:
        """How to read other files in the same way."""
        return {"form": self.form.identity()}

    def describe(self) -> str:
        return f"{self.paths[0]} and {len(self.paths) - 1} more" if len(self.paths) > 1 else self.paths[0]

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        if batch.line is None:
            return self.describe()
        number = int(batch.line[row]) - 1
        return f"{self.paths[number]}, row {number} (counted from 0)"

    def shards(self, n: int) -> list[Source]:
        super().shards(n)
        n = min(n, len(self.paths))
        bounds = [len(self.paths) * i // n for i in range(n + 1)]
        return [replace(self, paths=self.paths[a:b]) for a, b in pairwise(bounds)]

    def shuffled(self, seed: int, *, rows: int, features: int) -> Source:
        order = np.random.default_rng(seed).permutation(len(self.paths))
        return replace(self, paths=tuple(self.paths[i] for i in order))

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        options = {
            "features": max(1, self.limits.block // 9),
            "skip": self.on_error == "skip",
            "want_names": want_names,
            "only": only,
            "labels_optional": not want_labels,
        }
        cursor, handed_on, told = start, start.skipped, 0
        while cursor.offset < len(self.paths):
            some = self._some(cursor.offset, rows)
            made = self._made(some.texts, some.numbers, options)
            looked = made["consumed"]
            reached = some.end if looked == len(some.texts) else some.numbers[looked]
            unread = [(number, error) for number, error in some.unread if number < reached]
            if self.on_error == "stop" and looked == len(some.texts):
                unread = some.unread  # it comes next
            batch = batch_of(made, np.array(some.numbers, np.int64)[made["line"]] + 1)
            cursor = replace(
                cursor,
                offset=reached,
                row=cursor.row + len(batch),
                read=reached,
                skipped=cursor.skipped + made["skipped"] + len(unread),
            )
            if len(batch):
                handed_on = cursor.skipped
                yield batch, cursor
            wrong = [(some.numbers[row], what) for _, row, what in made["faults"]]
            for number, what in sorted([*wrong, *unread], key=lambda bad: bad[0])[: max(0, _TOLD - told)]:
                self._tell(number, what, cursor)
                told += 1
        if cursor.skipped > handed_on:
            # Bad files behind the last good one: they are counted in the cursor of a batch of no rows.
            yield batch_of(self._made([], [], options), np.empty(0, np.int64)), cursor

    def _tell(self, number: int, what: str | DataError, cursor: Cursor) -> None:
        place = Place(Part(self.paths[number]), self.on_error, cursor)
        if isinstance(what, str):
            place.row("the file", what)
        else:
            place.broken(what)

    def _some(self, begin: int, rows: int) -> _Some:
        """The next files, as many as make a block; up to the first that cannot be read, or without such."""
        some = _Some([], [], [], begin)
        size, number = 0, begin
        while number < len(self.paths) and len(some.texts) < rows and size < self.limits.block:
            text, failure = self._text(Part(self.paths[number]))
            if failure is not None:
                some.unread.append((number, failure))
                if self.on_error == "stop":
                    break
            else:
                some.texts.append(text)
                some.numbers.append(number)
                size += len(text)
            number += 1
        return some._replace(end=number)

    def _text(self, part: Part) -> tuple[bytes, DataError | None]:
        with Stream(part.path, window_limit=self.limits.window) as stream:
            text = bytearray()
            chunk = bytearray(1 << 16)
            while size := stream.readinto(memoryview(chunk)):
                text += chunk[:size]
                if len(text) > self.limits.line_cap:
                    cap = self.limits.line_cap
                    return b"", DataError(f"{part.name}: the text is longer than {cap} bytes, the cap for this memory.")
            return bytes(text), stream.failure

    def _made(self, texts: list[bytes], numbers: list[int], options: dict[str, Any]) -> dict[str, Any]:
        labels = [os.fsencode(_class_of(self.paths[number])) for number in numbers]
        arrays = {"text": binary_array(texts), "class": binary_array(labels)}
        return self.form.rows(arrays, len(texts), rows=len(texts) + 1, **options)


def _class_of(path: str) -> str:
    return os.path.basename(os.path.dirname(path))


def class_files(paths: PathLike | Iterable[PathLike]) -> tuple[str, ...] | None:
    """The files in the folders in a folder, in natural order; None where the paths are something else."""
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not several:
        return None
    found: list[str] = []
    for folder in (os.fspath(path) for path in several):
        if not os.path.isdir(folder):
            return None
        with os.scandir(folder) as inside:
            classes = [entry.path for entry in inside if entry.is_dir() and not entry.name.startswith(".")]
        if not classes:
            return None
        for one in sorted(classes, key=_natural):
            with os.scandir(one) as files:
                texts = [entry.path for entry in files if entry.is_file() and not entry.name.startswith(".")]
            found += sorted(texts, key=_natural)
    if not found:
        raise DataError(f"{os.fspath(several[0])}: its folders hold no files. Check the path.")
    return tuple(found)
