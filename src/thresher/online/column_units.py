"""Whether a fit learns features in units of their own: numeric columns by centre and scale, others by scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thresher.core.running_units import RunningUnits
from thresher.core.sparse_scales import SCALE_BYTES, SparseScales
from thresher.core.units import UNIT_BYTES, Units
from thresher.errors import SettingsError
from thresher.online.settings import OnlineSettings
from thresher.sources.base import Source, Wrapped

#: Methods that can go on in other units: the features of the others keep those of the first rows.
_FOLLOWING = ("mission", "iht", "batch-iht", "b-arda")
#: By default units take at most one part in this many of the memory.
_SHARE = 8
#: Scales are read from rows of this many values.
_VALUES = 1 << 24
#: Whether scales differ is decided by so many rows, of at most so many values.
_FEW_ROWS, _FEW_VALUES = 1 << 10, 1 << 16
#: Features differ in scale if these shares of the values at both ends belong to features that are 2^7 times as large
#: as those at the other end, by their mean exponents. Words, counted or in unit rows, share a unit and differ by less.
_TAIL, _DIFFERENT = 0.002, 7.0


def unit_bytes(source: Source) -> int:
    """The bytes that the units of the features of a source take."""
    columns = source.dense_columns
    return SCALE_BYTES if columns is None else UNIT_BYTES * len(columns.keys)


def unit_room(source: Source, standardize: bool) -> tuple[int, int]:
    """The bytes of the columns of a source with their units, and of the scales of sparse features, if it has them."""
    units = unit_bytes(source) if standardize else 0
    return (source.schema_bytes, units) if source.dense_columns is None else (source.schema_bytes + units, 0)


def standardizes(
    settings: OnlineSettings, source: Source, memory: int, products: bool, *, stream: bool
) -> bool | Literal["auto"]:
    """Whether to standardise the features of a source; `SettingsError` if that is required and impossible.

    By default numeric columns are. Sparse features are if their scales differ by orders of magnitude: ``"auto"`` says
    that `scales_differ` decides. A stream is standardised only if that is set: further rows may have other units than
    the first ones.
    """
    if settings.standardize is False or settings.method == "hashing":
        return False
    why = None
    if products:
        why = "products of standardised columns are no products of the data: leave out `interactions`, or"
    elif not source.rewindable and not (stream and follows_rows(settings, source)):
        why = f"{source.describe()} can be read only once: pass `cache=True`, or"
    if settings.standardize is True:
        if why is not None:
            raise SettingsError(f"{why} leave out `standardize`")
        return True
    if why is not None or stream or unit_bytes(source) > memory // _SHARE:
        return False
    return True if source.dense_columns is not None else "auto"


def follows_rows(settings: OnlineSettings, source: Source) -> bool:
    """Whether the units of a stream follow its rows; else they are those of its first call."""
    return source.dense_columns is not None and settings.method in _FOLLOWING and settings.groups is None


def scales_differ(source: Source) -> bool:
    """Whether the features of a source have scales that differ by orders of magnitude, by a sample of its rows.

    Data that only its cache can read again has no sample: its features keep their values.
    """
    if source.space.kmers is not None:
        return False  # letters have no unit
    while isinstance(source, Wrapped):
        source = source.source  # a sample must not fill a cache, nor wait for a shuffle
    if not source.rewindable:
        return False
    rows = source.shuffled(0, rows=_FEW_ROWS, features=_FEW_VALUES) if source.mixes else source
    sample = [(batch.keys, batch.values) for batch in rows.first_rows(_FEW_VALUES, _FEW_ROWS, want_labels=False)]
    if all(values is None for _, values in sample):
        return False  # every value is one
    keys = np.concatenate([keys for keys, _ in sample])
    values = np.concatenate([np.ones(len(keys)) if values is None else values for keys, values in sample])
    _, features = np.unique(keys[values != 0], return_inverse=True)
    if not len(features):
        return False
    _, exponents = np.frexp(values[values != 0])
    means = np.bincount(features, exponents) / np.bincount(features)
    of_values = np.sort(means[features])
    rare = int(_TAIL * len(of_values))
    return bool(of_values[len(of_values) - 1 - rare] - of_values[rare] >= _DIFFERENT)


def read_scales(source: Source) -> SparseScales:
    """The scales of features, from the first rows of a source: all of up to 2^24 values."""
    scales = SparseScales()
    for batch in source.first_rows(_VALUES, want_labels=False):
        scales.add(batch)
    return scales


def units_state(units: Units | RunningUnits | SparseScales | None) -> dict[str, NDArray[Any]]:
    """Units as arrays, for a checkpoint. A stream has none: its state is a pickle."""
    assert not isinstance(units, RunningUnits)
    if isinstance(units, SparseScales):
        return units.state()
    return {} if units is None else {f"units_{name}": part for name, part in units._asdict().items()}


def saved_units(state: Mapping[str, NDArray[Any]], source: Source) -> Units | SparseScales | None:
    """The inverse of `units_state`; ValueError if the arrays do not fit together, or not the columns of the source."""
    if "scale_cells" in state and source.dense_columns is None:
        return SparseScales.from_state(state)
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
