"""The memory plan of an online method: the bytes of each part, fixed before the first row is read."""

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
from thresher.core.scores.recent_margins import BYTES as RECENT_BYTES
from thresher.errors import SettingsError
from thresher.online.column_units import scales_differ, standardizes, unit_room
from thresher.online.moments import moment_bytes, noted_in
from thresher.online.settings import THRESHOLDED, OnlineSettings
from thresher.run import RunOptions
from thresher.sources.base import Source
from thresher.sources.transforms.shuffle import FEATURE_BYTES

_SMALLEST_NAME_CAP = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The bytes of each part, fixed before the first row is read.

    Attributes
    ----------
    memory : int
        The limit.
    table : int
        The k features: keys, weights, counts, index, and names of the longest length.
    sketch : int
        The sketch of all other features; its shape is (``sketch_rows``, ``sketch_width``).
    scores : int
        The histogram for AUC and average precision.
    buffers : int
        Blocks of text and parsed batches of both threads.
    shuffle : int
        The shuffle buffer.
    window : int
        The bytes left for a decompressor.
    products : int
        Batches with products of features.
    seen : int
        The sums of every feature seen by a budgeted method, or the sketch that ``b-arda`` switches to. 0: no limit, or
        a method without them.
    names : int
        The names of these features. 0: no limit, or none kept.
    groups : int
        The list of groups.
    columns : int
        The columns of a table: names, kinds and rules.
    answer : int
        The weights of several outputs in the selection, while it is made.
    margins : int
        The latest margins, on which probabilities are calibrated.
    moments : int
        The learning curve, and the features kept at up to 64 moments.
    held : int
        Held-out rows, by which the number of passes and the refit are chosen.
    limited : bool
        Whether ``memory`` is a limit. It is none for a budgeted method without one: only the parts here keep to it.
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
    columns: int = 0
    answer: int = 0
    margins: int = 0
    moments: int = 0
    held: int = 0
    limited: bool = True

    @property
    def refit(self) -> int:
        """The bytes for the columns of the selected features: nothing is shuffled any more when they are fitted."""
        return max(self.shuffle, (self.window + self.moments) // 2)

    @property
    def limits(self) -> ReadLimits:
        """The limits for reading the data."""
        limits = ReadLimits(block=self.block, line_cap=self.line_cap, window=self.window)
        if not self.products:
            return limits
        return replace(limits, products=min(limits.products, max(1, self.products // PRODUCT_BYTES)))

    def shuffle_features(self, named: bool) -> int:
        """The number of features in the shuffle buffer, with or without names."""
        return max(1024, self.shuffle // (_SHUFFLED_NAMED if named else _SHUFFLED_FEATURE))

    @property
    def noted(self) -> int:
        """The most features that are noted at a moment: the strongest ones."""
        return noted_in(self.moments)

    @property
    def heavy_batch(self) -> int:
        """The bytes of a batch that takes more than its share: one of rows longer than a block."""
        return max(self.buffers, self.shuffle) // 4

    @property
    def total(self) -> int:
        """The sum of all parts, without a decompressor."""
        online = self.table + self.sketch + self.scores + self.seen + self.names + self.groups + self.margins
        online += self.moments + self.held
        # The answer is made when nothing is read any more.
        return online + max(self.buffers + self.shuffle + self.products, self.answer) + self.columns

    def to_dict(self) -> dict[str, int]:
        """The plan as plain values, for files and reports; ``memory`` is 0 without a limit."""
        parts = asdict(self)
        memory = self.memory if parts.pop("limited") else 0
        return {**parts, "memory": memory, "total": self.total}


#: The widest sketch planned by default: wider ones seldom pay.
_MAX_WIDTH = 1 << 24
#: The most batches alive at once: one being parsed, two waiting, one being learned, one being returned.
_BATCHES = 5
#: Bytes of a feature in the shuffle buffer: key and value (12), name and text (40, and the bytes of a name over 64),
#: twice while the buffer is concatenated, and once in each of the three permuted buffers queued for the learner; plus
#: a fifth to be safe.
_SHUFFLED_FEATURE, _SHUFFLED_NAMED = 6 * 12, 6 * FEATURE_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """The requirements of a method.

    Attributes
    ----------
    k : int
        Features in a table.
    tables, numbers : int
        The number of tables, and of 8-byte numbers per feature besides its rank.
    sketch : (rows, width), optional
        The shape of the sketch. Default: ``sketch_rows`` rows (0: no sketch), as wide as the memory allows.
    cell : int
        Bytes of a cell.
    scores : int
        Bytes of the scores.
    products : bool
        Whether products of features are formed; they get a quarter of the memory.
    seen : bool
        Whether the sums of every feature seen are limited; they get three quarters of the rest.
    names : int
        The names of these features get one part in ``names`` of that; 0: names are not kept.
    groups : int
        Bytes of the list of groups.
    columns : int
        Bytes of the columns of a table.
    scales : int
        Bytes of the scales of sparse features.
    outputs : int
        The number of weights of a feature in the answer.
    margins : int
        Bytes of the latest margins.
    moments : int
        Bytes of the learning curve and of the features kept over time.
    held : bool
        Whether rows are held out; they get at most an eighth of the memory.
    bucket : int
        Bytes of a cell of the sketch in the answer, if the cells are the answer, as those of feature hashing.
    limited : bool
        Whether the memory is a limit.
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
    columns: int = 0
    scales: int = 0
    outputs: int = 1
    margins: int = 0
    moments: int = 0
    held: bool = False
    bucket: int = 0
    limited: bool = True

    def answer(self, cells: int) -> int:
        """Bytes of the weights of several outputs, as they are found and as they are shown; or of all buckets."""
        of_tables = 16 * self.k * self.tables * self.outputs if self.outputs > 1 else 0
        return of_tables + self.bucket * cells

    def table(self, name_cap: int) -> int:
        """Bytes of all tables, with names of up to ``name_cap`` bytes."""
        return self.tables * _native.TopK.planned_bytes(self.k, name_cap, self.numbers)


def make_plan(needs: Needs, memory: str | int = DEFAULT_MEMORY, *, shuffle: bool = True) -> Plan:
    """Divide ``memory`` among the parts; raise `SettingsError` if it is too small.

    Names get 256 bytes each, or fewer (at least 32) if that does not fit. A sketch without a shape gets half of the
    remaining bytes; the other half is for a decompressor.
    """
    allowed = parse_size(memory)
    k, sketch = needs.k, needs.sketch
    # Without shuffling, batches are as large as blocks, and small batches cost time.
    share = allowed // (128 if shuffle or needs.products else 64)
    block = max(16 << 10, min(MB, 1 << max(0, share.bit_length() - 1)))
    # A batch of a full block: its text, keys and names of 8 bytes each, values of 4, all rounded up to 2^n.
    buffers = _BATCHES * (block * 7 // 2 + block // 4)
    for_shuffle = allowed // 4 if shuffle else 0
    for_products = allowed // PRODUCT_SHARE if needs.products else 0
    wanted = 0 if sketch is None else needs.cell * sketch[0] * sketch[1]
    room = allowed - buffers - for_shuffle - for_products - (64 << 10)
    room -= wanted + needs.scores + needs.groups + needs.scales
    # Names are shortened before the sketch gets fewer than four cells per kept feature.
    least = 0 if sketch is not None else 2 * 4 * k * needs.cell * needs.sketch_rows
    name_cap = 256
    while name_cap > _SMALLEST_NAME_CAP and needs.table(name_cap) + least > room:
        name_cap //= 2
    table = needs.table(name_cap)
    if table > room:
        # The table fits into this besides a quarter for shuffling and about an eighth for buffers.
        advised = (table + wanted + needs.scores + needs.groups + needs.scales + MB) * (4 if needs.products else 2)
        raise SettingsError(
            f"`k={k}` does not fit into `memory={show_size(allowed)}`: the table takes {show_size(table)}"
            f"{f', the sketch {show_size(wanted)}' if wanted else ''}"
            f"{f', the list of groups {show_size(needs.groups)}' if needs.groups else ''}. "
            f"Pass about {show_size(advised)} of `memory`, or a smaller `k`{' or `sketch`' if wanted else ''}."
        )
    if sketch is None and needs.sketch_rows:
        width = (room - table) // 2 // (needs.cell * needs.sketch_rows)
        if needs.bucket:  # the answer is made when nothing is read any more
            free = buffers + for_shuffle + for_products + (room - table) // 2
            width = min(width, free // (needs.bucket + needs.cell))
        elif width < k:
            raise SettingsError(
                f"`memory={show_size(allowed)}` leaves {show_size((room - table) // 2)} for the sketch, fewer cells "
                f"than `k={k}`: pass more `memory`, or a smaller `k`"
            )
        sketch = (needs.sketch_rows, min(width, _MAX_WIDTH))
        room -= needs.cell * sketch[0] * sketch[1]
    rows, width = sketch or (0, 0)
    seen = (room - table) // 4 * 3 if needs.seen else 0
    room -= seen
    names = seen // needs.names if needs.names else 0
    # These are taken from what is left for a decompressor, so that they change no other part.
    answer = needs.answer(rows * width)
    for_answer = max(0, answer - buffers - for_shuffle - for_products)
    left = room - table + (64 << 10) - needs.columns - for_answer - needs.margins
    held = min(allowed // 8, max(0, left) // 2) if needs.held else 0
    left -= held
    moments = min(needs.moments, max(0, left) // 2)
    left -= moments
    if left <= 0:
        what = [f"the columns of the data, which take {show_size(needs.columns)}"] if needs.columns else []
        what += [f"the answer, which takes up to {show_size(answer)}"] if for_answer else []
        what += [] if what else [f"the latest margins, which take {show_size(needs.margins)}"]
        advised = 2 * (2 * (needs.columns + for_answer + needs.margins) + needs.scores + table + wanted + MB)
        raise SettingsError(
            f"memory = {show_size(allowed)} does not hold {' and '.join(what)}, besides the "
            f"{show_size(allowed - left - needs.columns - for_answer)} of a fit. Pass about {show_size(advised)} of "
            f"memory{', or ignore some columns' if needs.columns else ', or a smaller k'}."
        )
    return Plan(
        columns=needs.columns + needs.scales,
        answer=answer,
        margins=needs.margins,
        moments=moments,
        held=held,
        limited=needs.limited,
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
        window=left,
        line_cap=ReadLimits.line_cap_of(allowed),
        block=block - 2 * PAGE,
        name_cap=name_cap,
        shuffle_rows=4096,
        products=for_products,
    )


#: 8-byte words per kept feature: for candidates that may replace it, and for the history.
_CANDIDATES, _HISTORY = 16, 64
#: Bytes of a feature in an incomplete mini-batch: key, position, a name of usual length; its gradients come on top.
_GATHERED = 112
#: Bytes of a bucket of feature hashing while the answer is made (key, rank, name, zeros), and of each of its weights.
_BUCKET, _BUCKET_OUTPUT = 152, 24
#: Bytes of a feature in a list of groups: at most 60 in the index, 20 in the list.
_LISTED = 80


def plan_for(
    settings: OnlineSettings,
    memory: str | int | None = None,
    *,
    shuffle: bool = True,
    products: bool = False,
    columns: int = 0,
    scales: int = 0,
) -> Plan:
    """The memory plan of a method.

    ``columns`` are the bytes of the columns of a table, ``scales`` those of the scales of sparse features.

    By default the sketch of ``mission`` has one row if the table is exact (which found the most true features for a
    given number of cells in our experiments), otherwise three as in the paper. Without ``memory`` the plan is for
    64 MB; a budgeted method then holds the sums of every feature seen on top of it.
    """
    if settings.method == "iht" and settings.sketch is not None:
        raise SettingsError("iht has no sketch: leave out `sketch`, or choose mission")
    if settings.method == "hashing" and settings.sketch is not None and settings.sketch[0] != 1:
        raise SettingsError(
            f"the sketch of hashing must have one row, got {settings.sketch[0]}: pass `sketch=(1, "
            f"{settings.sketch[0] * settings.sketch[1]})`"
        )
    cell = gathered_bytes(settings) if settings.method == "batch-iht" else settings.cell_bytes
    needs = Needs(
        k=settings.k,
        tables=0 if settings.method in ("hashing", *THRESHOLDED) else settings.tables,
        numbers=table_numbers(settings),
        sketch=settings.sketch,
        sketch_rows=sketch_rows(settings),
        cell=cell,
        scores=MB if get_loss(settings.loss).task == "binary" else 0,
        products=products,
        seen=settings.budgeted and not settings.approximate and memory is not None,
        names=(4 if settings.groups is None else 8) if settings.names_seen else 0,
        groups=_listed_bytes(settings),
        columns=columns,
        scales=scales,
        outputs=settings.outputs,
        margins=0 if get_loss(settings.loss).task == "real" else RECENT_BYTES,
        moments=moment_bytes(settings.k, 0 if settings.method == "hashing" else settings.tables),
        held=settings.holds_out,
        bucket=_BUCKET + _BUCKET_OUTPUT * settings.outputs if settings.method == "hashing" else 0,
        limited=memory is not None or not settings.budgeted or settings.approximate,
    )
    return make_plan(needs, DEFAULT_MEMORY if memory is None else memory, shuffle=shuffle)


def sketch_rows(settings: OnlineSettings) -> int:
    """The rows of the sketch; 0: there is none by default."""
    if settings.sketch is not None:
        return settings.sketch[0]
    if settings.method == "iht" or settings.budgeted:
        return 0
    return 3 if settings.method == "mission" and settings.active == "sketch" else 1


def gathered_bytes(settings: OnlineSettings) -> int:
    """The bytes of a feature in the mini-batch of batch-iht."""
    return _GATHERED + 8 * settings.outputs


def _listed_bytes(settings: OnlineSettings) -> int:
    """The bytes of a list of groups: the index from keys to groups, and the list itself while it is checked."""
    if settings.groups is None or isinstance(settings.groups, str):
        return 0
    return _LISTED * len(settings.groups.keys)


def table_numbers(settings: OnlineSettings) -> int:
    """Numbers per kept feature besides its rank: weights, a copy of its sums, candidates and history."""
    lanes = settings.outputs // settings.tables
    return 2 + lanes + (2 * lanes + _CANDIDATES + _HISTORY if settings.budgeted else 0)


def plan_of_fit(settings: OnlineSettings, options: RunOptions, source: Source) -> PlanReport:
    """The plan of a fit over a source, for people to read."""
    named = not source.space.invertible
    products = options.interactions != 1 or source.space.products is not None
    settings = replace(settings, keep_names=settings.keep_names and named)
    memory = parse_size(DEFAULT_MEMORY if options.memory is None else options.memory)
    units = standardizes(settings, source, memory, products=products, stream=False)
    units = scales_differ(source.limited(ReadLimits.of(memory))) if units == "auto" else units
    columns, scales = unit_room(source, units is True)
    shuffle = settings.shuffles
    plan = plan_for(settings, options.memory, shuffle=shuffle, products=products, columns=columns, scales=scales)
    parts = [
        ("table", plan.table, f"{settings.k} features, names of up to {plan.name_cap} bytes"),
        ("sketch", plan.sketch, f"{plan.sketch_rows} x {plan.sketch_width} cells for all other features"),
        ("seen", plan.seen, "the sums of every feature seen; b-arda switches to a sketch when they are full"),
        ("names", plan.names, "names of the features seen; missing ones are read from the data at the end"),
        ("groups", plan.groups, "the group of each feature"),
        (
            "columns",
            plan.columns,
            "the columns of a table: names and kinds; units of features, if they are standardised",
        ),
        ("scores", plan.scores, "the histogram for AUC and average precision"),
        ("margins", plan.margins, "the latest margins, to calibrate probabilities"),
        ("moments", plan.moments, "the learning curve, and the features kept at up to 64 moments"),
        ("buffers", plan.buffers, f"blocks of {show_size(plan.block)} and their batches, on two threads"),
        (
            "shuffle",
            plan.shuffle,
            f"up to {plan.shuffle_rows} rows or {plan.shuffle_features(named)} features to shuffle",
        ),
        ("held", plan.held, "held-out rows, by which the number of passes and the refit are chosen"),
        ("products", plan.products, f"rows of up to {plan.limits.products} features, products included"),
        (
            "total",
            plan.total,
            f"of {show_size(plan.memory)} allowed" if plan.limited else "besides the features seen; no limit is set",
        ),
    ]
    left = f"{show_size(plan.window)} for a decompressor; lines of up to {show_size(plan.line_cap)}"
    if plan.sketch:
        error = f"about {plan.sketch_width**-0.5:.2g} of the norm of the weights in the sketch"
    else:
        error = "none: weights are exact"
    workers = settings.workers
    each = (
        [("workers", f"{workers}, each with this plan: {show_size(workers * plan.total)} in all")]
        if workers > 1
        else []
    )
    return PlanReport(plan.limits, parts, [("left", left), ("error", error), *each])
