"""Memory: sizes as people write them, what reading may hold, and what the process really holds."""

from __future__ import annotations

import mmap
import re
import sys
from dataclasses import dataclass
from typing import NamedTuple

from thresher.errors import SettingsError

DEFAULT_MEMORY = "64MB"
MB = 1 << 20
PAGE = 1 << 12


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What reading may hold in memory. None of it changes what is read.

    Parameters
    ----------
    block : int
        Bytes of text read at a time.
    line_cap : int
        The longest line; a longer one is bad input.
    window : int
        What a decompressor may take, or genomes that fragments are drawn from.
    products : int
        The most features that products may make of a row; a row of more is bad input.
    """

    block: int = MB - 2 * PAGE  # so that with what goes around it, it fits into 2^20
    line_cap: int = 16 * MB
    window: int = 256 * MB
    products: int = 10_000_000

    def __post_init__(self) -> None:
        if min(self.block, self.line_cap, self.window, self.products) < 1:
            raise SettingsError(f"reading needs one at least of each: {self}")


class PlanReport(NamedTuple):
    """A memory plan for people to read.

    ``parts`` are (name, bytes, what it is); ``notes`` are (title, sentence).
    """

    limits: ReadLimits
    parts: list[tuple[str, int, str]]
    notes: list[tuple[str, str]]


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


def resident() -> int:
    """The memory this process holds now, in bytes; where the system does not say, the most it ever held."""
    try:
        with open("/proc/self/statm", "rb") as file:  # asked after every batch; the other file takes six times as long
            return int(file.read().split()[1]) * mmap.PAGESIZE
    except OSError:
        return peak_resident()


def peak_resident() -> int:
    """The most memory this process ever held, in bytes; 0 where the system does not say."""
    # Linux hands ru_maxrss down from the parent process, so it is asked elsewhere there.
    if peak := _from_proc("VmHWM"):
        return peak
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _from_proc(field: str) -> int:
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith(field):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
