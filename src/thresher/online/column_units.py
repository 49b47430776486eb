"""Whether a fit learns numeric columns in units of their own, and its weights in the unit of the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher.core.units import UNIT_BYTES, Units
from thresher.errors import SettingsError
from thresher.online.settings import OnlineSettings
from thresher.sources.base import Source

#: By default units take at most one part in this many of the memory.
_SHARE = 8


def unit_bytes(source: Source) -> int:
    """The bytes that the units of the numeric columns of a source take."""
    columns = source.dense_columns
    return 0 if columns is None else UNIT_BYTES * len(columns.keys)


def standardizes(settings: OnlineSettings, source: Source, memory: int, products: bool, *, stream: bool) -> bool:
    """Whether to standardise the numeric columns of a source; `SettingsError` if that is required and impossible.

    A stream is standardised only if that is set: further rows may have other units than the first ones.
    """
    if settings.standardize is False or settings.method == "hashing":
        return False
    why = None
    if source.dense_columns is None:
        why = "the data has no columns of numbers, as arrays, data frames and tables have"
    elif products:
        why = "products of standardised columns are no products of the data: leave out `interactions`, or"
    elif not source.rewindable:
        why = f"{source.describe()} can be read only once: pass `cache=True`, or"
    if settings.standardize is True:
        if why is not None:
            raise SettingsError(f"{why}{'' if why.endswith('or') else ':'} leave out `standardize`")
        return True
    return why is None and not stream and unit_bytes(source) <= memory // _SHARE


def units_state(units: Units | None) -> dict[str, NDArray[Any]]:
    """Units as arrays, for a checkpoint."""
    return {} if units is None else {f"units_{name}": part for name, part in units._asdict().items()}


def saved_units(state: Mapping[str, NDArray[Any]], source: Source) -> Units | None:
    """The inverse of `units_state`; ValueError if the arrays do not fit together, or not the columns of the source."""
    if "units_keys" not in state:
        return None
    units = Units(**{name: state[f"units_{name}"] for name in Units._fields})
    if len({part.shape for part in units}) != 1 or units.keys.ndim != 1 or not units.keys.dtype == np.uint64:
        raise ValueError("columns and units of different lengths")
    columns = source.dense_columns
    if columns is None or not np.array_equal(units.keys, columns.keys):
        raise ValueError("units of other columns")
    if not (np.isfinite(units.centres).all() and np.isfinite(units.scales).all() and (units.scales > 0).all()):
        raise ValueError("units that are no numbers")
    return units
