"""Texts in files: one file per text, and one folder per class if they have labels."""

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
from thresher.display import shown_path
from thresher.errors import DataError
from thresher.sources.base import OnError, Source, check_on_error
from thresher.sources.documents.ngram_encoder import NgramEncoder
from thresher.sources.files.paths import Part, PathLike, Stream, fingerprint, natural_order
from thresher.sources.files.reader import ReadPosition
from thresher.sources.registry import COMPRESSED
from thresher.sources.tables.arrow_columns import binary_array
from thresher.sources.tables.row_encoder import to_batch

#: The number of unusable files that a pass reports; all are counted.
_MAX_REPORTED = 5


class _Texts(NamedTuple):
    """Texts, the numbers of their files, the files that could not be read with their errors, and the next file."""

    texts: list[bytes]
    numbers: list[int]
    unread: list[tuple[int, DataError]]
    end: int


@dataclass(frozen=True)
class ClassFolders(Source):
    """Files of one text each, with their folder as the label if the encoder has labels.

    Their paths are in memory, so they can be read in any order.
    """

    paths: tuple[str, ...]
    encoder: NgramEncoder
    on_error: OnError = "stop"
    limits: ReadLimits = field(default_factory=ReadLimits)
    space = FeatureSpace("token")
    parses_files = True

    def __post_init__(self) -> None:
        check_on_error(self.on_error)

    @property
    def parts(self) -> list[Part]:
        """The files, to check whether they have changed."""
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
        return fingerprint(
            self.parts,
            format="folders",
            labels=[_class_of(path) for path in self.paths],
            form=self.encoder.to_dict(),
            on_error=self.on_error,
        )

    def reading(self) -> dict[str, Any]:
        """The n-grams."""
        return {"form": self.encoder.to_dict()}

    def describe(self) -> str:
        first = shown_path(self.paths[0])
        return f"{first} and {len(self.paths) - 1} more" if len(self.paths) > 1 else first

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        if batch.line is None:
            return self.describe()
        number = int(batch.line[row]) - 1
        return f"{shown_path(self.paths[number])}, row {number} (counted from 0)"

    def row_files(self, cursor: Cursor, batch: Batch) -> list[str]:
        return [] if batch.line is None else [self.paths[number - 1] for number in batch.line.tolist()]

    def with_texts(self) -> dict[str, Source]:
        labels = replace(self.encoder.labels, id=self.encoder.text)
        return {self.encoder.prefix: replace(self, encoder=replace(self.encoder, labels=labels))}

    def shards(self, n: int) -> list[Source]:
        super().shards(n)
        n = min(n, len(self.paths))
        bounds = [len(self.paths) * i // n for i in range(n + 1)]
        return [replace(self, paths=self.paths[a:b]) for a, b in pairwise(bounds)]

    mixes = True

    def shuffled(self, seed: int, *, rows: int, features: int) -> Source:
        order = np.random.default_rng(seed).permutation(len(self.paths))
        return replace(self, paths=tuple(self.paths[i] for i in order))

    def permuted(self, seed: int) -> Source:
        return self.shuffled(seed, rows=0, features=0)

    @property
    def most_parts(self) -> int:
        return len(self.paths)

    def nth_part(self, part: int, parts: int) -> Source:
        return replace(self, paths=self.paths[part::parts])

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        if want_labels and self.encoder.labels.target is None:
            raise DataError(
                f"{self.describe()}: these texts have no labels. Put those of each class into a folder of its own, and "
                "pass the folder of these folders."
            )
        options = {
            "features": self.limits.batch_features,
            "skip": self.on_error == "skip",
            "want_names": want_names,
            "only": only,
            "labels_optional": not want_labels,
        }
        cursor, yielded, reported = start, start.skipped, 0
        while cursor.offset < len(self.paths):
            texts = self._next_texts(cursor.offset, rows)
            encoded = self._encode(texts.texts, texts.numbers, options)
            done = encoded["consumed"]
            reached = texts.end if done == len(texts.texts) else texts.numbers[done]
            unread = [(number, error) for number, error in texts.unread if number < reached]
            if self.on_error == "stop" and done == len(texts.texts):
                unread = texts.unread  # its error comes next
            batch = to_batch(encoded, np.array(texts.numbers, np.int64)[encoded["line"]] + 1)
            cursor = replace(
                cursor,
                offset=reached,
                row=cursor.row + len(batch),
                read=reached,
                skipped=cursor.skipped + encoded["skipped"] + len(unread),
            )
            if len(batch):
                yielded = cursor.skipped
                yield batch, cursor
            wrong = [(texts.numbers[row], what) for _, row, what in encoded["faults"]]
            for number, what in sorted([*wrong, *unread], key=lambda bad: bad[0])[: max(0, _MAX_REPORTED - reported)]:
                self._report(number, what, cursor)
                reported += 1
        if cursor.skipped > yielded:
            # The cursor of an empty batch counts the unusable files behind the last good one.
            yield to_batch(self._encode([], [], options), np.empty(0, np.int64)), cursor

    def _report(self, number: int, what: str | DataError, cursor: Cursor) -> None:
        position = ReadPosition(Part(self.paths[number]), self.on_error, cursor)
        if isinstance(what, str):
            position.report_row("the file", what)
        else:
            position.report_damage(what)

    def _next_texts(self, begin: int, rows: int) -> _Texts:
        """The next texts, as many as make a block; with on_error="stop", up to the first unreadable file."""
        found = _Texts([], [], [], begin)
        size, number = 0, begin
        while number < len(self.paths) and len(found.texts) < rows and size < self.limits.block:
            text, failure = self._text(Part(self.paths[number]))
            if failure is not None:
                found.unread.append((number, failure))
                if self.on_error == "stop":
                    break
            else:
                found.texts.append(text)
                found.numbers.append(number)
                size += len(text)
            number += 1
        return found._replace(end=number)

    def _text(self, part: Part) -> tuple[bytes, DataError | None]:
        with Stream(part.path, window_limit=self.limits.window) as stream:
            text = bytearray()
            chunk = bytearray(1 << 16)
            while size := stream.readinto(memoryview(chunk)):
                text += chunk[:size]
                if len(text) > self.limits.line_cap:
                    cap = self.limits.line_cap
                    return b"", DataError(
                        f"{part.name}: the text is longer than {cap} bytes, the cap for this memory: "
                        "pass more `memory`."
                    )
            return bytes(text), stream.failure

    def _encode(self, texts: list[bytes], numbers: list[int], options: dict[str, Any]) -> dict[str, Any]:
        labels = [os.fsencode(_class_of(self.paths[number])) for number in numbers]
        arrays = {"text": binary_array(texts), "class": binary_array(labels)}
        return self.encoder.rows(arrays, len(texts), rows=len(texts) + 1, **options)


def _class_of(path: str) -> str:
    return os.path.basename(os.path.dirname(path))


def class_files(paths: PathLike | Iterable[PathLike], *, without_files: bool = False) -> tuple[str, ...] | None:
    """The files of the folders of classes, in natural order; None if the paths are not such folders.

    The folders of classes are the subfolders of the paths, or the paths themselves if they are several folders of
    nothing but ``.txt`` files. With ``without_files``, also None if a folder with subfolders has files of its own.
    """
    several = [os.fspath(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    if not several or not all(map(os.path.isdir, several)):
        return None
    inside = [_entries(folder) for folder in several]
    if len(several) > 1 and all(entries and all(map(_is_text, entries)) for entries in inside):
        return tuple(entry.path for entries in inside for entry in entries)
    if not all(any(entry.is_dir() for entry in entries) for entries in inside):
        return None
    if without_files and any(entry.is_file() for entries in inside for entry in entries):
        return None
    classes = [entry.path for entries in inside for entry in entries if entry.is_dir()]
    texts = [entry.path for one in classes for entry in _entries(one) if entry.is_file()]
    if not texts:
        raise DataError(f"{several[0]}: its folders have no files. Check the path.")
    return tuple(texts)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """What a folder holds, without hidden files, in natural order."""
    with os.scandir(folder) as scanned:
        entries = [entry for entry in scanned if not entry.name.startswith(".")]
    return sorted(entries, key=lambda entry: natural_order(entry.path))


def _is_text(entry: os.DirEntry[str]) -> bool:
    """Whether this is a ``.txt`` file, plain or compressed."""
    endings = [ending for ending in entry.name.lower().split(".")[1:] if ending not in COMPRESSED]
    return entry.is_file() and endings[-1:] == ["txt"]
