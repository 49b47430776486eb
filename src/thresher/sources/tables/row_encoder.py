"""The interface of the encoders that turn columns into rows, and helpers of the sources that use them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from thresher.core.batch import Batch, Names
from thresher.core.units import DenseColumns
from thresher.display import did_you_mean, listed, quoted
from thresher.errors import DataError
from thresher.sources.base import Source
from thresher.sources.tables.table_encoder import Labels, TableEncoder
from thresher.sources.text.line_formats import group_parts


class RowEncoder(Protocol):
    """Turns columns into rows of features: `TableEncoder` or `NgramEncoder`."""

    @property
    def labels(self) -> Labels: ...
    @property
    def needed(self) -> list[str]: ...
    @property
    def width(self) -> int: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def schema_bytes(self) -> int: ...
    @property
    def dense_columns(self) -> DenseColumns | None: ...
    def to_dict(self) -> dict[str, Any]: ...
    def rows(self, arrays: Mapping[str, Any], n: int, **options: Any) -> dict[str, Any]:
        """The first ``n`` rows; without rows no column is needed."""
        ...


class EncodedSource(Source):
    """What a source knows of its columns from its encoder."""

    encoder: RowEncoder

    @property
    def schema_bytes(self) -> int:  # type: ignore[override]
        return self.encoder.schema_bytes

    @property
    def dense_columns(self) -> DenseColumns | None:
        return self.encoder.dense_columns

    @property
    def feature_columns(self) -> Sequence[str]:
        return feature_columns(self.encoder)

    def with_texts(self) -> dict[str, Source]:
        return {prefix: self.with_ids(text) for prefix, text in texts_of(self.encoder).items()}

    def without_columns(self, columns: Collection[str]) -> Source:
        source: Any = self  # a dataclass
        narrower: Source = replace(source, encoder=narrowed_encoder(self.encoder, columns))
        return narrower

    def warnings(self) -> list[str]:
        return list(self.encoder.warnings)


def column_positions(encoder: RowEncoder, names: list[str], file: str, labels_optional: bool) -> dict[str, int]:
    """The positions of the needed columns in a file. Columns of optional labels may be absent."""
    if encoder.labels.target is None and not labels_optional:
        raise missing_target(file, names)
    optional = encoder.labels.optional if labels_optional else []
    positions = {name: i for i, name in reversed(list(enumerate(names)))}  # the first of two equal names
    found: dict[str, int] = {}
    for name in encoder.needed:
        if name in positions:
            found[name] = positions[name]
        elif name not in optional:
            renamed = name == getattr(encoder, "text", None)
            other = " If the text has another name here, pass `text`." if renamed else ""
            raise DataError(f"{file}: there is no column {quoted(name)}{did_you_mean(name, names)}{other}")
    return found


def missing_target(file: str, names: list[str]) -> DataError:
    """The error for labels that are wanted although no column was named for them."""
    error = DataError(f"{file}: no column is named for the labels. Pass `target`, one of {listed(names)}.")
    error.add_note(
        "An estimator takes the labels from a source: `fit(th.scan(path, target=…))`."
    )  # not for the command
    return error


def to_batch(encoded: dict[str, Any], line: NDArray[np.int64]) -> Batch:
    """Make a batch from the output of an encoder; ``line`` holds the line of each row."""
    names = None if encoded["names"] is None else Names(encoded["names"], encoded["text"], encoded["prefixes"])
    return Batch(
        encoded["indptr"],
        encoded["keys"],
        encoded["values"],
        encoded["y"],
        weight=encoded["weight"],
        names=names,
        qid=encoded["qid"],
        line=line,
        id=encoded["id"],
    )


def shards_of_files(source: Any, n: int) -> list[Source]:
    """Split a source into shards of whole files."""
    Source.shards(source, n)
    return [replace(source, parts=some) for some in group_parts(list(source.parts), n)]


def with_id_column(source: Any, column: str | None) -> Source:
    """A source of a table whose rows are identified by a column."""
    if column is None:
        return Source.with_ids(source, column)
    encoder = source.encoder
    named: Source = replace(source, encoder=replace(encoder, labels=replace(encoder.labels, id=column)))
    return named


def texts_of(encoder: Any) -> dict[str, str]:
    """The columns of texts of an encoder, by what the names of the features of each begin with."""
    if isinstance(encoder, TableEncoder):
        return {f"{column.name}=": column.name for column in encoder.columns if column.kind == "text"}
    return {encoder.prefix: encoder.text}


def with_group_column(source: Any, column: str, feature: bool) -> Source:
    """A source of a table whose rows have the group of a column."""
    named: Source = replace(source, encoder=grouped_encoder(source.encoder, column, feature))
    return named


def grouped_encoder(encoder: Any, column: str, feature: bool) -> Any:
    """The encoder with the group of each row; its column is no feature unless that is wanted."""
    labels = encoder.labels
    if column in (labels.target, labels.weight, getattr(encoder, "text", None)):
        raise DataError(f"the column {quoted(column)} is named twice, for different uses. Name another one for groups.")
    if isinstance(encoder, TableEncoder) and not feature:
        encoder = replace(encoder, columns=tuple(one for one in encoder.columns if one.name != column))
        if not encoder.columns:
            raise DataError(f"without the column {quoted(column)}, which forms the groups, no feature is left.")
    return replace(encoder, labels=replace(labels, group=column))


def feature_columns(encoder: RowEncoder) -> list[str]:
    """The columns that an encoder makes features from; n-grams have no names of columns."""
    return [column.name for column in encoder.columns] if isinstance(encoder, TableEncoder) else []


def narrowed_encoder(encoder: Any, columns: Collection[str]) -> Any:
    """The encoder without the features of some columns, and without the warnings about them."""
    warnings = tuple(one for one in encoder.warnings if not any(quoted(name) in one for name in columns))
    left = tuple(column for column in encoder.columns if column.name not in columns)
    return replace(encoder, columns=left, warnings=warnings)


def identity_of(encoder: RowEncoder) -> dict[str, Any]:
    """How the rows are made, for fingerprints: the recipe, and the column of the groups."""
    group = encoder.labels.group
    return encoder.to_dict() if group is None else {**encoder.to_dict(), "group": group}


def encoder_options(options: Mapping[str, Any], names: Iterable[str] = ("features", "want_names", "only")) -> Any:
    """The options of a line parser that the encoders take too."""
    return {name: options[name] for name in names}
