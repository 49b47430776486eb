"""Files of parsed rows as a source, as ``thresher convert`` writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from thresher import _native
from thresher.core.batch import Batch, Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.memory import ReadLimits
from thresher.display import shown_path
from thresher.errors import DataError, FileFormatError
from thresher.sources.base import Source
from thresher.sources.blocks import BLOCK_BYTES, Blocks
from thresher.sources.cache.file import StoredFile, split_block
from thresher.sources.files.paths import Part, PathLike, find_parts, fingerprint
from thresher.sources.text.line_formats import by_query_id, group_parts


@dataclass(frozen=True)
class StoredSource(Source):
    """The rows of files of parsed rows, memory-mapped one after the other."""

    parts: tuple[Part, ...]
    limits: ReadLimits = field(default_factory=ReadLimits)

    @cached_property
    def _files(self) -> list[StoredFile]:
        files = [StoredFile(part.path) for part in self.parts]
        for file in files[1:]:
            if (file.space, file.multilabel) != (files[0].space, files[0].multilabel):
                raise DataError(
                    f"{file.path}: its features are {file.space}, but those of {files[0].path} are {files[0].space}. "
                    "Read only files of one kind together."
                )
        return files

    def __getstate__(self) -> dict[str, Any]:
        # Files that are open stay here: who gets the source opens them again.
        return {name: value for name, value in self.__dict__.items() if name != "_files"}

    @property
    def space(self) -> FeatureSpace:  # type: ignore[override]
        return self._files[0].space

    @property
    def multilabel(self) -> bool:  # type: ignore[override]
        return self._files[0].multilabel

    @property
    def label_columns(self) -> int | None:  # type: ignore[override]
        return self._files[0].label_columns

    @property
    def total_rows(self) -> int | None:  # type: ignore[override]
        return sum(file.summary.rows for file in self._files)

    @property
    def total_bytes(self) -> int | None:  # type: ignore[override]
        return sum(file.size for file in self._files)

    def limited(self, limits: ReadLimits) -> Source:
        return replace(self, limits=limits)

    def fingerprint(self) -> str:
        return fingerprint(self.parts, format="cache")

    def files(self) -> list[str]:
        return [part.name for part in self.parts]

    def skipped_files(self) -> dict[str, int]:
        return {shown_path(file.path): file.summary.skipped for file in self._files if file.summary.skipped}

    def describe(self) -> str:
        first = self.parts[0].name
        return first if len(self.parts) == 1 else f"{first} and {len(self.parts) - 1} more"

    def where(self, cursor: Cursor, batch: Batch, row: int) -> str:
        name = self.parts[min(cursor.part, len(self.parts) - 1)].name
        return name if batch.line is None else f"{name}, line {batch.line[row]} of the original data"

    def blocks(self) -> Blocks | None:
        from thresher.sources.cache.stored_blocks import StoredBlocks

        if sum(file.size for file in self._files) < 2 * BLOCK_BYTES:
            return None
        return StoredBlocks(self, self._open_files, self.limits.batch_features, self._check_labels)

    def _open_files(self, _want_labels: bool) -> AbstractContextManager[list[StoredFile]]:
        return nullcontext(self._files)

    def grouped(self, column: str, *, feature: bool = False) -> Source:
        return by_query_id(self, column)

    def shards(self, n: int) -> list[Source]:
        """Whole files."""
        super().shards(n)
        return [replace(self, parts=some) for some in group_parts(list(self.parts), n)]

    def _read(
        self, rows: int, start: Cursor, only: _native.KeyIndex | None, want_names: bool, want_labels: bool
    ) -> Iterator[tuple[Batch, Cursor]]:
        features = self.limits.batch_features
        total, skipped = start.row - start.offset, start.skipped  # up to the start of the file
        read = sum(file.size for file in self._files[: start.part])
        for number in range(start.part, len(self._files)):
            file = self._files[number]
            first = start.offset if number == start.part else 0
            for block_number, block in file.blocks(first):
                before = file.summary.starts[block_number]
                for batch, end in split_block(block, max(0, first - before), rows, features, only, want_names):
                    if want_labels:
                        self._check_labels(batch, number)
                    at = before + end
                    yield (
                        batch,
                        Cursor(
                            part=number,
                            offset=at,
                            row=total + at,
                            read=read + file.size * at // max(1, file.summary.rows),
                            skipped=skipped + block.cursor.skipped,
                        ),
                    )
            total += file.summary.rows
            read += file.size
            skipped += file.summary.skipped

    def _check_labels(self, batch: Batch, number: int) -> None:
        if batch.y is None:
            raise DataError(
                f"{self.parts[number].name}: its rows have no labels. Write the file again from data with labels."
            )
        if batch.y_indptr is not None:
            return
        missing = batch.y != batch.y
        if np.any(missing):
            where = self.where(Cursor(part=number), batch, int(np.argmax(missing)))
            raise DataError(f"{where}: the row has no label. Write the file again from data with labels.")


def scan_cache(paths: PathLike | Iterable[PathLike]) -> StoredSource:
    """Read files of parsed rows, as ``thresher convert data rows.thc`` writes them.

    Parameters
    ----------
    paths : path, glob, folder, or several of these
    """
    source = StoredSource(tuple(find_parts(paths)))
    if any(part.once for part in source.parts):
        raise FileFormatError(
            "files of parsed rows cannot be read from standard input or a pipe: pass the path of a file."
        )
    source.space  # noqa: B018 - opens the files, so that their errors are raised here
    return source
