"""Sizes as people write and read them."""

from __future__ import annotations

import re

from thresher.errors import SettingsError

_UNITS = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def parse_size(size: str | int) -> int:
    """``"64MB"`` (also KB, GB, 1.5GB, or a number of bytes) to bytes; MB = 2^20."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?i?B?)\s*", str(size), re.IGNORECASE)
    unit = match[2].upper().replace("I", "") if match else "?"
    unit = unit if unit in _UNITS else unit + "B"
    if match is None or unit not in _UNITS or (value := int(float(match[1]) * _UNITS[unit])) < 1:
        raise SettingsError(f"not a size: {size!r}; write for example 64MB, 1.5GB or a number of bytes")
    return value


def show_size(size: float) -> str:
    """Bytes as people read them."""
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.1f} {unit}"
    return f"{size:.0f} B"
