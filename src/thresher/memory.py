"""Memory as a promise: the plan, and what the process really holds."""

from __future__ import annotations

import mmap
import sys
from dataclasses import asdict, dataclass, replace

from thresher import _native
from thresher.errors import SettingsError
from thresher.sizes import parse_size as parse_size
from thresher.sizes import show_size as show_size
from thresher.sources.interactions import FEATURE_BYTES, PLAN_SHARE
from thresher.sources.source import MB, PAGE, ReadLimits

DEFAULT_MEMORY = "64MB"
_SMALLEST_NAME_CAP = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where the memory goes, settled before the first row is read. All in bytes.

    Attributes
    ----------
    memory : int
        What was allowed.
    table : int
        The k features: keys, weights, counts, index, and their names at their longest.
    sketch : int
        The sketch of all the others; its shape is (``sketch_rows``, ``sketch_width``).
    scores : int
        The histogram behind AUC and average precision.
    buffers : int
        Blocks of text and parsed batches, on both threads.
    shuffle : int
        Rows waiting to be mixed.
    window : int
        What is left for a decompressor.
    products : int
        Batches with products of features.
    seen : int
        What a budgeted method may know of every feature seen, or the sketch that ``b-arda`` goes over to then; 0 where
        it has no end, or the method no such.
    names : int
        The names of these features, at most; the same.
    groups : int
        Which feature is in which group, where that is listed.
    """

    memory: int
    table: int
    sketch: int
    scores: int
    buffers: int
    shuffle: int
    window: int
    line_cap: int
    block: int
    name_cap: int
    shuffle_rows: int
    sketch_rows: int
    sketch_width: int
    products: int = 0
    seen: int = 0
    names: int = 0
    groups: int = 0

    @property
    def limits(self) -> ReadLimits:
        """The plan's share of reading."""
        limits = ReadLimits(block=self.block, line_cap=self.line_cap, window=self.window)
        if not self.products:
            return limits
        return replace(limits, products=min(limits.products, max(1, self.products // FEATURE_BYTES)))

    def shuffle_features(self, named: bool) -> int:
        """Features that wait to be mixed, with their names or without."""
        return max(1024, self.shuffle // (_SHUFFLED_FEATURE + _SHUFFLED_NAME * named))

    @property
    def total(self) -> int:
        """What the parts come to, a decompressor at its largest apart."""
        growing = self.seen + self.names
        return (
            self.table + self.sketch + self.scores + self.buffers + self.shuffle + self.products + self.groups + growing
        )

    def to_dict(self) -> dict[str, int]:
        """For files and reports."""
        return {**asdict(self), "total": self.total}


#: The widest sketch that is planned unasked: more seldom pays.
_WIDEST = 1 << 24
_PAGE_SIZE = mmap.PAGESIZE
#: Batches alive at once at most: one being parsed, two waiting, one being learned, one on its way back.
_BATCHES = 5
#: Bytes that a feature in the shuffle buffer costs: key and value (12), name and text (40), twice while the buffer is
#: put together, and once in each of the three permuted buffers on their way to the learner; a fifth more to be safe.
_SHUFFLED_FEATURE, _SHUFFLED_NAME = 72, 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a method wants of the plan.

    Attributes
    ----------
    k : int
        Features in a table.
    tables, numbers : int
        How many tables, and how many numbers of 8 bytes each of their features has besides its rank.
    sketch : (rows, width), optional
        The shape of the sketch; without it one of ``sketch_rows`` rows gets what is left (none for 0).
    cell : int
        Bytes of a cell.
    scores : int
        Bytes of the scores.
    products : bool
        Whether products of features are formed, which take a quarter.
    seen : bool
        Whether what is known of every feature seen is to stay inside the memory: it gets three quarters of the rest.
    names : int
        One part in so many of that is for the names of these features; 0 where they are not kept.
    groups : int
        Bytes of the list of groups.
    """

    k: int
    tables: int = 1
    numbers: int = 3
    sketch: tuple[int, int] | None = None
    sketch_rows: int = 0
    cell: int = 4
    scores: int = 0
    products: bool = False
    seen: bool = False
    names: int = 0
    groups: int = 0

    def table(self, name_cap: int) -> int:
        """Bytes of all tables, with names of up to ``name_cap`` bytes."""
        return self.tables * _native.TopK.planned_bytes(self.k, name_cap, self.numbers)


def make_plan(needs: Needs, memory: str | int = DEFAULT_MEMORY, *, shuffle: bool = True) -> Plan:
    """Divide ``memory``, or say how much is needed.

    Names get up to 256 bytes each; where that does not fit they are cut shorter, down to 32. A sketch whose
    shape is not given gets half of what the rest leaves (the other half is for a decompressor).
    """
    allowed = parse_size(memory)
    k, sketch = needs.k, needs.sketch
    # Where rows are mixed, what is learned from are not the blocks; where they are not, small ones cost time.
    share = allowed // (128 if shuffle or needs.products else 64)
    block = max(16 << 10, min(MB, 1 << max(0, share.bit_length() - 1)))
    # A batch of a full block: its text, keys and names of 8 bytes each, values of 4, all rounded up to 2^n.
    buffers = _BATCHES * (block * 7 // 2 + block // 4)
    for_shuffle = allowed // 4 if shuffle else 0
    for_products = allowed // PLAN_SHARE if needs.products else 0
    wanted = 0 if sketch is None else needs.cell * sketch[0] * sketch[1]
    room = allowed - buffers - for_shuffle - for_products - (64 << 10) - wanted - needs.scores - needs.groups
    # Names are cut before a sketch that is to be planned gets fewer than four cells a feature.
    least = 0 if sketch is not None else 2 * 4 * k * needs.cell * needs.sketch_rows
    name_cap = 256
    while name_cap > _SMALLEST_NAME_CAP and needs.table(name_cap) + least > room:
        name_cap //= 2
    table = needs.table(name_cap)
    if table > room:
        # With a quarter for shuffling and an eighth or so for buffers, this leaves the table its room.
        advised = (table + wanted + needs.scores + needs.groups + MB) * (4 if needs.products else 2)
        raise SettingsError(
            f"k = {k} does not fit into memory = {show_size(allowed)}: its table alone takes {show_size(table)}"
            f"{f', its sketch {show_size(wanted)}' if wanted else ''}"
            f"{f', the list of groups {show_size(needs.groups)}' if needs.groups else ''}. "
            f"Give about {show_size(advised)}, or ask for a smaller k{' or sketch' if wanted else ''}."
        )
    if sketch is None and needs.sketch_rows:
        width = (room - table) // 2 // (needs.cell * needs.sketch_rows)
        if width < k:
            raise SettingsError(
                f"memory = {show_size(allowed)} leaves {show_size((room - table) // 2)} for the sketch, fewer cells "
                f"than the k = {k} features asked for. Give more memory, or ask for a smaller k."
            )
        sketch = (needs.sketch_rows, min(width, _WIDEST))
        room -= needs.cell * sketch[0] * sketch[1]
    rows, width = sketch or (0, 0)
    seen = (room - table) // 4 * 3 if needs.seen else 0
    room -= seen
    names = seen // needs.names if needs.names else 0
    return Plan(
        seen=seen - names,
        names=names,
        groups=needs.groups,
        memory=allowed,
        table=table,
        sketch=needs.cell * rows * width,
        scores=needs.scores,
        sketch_rows=rows,
        sketch_width=width,
        buffers=buffers,
        shuffle=for_shuffle,
        window=room - table + (64 << 10),
        line_cap=min(16 * MB, allowed // 4),
        block=block - 2 * PAGE,
        name_cap=name_cap,
        shuffle_rows=4096,
        products=for_products,
    )


def resident() -> int:
    """The memory this process holds now, in bytes; where the system does not say, the most it ever held."""
    try:
        with open("/proc/self/statm", "rb") as file:  # asked after every batch; the other file takes six times as long
            return int(file.read().split()[1]) * _PAGE_SIZE
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
