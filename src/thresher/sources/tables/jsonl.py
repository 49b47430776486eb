"""JSON lines: one object per row."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.memory import ReadLimits
from thresher.display import did_you_mean, quoted
from thresher.errors import DataError
from thresher.sources.base import OnError, Source
from thresher.sources.documents.ngram_encoder import NgramEncoder
from thresher.sources.files.paths import Part, PathLike, find_parts, fingerprint
from thresher.sources.tables.arrow_columns import binary_array, plain_array
from thresher.sources.tables.csv_dialect import BOM, head_of
from thresher.sources.tables.infer import SAMPLE_BYTES, SAMPLE_ROWS, infer_table
from thresher.sources.tables.row_encoder import (
    EncodedSource,
    RowEncoder,
    encoder_options,
    identity_of,
    missing_target,
    with_group_column,
    with_id_column,
)
from thresher.sources.tables.schema import Schema
from thresher.sources.text.line_formats import LineSource

log = logging.getLogger("thresher.sources")

#: The number of faults of a stretch that are reported; all are counted.
_MAX_FAULTS = 8


@dataclass(frozen=True, kw_only=True)
class JsonlSource(EncodedSource, LineSource):
    """Lines that are JSON objects, with their members as the columns of a table."""

    encoder: RowEncoder

    space = FeatureSpace("token")

    @property
    def format(self) -> str:
        return "jsonl"

    @property
    def _parse(self) -> Callable[..., dict[str, Any]]:
        raise NotImplementedError  # see `_parser`

    def _parser(self, part: Part, cursor: Cursor) -> Callable[..., dict[str, Any]]:
        return _JsonlParser(self.encoder, part)

    def fingerprint(self) -> str:
        return fingerprint(
            self.parts,
            format=self.format,
            multilabel=self.multilabel,
            on_error=self.on_error,
            form=identity_of(self.encoder),
        )

    def reading(self) -> dict[str, Any]:
        """The columns."""
        return {"form": self.encoder.to_dict()}

    def with_ids(self, column: str | None = None) -> Source:
        return with_id_column(self, column)

    def grouped(self, column: str, *, feature: bool = False) -> Source:
        return with_group_column(self, column, feature)


@dataclass
class _Stretch:
    """The members of some lines, the start of each line, the faults of malformed lines, and the end of them all."""

    columns: dict[str, list[bytes | None]]
    begins: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    faults: list[tuple[int, int, str]] = field(default_factory=list)
    end: int = 0
    line: int = 0

    def arrays(self) -> dict[str, Any]:
        """The members as Arrow arrays."""
        return {name: binary_array(values) for name, values in self.columns.items()}


class _JsonlParser:
    """Parses one stretch of lines after the other."""

    def __init__(self, encoder: RowEncoder, part: Part) -> None:
        self._encoder = encoder
        self._part = part
        # A text is required; an absent member of a table is a missing value.
        self._required = [encoder.text] if isinstance(encoder, NgramEncoder) else []
        self._checked_names = part.begin > 0  # only the first rows of a file show whether a name is misspelt

    def __call__(
        self, block: NDArray[np.uint8], at: int, end: int, *, rows: int, skip: bool, labels_optional: bool, **more: Any
    ) -> dict[str, Any]:
        if self._encoder.labels.target is None and not labels_optional and end > at:
            raise missing_target(self._part.name, _members(block[at:end].tobytes()))
        stretch = self._gather(block, at, end, rows, more["features"], skip, labels_optional)
        n = len(stretch.begins)
        encoded = self._encoder.rows(
            stretch.arrays() if n else {},
            n,
            rows=n + 1,
            skip=skip,
            labels_optional=labels_optional,
            **encoder_options(more),
        )
        done = encoded["consumed"]
        # If a batch is full, or a row is malformed and not skipped, the rows after it are parsed again later.
        reached, line = (stretch.begins[done], stretch.lines[done]) if done < n else (stretch.end, stretch.line)
        faults = [fault for fault in stretch.faults if fault[0] < reached or (done == n and not skip)]
        encoded["skipped"] += len(faults) if skip else 0
        for name, row, what in encoded["faults"]:
            faults.append((stretch.begins[row], stretch.lines[row], f"{what}, in {quoted(name)}"))
        encoded["faults"] = sorted(faults)[:_MAX_FAULTS]
        encoded["line"] = np.array(stretch.lines, np.int64)[encoded["line"]]
        return {**encoded, "consumed": reached, "lines": line}

    def _gather(
        self,
        block: NDArray[np.uint8],
        at: int,
        end: int,
        rows: int,
        features: int,
        skip: bool,
        labels_optional: bool,
    ) -> _Stretch:
        """The needed members of up to ``rows`` lines, or of as many as make about ``features`` features."""
        optional = self._encoder.labels.optional if labels_optional else []
        stretch = _Stretch({name: [] for name in self._encoder.needed})
        where = at
        for stop in (np.flatnonzero(block[at:end] == 10) + (at + 1)).tolist():
            if len(stretch.begins) == rows or stretch.end // 4 > features:
                break
            text = block[where:stop].tobytes()
            if not text.isspace():
                members = self._object(text, optional)
                if isinstance(members, str):
                    stretch.faults.append((where - at, stretch.line, members))
                    if not skip:
                        break
                else:
                    stretch.begins.append(where - at)
                    stretch.lines.append(stretch.line)
                    for name, value in members.items():
                        stretch.columns[name].append(value)
            where = stop
            stretch.end, stretch.line = stop - at, stretch.line + 1
        if not self._checked_names and stretch.begins:
            self._checked_names = True
            self._warn_missing(stretch, optional)
        return stretch

    def _warn_missing(self, stretch: _Stretch, optional: list[str]) -> None:
        """Warn of members that no row has: their names may be misspelt."""
        for name, values in stretch.columns.items():
            if name not in optional and all(value is None for value in values):
                log.warning("%s: none of the first %d rows has a member %s", self._part.name, len(values), quoted(name))

    def _object(self, text: bytes, optional: list[str]) -> dict[str, bytes | None] | str:
        """The needed members of an object as text, or the fault of the line."""
        found = parse_object(text)
        if isinstance(found, str):
            return found
        out: dict[str, bytes | None] = {}
        for name in self._encoder.needed:
            if name not in found and name in self._required and name not in optional:
                return f"there is no member {quoted(name)}{did_you_mean(name, list(found))[:-1]}"
            value = found.get(name)
            if isinstance(value, (dict, list)):
                return f"{quoted(name)} holds several values instead of one"
            try:
                out[name] = None if value is None else _to_bytes(value)
            except UnicodeEncodeError:
                return f"{quoted(name)} holds half a character (a lone surrogate)"
        return out


def parse_object(text: bytes) -> dict[str, Any] | str:
    """The object on a line, or the fault of the line."""
    try:
        # Of bytes, `json.loads` guesses the encoding, and takes encoded halves of characters for UTF-8.
        found = json.loads(text.removeprefix(BOM).decode())
    except UnicodeDecodeError as error:
        return f"the line is not UTF-8 from its byte {error.start + 1} on"
    except RecursionError:
        return "the line is nested too deeply"
    except ValueError as error:
        return f"the line is not JSON ({error})"
    if not isinstance(found, dict):
        return "the line is not a JSON object"
    # Only an escape can spell half a character, which no encoding can write.
    if b"\\u" in text and any("\ud800" <= letter <= "\udfff" for name in found for letter in name):
        return "the name of a member holds half a character (a lone surrogate)"
    return found


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return (str(value).lower() if isinstance(value, bool) else repr(value)).encode()


def _members(text: bytes) -> list[str]:
    found = parse_object(text.split(b"\n", 1)[0])
    return [] if isinstance(found, str) else list(found)


def jsonl_layout(parts: list[Part]) -> tuple[list[str], Any]:
    """The member names of the first objects of a file, and their values as an Arrow table with inferred types."""
    import pyarrow as pa

    first = parts[0]
    if first.once:
        raise DataError(
            f"{first.name}: it can be read only once, so its columns cannot be inferred from the first rows. Write it "
            "to a file first."
        )
    head = head_of(first, SAMPLE_BYTES, ReadLimits()).removeprefix(BOM)
    texts = head.split(b"\n")
    if len(head) == SAMPLE_BYTES:
        texts = texts[:-1] or texts
    found = []
    for text in texts[: 4 * SAMPLE_ROWS]:
        value = parse_object(text)
        if not isinstance(value, str):  # reading reports the others
            found.append(value)
        if len(found) == SAMPLE_ROWS:
            break
    names = list(dict.fromkeys(name for one in found for name in one))
    return names, pa.table({name: _typed([one.get(name) for one in found]) for name in names})


def _typed(values: list[Any]) -> Any:
    import pyarrow as pa

    present = [value for value in values if value is not None]
    if not present:
        return pa.nulls(len(values))
    if all(isinstance(value, (int, float)) for value in present):
        return plain_array(np.array([np.nan if value is None else _to_float(value) for value in values]))
    texts = [None if value is None else value if isinstance(value, str) else json.dumps(value) for value in values]
    return binary_array([None if text is None else text.encode("utf-8", "replace") for text in texts])


def _to_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:  # a whole number of many digits: reading reports it
        return math.inf


def scan_jsonl(paths: PathLike | Iterable[PathLike], *, on_error: OnError = "stop", **columns: Any) -> JsonlSource:
    """Read files of JSON lines, plain or compressed.

    Parameters
    ----------
    paths : path, glob, folder, or several of these
    on_error : {"stop", "skip"}
        Whether a malformed line raises `DataError` or is counted and skipped.
    columns
        ``target``, ``numeric``, ``schema`` and the other options for columns of `thresher.scan_csv`.
    """
    parts = find_parts(paths)
    schema = Schema.of(columns.pop("schema", None), columns)
    encoder = infer_table(schema, *jsonl_layout(parts), parts[0].name)
    return JsonlSource(tuple(parts), on_error, encoder=encoder)
