"""JSON lines: an object a row."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.memory import ReadLimits
from thresher.errors import DataError
from thresher.sources.files import paths as opening
from thresher.sources.files.paths import Part
from thresher.sources.tables.arrow_columns import binary_array, plain_array
from thresher.sources.tables.csv_dialect import BOM, head_of
from thresher.sources.tables.infer import SAMPLE_BYTES, SAMPLE_ROWS
from thresher.sources.tables.ngram_encoder import TextForm
from thresher.sources.tables.row_encoder import RowForm, kernel_options, no_cells, no_target
from thresher.sources.tables.schema import nearest
from thresher.sources.text.line_source import LineSource

log = logging.getLogger("thresher.sources")

#: Faults told of in one stretch; all are counted.
_TOLD = 8


@dataclass(frozen=True, kw_only=True)
class JsonSource(LineSource):
    """Lines that are JSON objects, whose members are the columns of a table."""

    form: RowForm

    space = FeatureSpace("token")

    @property
    def format(self) -> str:
        return "jsonl"

    @property
    def _parse(self) -> Callable[..., dict[str, Any]]:
        raise NotImplementedError  # `_parser` makes one for each part

    def _parser(self, part: Part, cursor: Cursor) -> Callable[..., dict[str, Any]]:
        return _JsonRows(self.form, part)

    def fingerprint(self) -> str:
        return opening.fingerprint(
            self.parts,
            format=self.format,
            multilabel=self.multilabel,
            on_error=self.on_error,
            form=self.form.identity(),
        )

    def reading(self) -> dict[str, Any]:
        """How to read other files in the same way."""
        return {"form": self.form.identity()}


@dataclass
class _Found:
    """Members of the objects of some lines, where the lines begin, what is wrong with others, and where they end."""

    columns: dict[str, list[bytes | None]]
    begins: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    faults: list[tuple[int, int, str]] = field(default_factory=list)
    end: int = 0
    line: int = 0

    def arrays(self) -> dict[str, Any]:
        """The members as Arrow has them."""
        return {name: binary_array(values) for name, values in self.columns.items()}


class _JsonRows:
    """Parses one stretch of lines after the other."""

    def __init__(self, form: RowForm, part: Part) -> None:
        self._form = form
        self._part = part
        # A text must be there; a column of a table that is not is a missing value.
        self._must = [form.text] if isinstance(form, TextForm) else []
        self._looked = False

    def __call__(
        self, block: NDArray[np.uint8], at: int, end: int, *, rows: int, skip: bool, labels_optional: bool, **more: Any
    ) -> dict[str, Any]:
        if self._form.labels.target is None and not labels_optional and end > at:
            raise no_target(self._part.name, _members(block[at:end].tobytes()))
        found = self._gather(block, at, end, rows, more["features"], skip, labels_optional)
        n = len(found.begins)
        made = self._form.rows(
            found.arrays() if n else no_cells(self._form),
            n,
            rows=n + 1,
            skip=skip,
            labels_optional=labels_optional,
            **kernel_options(more),
        )
        looked = made["consumed"]
        # A batch is full, or a row is bad and nobody said to go on: then the rest was read too early.
        reached, line = (found.begins[looked], found.lines[looked]) if looked < n else (found.end, found.line)
        early = [fault for fault in found.faults if fault[0] < reached or (looked == n and not skip)]
        rows_ = [(found.begins[row], found.lines[row], f"{what}, in {name!r}") for name, row, what in made["faults"]]
        made["skipped"] += len(early) if skip else 0
        made["faults"] = sorted(early + rows_)[:_TOLD]
        made["line"] = np.array(found.lines, np.int64)[made["line"]]
        return {**made, "consumed": reached, "lines": line}

    def _gather(
        self,
        block: NDArray[np.uint8],
        at: int,
        end: int,
        rows: int,
        features: int,
        skip: bool,
        labels_optional: bool,
    ) -> _Found:
        """The members that are needed of up to ``rows`` lines, or of as many as make about so many features."""
        optional = self._form.labels.needed if labels_optional else []
        found = _Found({name: [] for name in self._form.needed})
        where = at
        for stop in (np.flatnonzero(block[at:end] == 10) + (at + 1)).tolist():
            if len(found.begins) == rows or found.end // 4 > features:
                break
            text = block[where:stop].tobytes()
            if not text.isspace():
                members = self._object(text, optional)
                if isinstance(members, str):
                    found.faults.append((where - at, found.line, members))
                    if not skip:
                        break
                else:
                    found.begins.append(where - at)
                    found.lines.append(found.line)
                    for name, value in members.items():
                        found.columns[name].append(value)
            where = stop
            found.end, found.line = stop - at, found.line + 1
        if not self._looked and found.begins:
            self._looked = True
            self._tell_missing(found, optional)
        return found

    def _tell_missing(self, found: _Found, optional: list[str]) -> None:
        """A misspelt name shows only in that no row has it."""
        for name, values in found.columns.items():
            if name not in optional and all(value is None for value in values):
                log.warning("%s: none of the first %d rows has a %r", self._part.name, len(values), name)

    def _object(self, text: bytes, optional: list[str]) -> dict[str, bytes | None] | str:
        """The needed members of an object as text, or what is wrong with it."""
        try:
            found = json.loads(text)
        except UnicodeDecodeError as error:
            return f"the line is not UTF-8 from its byte {error.start + 1} on"
        except RecursionError:
            return "the line is nested too deep"
        except ValueError as error:
            return f"the line is not JSON ({error})"
        if not isinstance(found, dict):
            return "the line is not a JSON object"
        out: dict[str, bytes | None] = {}
        for name in self._form.needed:
            if name not in found and name in self._must and name not in optional:
                return f"there is no {name!r}{nearest(name, list(found))[:-1]}"
            value = found.get(name)
            if isinstance(value, (dict, list)):
                return f"{name!r} holds several values, not one"
            try:
                out[name] = None if value is None else _written(value)
            except UnicodeEncodeError:
                return f"{name!r} holds half a character (a lone surrogate)"
        return out


def _written(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return (str(value).lower() if isinstance(value, bool) else repr(value)).encode()


def _members(text: bytes) -> list[str]:
    for line in text.splitlines()[:1]:
        try:
            found = json.loads(line)
        except ValueError:
            break
        return list(found) if isinstance(found, dict) else []
    return []


def json_layout(parts: list[Part]) -> tuple[list[str], Any]:
    """The members of the first objects of a file, and their values as an Arrow table with inferred types."""
    import pyarrow as pa

    first = parts[0]
    if first.once:
        raise DataError(
            f"{first.name}: it can be read once, so that nothing can be guessed from its first rows. Write it to a "
            "file first."
        )
    head = head_of(first, SAMPLE_BYTES, ReadLimits()).removeprefix(BOM)
    texts = head.split(b"\n")
    if len(head) == SAMPLE_BYTES:
        texts = texts[:-1] or texts
    found = []
    for text in texts[: 4 * SAMPLE_ROWS]:
        try:
            value = json.loads(text) if text.strip() else None
        except (ValueError, RecursionError):
            continue  # reading tells of it
        if isinstance(value, dict):
            found.append(value)
        if len(found) == SAMPLE_ROWS:
            break
    names = list(dict.fromkeys(name for one in found for name in one))
    return names, pa.table({name: _typed([one.get(name) for one in found]) for name in names})


def _typed(values: list[Any]) -> Any:
    import pyarrow as pa

    there = [value for value in values if value is not None]
    if not there:
        return pa.nulls(len(values))
    if all(isinstance(value, (int, float)) for value in there):
        return plain_array(np.array([np.nan if value is None else float(value) for value in values]))
    texts = [None if value is None else value if isinstance(value, str) else json.dumps(value) for value in values]
    return binary_array([None if text is None else text.encode("utf-8", "replace") for text in texts])
