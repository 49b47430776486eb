"""The options for reading data, completed by the arguments of a fit that concern reading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thresher.errors import SettingsError
from thresher.sources.base import Source
from thresher.sources.registry import is_paths


def reading_options(
    data: Any,
    reading: dict[str, Any],
    format: str | None,
    on_error: str,
    *,
    multilabel: bool,
    seed: int,
    sample_weight: Any,
) -> dict[str, Any]:
    """All options for reading the data."""
    if reading and isinstance(data, Source):
        raise SettingsError(f"a Source has its own reading options: leave out {', '.join(reading)}")
    reading = {**reading, "format": format, "on_error": on_error}
    if is_paths(data):
        reading["multilabel"] = multilabel
    if reading.get("fragments") is not None:
        reading.setdefault("seed", seed)
    if sample_weight is not None:  # for a table in a file, the name of a column
        reading["weight"] = sample_weight
    return reading


def named_columns(reading: Mapping[str, Any]) -> list[str]:
    """The columns of a table that are features because an option names them."""
    return [name for kind in ("numeric", "categorical", "times", "texts") for name in reading.get(kind) or ()]
