"""The memory plan of an online method: what each part may take, settled before the first row is read."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from thresher import _native
from thresher.core.losses import get_loss
from thresher.core.memory import (
    DEFAULT_MEMORY,
    MB,
    PAGE,
    PRODUCT_BYTES,
    PRODUCT_SHARE,
    PlanReport,
    ReadLimits,
    parse_size,
    show_size,
)
from thresher.errors import SettingsError
from thresher.online.settings import THRESHOLDED, OnlineSettings
from thresher.run import RunOptions
from thresher.sources.base import Source

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
        return replace(limits, products=min(limits.products, max(1, self.products // PRODUCT_BYTES)))

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
    for_products = allowed // PRODUCT_SHARE if needs.products else 0
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


#: Words of 8 bytes for every kept feature: of those that wait to come in, and of the moments remembered.
_BENCH, _MOMENTS = 16, 64
#: Bytes that a feature costs which waits for its mini-batch: key, place, a name of usual length; then its gradients.
_GATHERED = 112
#: Bytes of a feature in a list of groups: 60 in the index at most, 20 in the list.
_LISTED = 80


def plan_for(
    settings: OnlineSettings, memory: str | int | None = None, *, shuffle: bool = True, products: bool = False
) -> Plan:
    """The memory plan of a method.

    Unasked, mission's sketch gets one row where the table is exact (that found the most true features
    in the same number of cells when measured) and three, as in the paper, where it is not. Without ``memory``
    64 MB are planned; what a budgeted method knows of every feature seen then comes on top, without end.
    """
    if settings.method == "iht" and settings.sketch is not None:
        raise SettingsError("iht has no sketch: leave sketch out, or choose mission")
    if settings.method == "hashing" and settings.sketch is not None and settings.sketch[0] != 1:
        raise SettingsError(f"hashing has one row of buckets: sketch=(1, {settings.sketch[0] * settings.sketch[1]})")
    cell, rows = settings.cell_bytes, 1
    if settings.method == "iht" or settings.budgeted:
        rows = 0
    elif settings.method == "batch-iht":
        cell = _GATHERED + 8 * settings.outputs
    elif settings.method == "mission" and settings.active == "sketch":
        rows = 3
    needs = Needs(
        k=settings.k,
        tables=0 if settings.method in ("hashing", *THRESHOLDED) else settings.tables,
        numbers=_numbers(settings),
        sketch=settings.sketch,
        sketch_rows=rows,
        cell=cell,
        scores=MB if get_loss(settings.loss).task == "binary" else 0,
        products=products,
        seen=settings.budgeted and not settings.approximate and memory is not None,
        names=(4 if settings.groups is None else 8) if settings.names_seen else 0,
        groups=_listed_bytes(settings),
    )
    return make_plan(needs, DEFAULT_MEMORY if memory is None else memory, shuffle=shuffle)


def _listed_bytes(settings: OnlineSettings) -> int:
    """What a list of groups takes: an index from its keys to their groups, and the list itself as it is checked."""
    if settings.groups is None or isinstance(settings.groups, str):
        return 0
    return _LISTED * len(settings.groups.keys)


def _numbers(settings: OnlineSettings) -> int:
    """Numbers that a kept feature has besides its rank: weights, a copy of what they are made of, bench and history."""
    lanes = settings.outputs // settings.tables
    return 2 + lanes + (2 * lanes + _BENCH + _MOMENTS if settings.budgeted else 0)


def plan_of_fit(settings: OnlineSettings, options: RunOptions, source: Source) -> PlanReport:
    """The plan of a fit over a source, for people to read."""
    named = not source.space.invertible
    products = options.interactions != 1 or source.space.products is not None
    settings = replace(settings, keep_names=settings.keep_names and named)
    plan = plan_for(settings, options.memory, shuffle=settings.shuffles, products=products)
    parts = [
        ("table", plan.table, f"{settings.k} features, names of up to {plan.name_cap} bytes"),
        ("sketch", plan.sketch, f"{plan.sketch_rows} x {plan.sketch_width} cells for all other features"),
        ("seen", plan.seen, "the sums of every feature seen; b-arda changes to a sketch when they are full"),
        ("names", plan.names, "names of the features seen; those that do not fit are read again at the end"),
        ("groups", plan.groups, "the group of each feature"),
        ("scores", plan.scores, "the histogram for AUC and average precision"),
        ("buffers", plan.buffers, f"blocks of {show_size(plan.block)} and their batches, on two threads"),
        (
            "shuffle",
            plan.shuffle,
            f"up to {plan.shuffle_rows} rows or {plan.shuffle_features(named)} features to shuffle",
        ),
        ("products", plan.products, f"rows of up to {plan.limits.products} features, products included"),
        ("total", plan.total, f"of {show_size(plan.memory)} allowed"),
    ]
    notes = []
    if source.held_bytes:
        notes.append(
            ("held", f"{show_size(source.held_bytes)} of sequences to draw fragments from, out of what is left")
        )
    notes.append(("left", f"{show_size(plan.window)} for a decompressor; lines of up to {show_size(plan.line_cap)}"))
    if plan.sketch:
        error = f"about {plan.sketch_width**-0.5:.2g} of the norm of the weights left in the sketch"
    else:
        error = "none: weights are exact"
    return PlanReport(plan.limits, parts, [*notes, ("error", error)])
