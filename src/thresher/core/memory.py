"""Memory: sizes as text, the limits of readers, and what a fit uses, which its progress reports."""

from __future__ import annotations

import mmap
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

from thresher.errors import SettingsError

DEFAULT_MEMORY = "64MB"
#: The largest total size of the files in a cache folder by default.
DEFAULT_CACHE_SIZE = "20GB"
MB = 1 << 20
PAGE = 1 << 12
#: A line may take one part in this many of the memory, and never more than this: its text and features are in several
#: batches at a time.
_LINE_SHARE, LONGEST_LINE = 32, 16 * MB
#: Memory per feature of the longest row with products: its key, value and name in the five batches alive at once, and
#: the learner's notes on the row. Products may use one part in `PRODUCT_SHARE` of the memory plan.
PRODUCT_BYTES, PRODUCT_SHARE = 128, 4


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The memory limits of readers; they do not change what is read.

    Parameters
    ----------
    block : int
        Bytes of text read at a time.
    line_cap : int
        The longest valid line.
    window : int
        Memory of a decompressor, or of the genomes that fragments are sampled from.
    products : int
        The most products of features that a valid row may have.
    """

    block: int = MB - 2 * PAGE  # with the header of its allocation it fits into 2^20
    line_cap: int = LONGEST_LINE
    window: int = 256 * MB
    products: int = 10_000_000

    def __post_init__(self) -> None:
        if min(self.block, self.line_cap, self.window, self.products) < 1:
            raise SettingsError(f"every limit of reading must be at least 1: {self}")

    @staticmethod
    def line_cap_of(memory: int) -> int:
        """The longest valid line."""
        return min(LONGEST_LINE, memory // _LINE_SHARE)

    @staticmethod
    def memory_for(line: int) -> int | None:
        """The memory, in whole MB, with which a line of so many bytes is valid; None if there is none."""
        return None if line > LONGEST_LINE else -(-line * _LINE_SHARE // MB) * MB

    @classmethod
    def of(cls, memory: int) -> ReadLimits:
        """The limits for reading, if nothing else needs much of the memory."""
        block = max(16 << 10, min(MB, memory // 128))
        return cls(block=block - 2 * PAGE, line_cap=cls.line_cap_of(memory), window=memory // 4)

    @property
    def batch_features(self) -> int:
        """The largest number of features of a batch: as many as a block of usual text holds."""
        return max(1, self.block // 9)


class PlanReport(NamedTuple):
    """A memory plan for people to read.

    ``parts`` are (name, bytes, what it is); ``notes`` are (title, sentence).
    """

    limits: ReadLimits
    parts: list[tuple[str, int, str]]
    notes: list[tuple[str, str]]

    def _repr_html_(self) -> str:
        """A table for notebooks: the memory of each part, and what it is."""
        sizes = [(name, show_size(size), what) for name, size, what in self.parts if size]
        rows = [f"<tr><th>{escape(a)}</th><td>{escape(b)}</td><td>{escape(c)}</td></tr>" for a, b, c in sizes]
        rows += [f"<tr><th>{escape(name)}</th><td></td><td>{escape(note)}</td></tr>" for name, note in self.notes]
        head = "<tr><th>part</th><th>memory</th><th>what it is</th></tr>"
        return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


_UNITS = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def parse_size(size: str | int) -> int:
    """The bytes of ``"64MB"``, ``"1.5GB"`` and the like, or of a number of bytes; 1 MB is 2^20."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?i?B?)\s*", str(size), re.IGNORECASE)
    unit = match[2].upper().replace("I", "") if match else "?"
    unit = unit if unit in _UNITS else unit + "B"
    if match is None or unit not in _UNITS or (value := int(float(match[1]) * _UNITS[unit])) < 1:
        raise SettingsError(f"not a size: {size!r}; write for example 64MB, 1.5GB or a number of bytes")
    return value


def show_size(size: float) -> str:
    """Bytes as text such as ``"1.5 GB"``."""
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.1f} {unit}"
    return f"{size:.0f} B"


class Resident(NamedTuple):
    """The resident memory of this process in bytes, and the part of it that is mapped files, such as program code."""

    total: int
    mapped: int


def resident_parts() -> Resident:
    """The resident memory now; its peak, and no mapped files, on systems that do not report it."""
    try:
        with open("/proc/self/statm", "rb") as file:  # six times faster than /proc/self/status
            pages = file.read().split()
            return Resident(int(pages[1]) * mmap.PAGESIZE, int(pages[2]) * mmap.PAGESIZE)
    except OSError:
        return Resident(peak_resident(), 0)


def resident() -> int:
    """The resident memory of this process in bytes."""
    return resident_parts().total


def peak_resident() -> int:
    """The peak resident memory of this process in bytes; 0 on systems that do not report it."""
    # On Linux ru_maxrss is inherited from the parent process, so /proc comes first.
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith("VmHWM"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


# ── progress ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run.

    ``phase`` names what is under way besides the loop of the method: reading labels, a refit, naming features; it is
    empty during the loop. ``rows`` and ``fraction`` then count the rows of the phase. ``grown`` is the growth of the
    resident memory since the start, and ``mapped`` the part of it that is mapped files: program code of packages loaded
    since, or a cache. ``file`` is the file being read, number ``file_number`` (from 1) of ``files``.
    """

    rows: int = 0
    features: int = 0
    passes: int = 1
    passes_done: int = 0
    read: int = 0
    total_bytes: int | None = None
    rows_in_pass: int = 0
    total_rows: int | None = None
    seconds: float = 0.0
    grown: int = 0
    mapped: int = 0
    file: str | None = None
    file_number: int = 0
    files: int = 0
    #: The unit of ``rows``.
    unit: str = "rows"
    phase: str = ""
    #: The state of the loop in words, such as its round and score.
    detail: str = ""

    @property
    def fraction(self) -> float | None:
        """The finished share of the whole work (of the phase, if it has a name), if its size is known."""
        if self.total_rows:
            within = self.rows_in_pass / self.total_rows
        elif self.total_bytes:
            within = self.read / self.total_bytes
        else:
            return None
        return min(1.0, (self.passes_done + within) / self.passes)


#: Called with the progress of a fit after every step.
Report = Callable[[Progress], None]


class Watch:
    """Measures the time and the memory of a fit, and reports its progress.

    Parameters
    ----------
    report : callable, optional
        Called with each `Progress`.
    """

    def __init__(self, report: Report | None = None) -> None:
        self._report = report
        self.restart()

    def restart(self) -> None:
        """Count time and memory from now on."""
        self._started = time.monotonic()
        self._resident_at_start = self._most_resident = resident_parts()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    @property
    def grown(self) -> int:
        """The growth of the resident memory since the start, as far as it was measured."""
        return self._most_resident.total - self._resident_at_start.total

    def show(self, **counts: Any) -> None:
        """Measure the memory and report; ``counts`` are the other fields of `Progress`."""
        self._most_resident = max(self._most_resident, resident_parts())
        if self._report is not None:
            most, before = self._most_resident, self._resident_at_start
            grown, mapped = most.total - before.total, max(0, most.mapped - before.mapped)
            self._report(Progress(**counts, seconds=self.seconds, grown=grown, mapped=mapped))
