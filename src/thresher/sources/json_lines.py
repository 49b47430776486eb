"""JSON lines: an object a row."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.batch import Cursor
from thresher.errors import DataError
from thresher.sources import open as opening
from thresher.sources.dialect import BOM, head_of
from thresher.sources.forms import RowForm, kernel_options, no_cells, no_target
from thresher.sources.guess import SAMPLE_BYTES, SAMPLE_ROWS
from thresher.sources.lines import LineSource
from thresher.sources.open import Part
from thresher.sources.schema import nearest
from thresher.sources.source import ReadLimits
from thresher.space import FeatureSpace


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


class _JsonRows:
    """Parses one stretch of lines after the other."""

    def __init__(self, form: RowForm, part: Part) -> None:
        self._form = form
        self._part = part
        # A text must be there; a column of a table that is not is a missing value.
        self._must = [form.text] if hasattr(form, "text") else []

    def __call__(
        self, block: NDArray[np.uint8], at: int, end: int, *, rows: int, skip: bool, labels_optional: bool, **more: Any
    ) -> dict[str, Any]:
        import pyarrow as pa

        if self._form.labels.target is None and not labels_optional and end > at:
            raise no_target(self._part.name, _members(block[at:end].tobytes()))
        optional = self._form.labels.needed if labels_optional else []
        needed = self._form.needed
        columns: dict[str, list[bytes | None]] = {name: [] for name in needed}
        begins: list[int] = []
        lines: list[int] = []
        faults: list[tuple[int, int, str]] = []
        skipped, line, where = 0, 0, at
        ends = np.flatnonzero(block[at:end] == 10) + (at + 1)
        features = 0
        for stop in ends.tolist():
            if len(begins) == rows or features > more["features"]:
                break
            text = block[where:stop].tobytes()
            features += len(text) // 4
            if not text.isspace():
                found = self._object(text, needed, optional)
                if isinstance(found, str):
                    faults.append((where - at, line, found))
                    if not skip:
                        break
                    skipped += 1
                else:
                    begins.append(where - at)
                    lines.append(line)
                    for name, value in found.items():
                        columns[name].append(value)
            where, line = stop, line + 1
        arrays = {name: pa.array(values, pa.binary()) for name, values in columns.items()} if begins else None
        made = self._form.rows(
            arrays or no_cells(self._form),
            len(begins),
            rows=len(begins) + 1,
            skip=skip,
            labels_optional=labels_optional,
            **kernel_options(more),
        )
        looked = made["consumed"]
        of_rows = [(begins[row], lines[row], f"{what}, in {column!r}") for column, row, what in made["faults"]]
        if looked < len(begins):  # a batch is full, or a row is bad and nobody said to go on
            before = begins[looked]
            early = [fault for fault in faults if fault[0] < before]
            made["consumed"], made["lines"] = before, lines[looked]
            made["skipped"] += len(early) if skip else 0
            made["faults"] = sorted(early + of_rows)[:8] if skip else of_rows
        else:
            made["consumed"], made["lines"] = where - at, line
            made["skipped"] += skipped
            made["faults"] = sorted(faults + of_rows)[:8]
        made["line"] = np.array(lines, np.int64)[made["line"]]
        return made

    def _object(self, text: bytes, needed: list[str], optional: list[str]) -> dict[str, bytes | None] | str:
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
        for name in needed:
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
        return pa.array([None if value is None else float(value) for value in values])
    texts = [None if value is None else value if isinstance(value, str) else json.dumps(value) for value in values]
    return pa.array([None if text is None else text.encode("utf-8", "replace").decode() for text in texts])
