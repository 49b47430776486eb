"""A fit of an online method: passes, shuffling, checkpoints and progress around the engine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from thresher.core.batch import Batch, Cursor
from thresher.core.feature_space import Products
from thresher.core.labels import Label, Targets, check_weighted_labels, class_weights
from thresher.core.losses import get_loss
from thresher.core.memory import DEFAULT_MEMORY, parse_size, show_size
from thresher.core.running_units import RunningUnits
from thresher.core.sparse_scales import SparseScales
from thresher.core.storage.checkpoint import Checkpoint
from thresher.core.units import Units
from thresher.errors import DataError, SettingsError
from thresher.online.column_units import (
    follows_rows,
    read_scales,
    saved_units,
    scales_differ,
    standardizes,
    unit_room,
    units_state,
)
from thresher.online.engine import OnlineEngine, StateFullError
from thresher.online.memory_plan import Plan, plan_for
from thresher.online.pass_choice import PassChoice, ValidationRows, choice_state
from thresher.online.result import Fitted, Selected
from thresher.online.settings import OnlineSettings
from thresher.run import Run, RunOptions, check_readable_again
from thresher.selection.calibration import Calibration
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.cache.external_shuffle import Mixing, ShuffleLimits, with_external_shuffle
from thresher.sources.cache.folder import CacheFolder
from thresher.sources.files.reader import by_file
from thresher.sources.registry import is_file_source
from thresher.sources.transforms.row_order import LabelOrder
from thresher.sources.transforms.watched import Watched

if TYPE_CHECKING:
    from thresher.online.tuning import SuccessiveHalving
    from thresher.sources.transforms.stream_units import StreamUnits

log = logging.getLogger(__name__)


class OnlineRun(Run):
    """One fit of an online method.

    Parameters
    ----------
    source : Source
        The rows.
    classes : list, optional
        The labels, if the loss must know them before the first row.
    stream : bool
        The rows are part of a longer stream: one pass, in order.
    after : Fitted, optional
        The fit to continue, for a stream.
    """

    def __init__(
        self,
        source: Source,
        settings: OnlineSettings,
        options: RunOptions,
        classes: list[Label] | None = None,
        *,
        stream: bool = False,
        after: Fitted | None = None,
    ) -> None:
        super().__init__(options)
        if stream and settings.workers > 1:
            raise SettingsError("a stream has no parts for workers: leave out `workers`, or fit all rows at once")
        loss = get_loss(settings.loss)
        outputs = len(classes) if classes and (settings.multilabel or loss.task == "classes") else 1
        products = Products.of(options.interactions)
        formed = products is not None or source.space.products is not None
        keep_names = settings.keep_names and not source.space.invertible
        settings = replace(settings, outputs=outputs, keep_names=keep_names)
        if after is not None and settings.standardize == "auto":
            settings = replace(settings, standardize=after.units is not None)
        if settings.standardize:
            memory = parse_size(DEFAULT_MEMORY if options.memory is None else options.memory)
            settings = replace(settings, standardize=standardizes(settings, source, memory, formed, stream=stream))

        def plan(columns: int, scales: int) -> Plan:
            shuffle = settings.shuffles
            return plan_for(settings, options.memory, shuffle=shuffle, products=formed, columns=columns, scales=scales)

        self.plan = plan(*unit_room(source, settings.standardize is True))
        self.source = _prepared(source.limited(self.plan.limits), products, options).limited(self.plan.limits)
        if settings.standardize == "auto":  # the rows decide; mistakes in the settings were found before
            differ = scales_differ(self.source)
            settings = replace(settings, standardize=differ)
            self.plan = plan(*unit_room(source, differ))
            self.source = self.source.limited(self.plan.limits)
        self.mixing = Mixing()
        mixed = settings.shuffles and not stream and self.source.mixes
        if settings.shuffles and not stream and not mixed:
            self.source = self._externally_shuffled(loss.task != "real")
        self.settings = replace(
            settings,
            name_cap=self.plan.name_cap,
            sketch=(self.plan.sketch_rows, self.plan.sketch_width) if self.plan.sketch else None,
            room=self.plan.seen,
            name_room=self.plan.names,
            noted=self.plan.noted,
            passes=1 if stream else settings.passes,
            shuffle=settings.shuffles and not stream,
            refit_intercept=not stream and _refits_intercept(settings, self.source),
            pinned=tuple(options.keep.items()),
        )
        self.settings.check_space(source.space, products=formed)
        if after is not None:
            after.check_same(self.settings, self.source.space)
        #: The units of features, and the rows in these units: read before the first row is learned.
        self.units: Units | RunningUnits | SparseScales | None = None if after is None else after.units
        self.training = self.source
        self._following: StreamUnits | None = None  # the rows of a stream, in units that follow them
        self.settings = self._settled(self.settings)
        self.engine = make_engine(self.settings) if after is None else after.engine
        self.targets = Targets(loss, classes, multilabel=settings.multilabel) if after is None else after.targets
        self.passes_done = 0
        self._passes_before = 1 if after is None else after.passes_done
        self.choice: PassChoice | None = None  # made once held-out rows are read
        self._saved_choice: dict[str, NDArray[Any]] = {}
        self._stream = stream
        self.chosen: Selected | None = None  # the features of the best pass, or their refit
        self.calibration: Calibration | None = None
        self.offset = 0.0  # added to all margins by the refit of the intercept
        self.facts: dict[str, Any] = dict(options.facts)  # further facts for the provenance
        self.cursor = Cursor()
        self.skipped = 0
        self._skips: dict[str, int] = {}
        self._order = None if mixed else LabelOrder(loss.task != "real" and not settings.multilabel)
        self._rows_at_cursor = self.engine.rows
        self._features = 0
        self._reading = self.source
        named = isinstance(options.class_weight, Mapping) and not options.from_estimator
        self._weighted = list(options.class_weight or ()) if named else []  # labels to look for in the data
        again = self.settings.passes_set > 1 or options.checkpoint is not None
        check_readable_again(source, needed=again, why="several passes or a checkpoint")
        self.source.prepare()
        if not stream:
            self.release_buffers()
        self.resume()

    def _settled(self, settings: OnlineSettings) -> OnlineSettings:
        """The settings once the source is known."""
        return settings

    def _externally_shuffled(self, has_classes: bool) -> Source:
        """The source with an external shuffle, where that is needed."""
        features = self.plan.shuffle_features(not self.source.space.invertible)
        limits = ShuffleLimits(self.plan.shuffle_rows, features, self.plan.limits, has_classes)
        folder = CacheFolder.at(self.options.cache, parse_size(self.options.cache_size))
        return with_external_shuffle(self.source, folder, limits, self.mixing)

    def _choice(self) -> PassChoice | None:
        """What chooses the number of passes and the refit; None if both are set, or rows cannot be held out."""
        if self._stream or not self.settings.holds_out or not self.source.rewindable:
            return None
        self.source.prepare()
        held = ValidationRows(self.source, self.settings.seed, self.plan.held)
        held.read(self.watched(self._mixed(0), "reading held-out rows"), self.targets.encode)
        self.release_buffers()
        return PassChoice(held, self.settings, self._saved_choice) if held.usable else None

    def _standardize(self) -> None:
        """Find the units of features, in the rows that the first pass begins with, unless they are known."""
        if not self.settings.standardize or self.training is not self.source:
            return
        if self._stream and follows_rows(self.settings, self.source):
            self._follow()
            return
        if self.source.dense_columns is None:
            from thresher.sources.transforms.scale_features import ScaledFeatures

            self.source.prepare()
            self.units = self.units or read_scales(self.watched(self._mixed(0), "reading scales"))
            assert isinstance(self.units, SparseScales)
            self.training = ScaledFeatures(self.source, self.units)
            return
        from thresher.sources.transforms.standardize import read_units, rows_alone, standardized

        if self.units is None:
            self.source.prepare()
            self.training = rows_alone(self.source)
            self.units = read_units(self._mixed(0), centred=self.settings.fit_intercept, room=self.plan.memory // 8)
        assert isinstance(self.units, Units)
        self.training = standardized(self.source, self.units)

    def _follow(self) -> None:
        """Let the units of a stream follow its rows, from the first one or from the units of a fit."""
        from thresher.sources.transforms.stream_units import StreamUnits

        columns, centred = self.source.dense_columns, self.settings.fit_intercept
        assert columns is not None
        if isinstance(self.units, Units):
            rows = self.engine.rows // max(1, self._passes_before)
            self.units = RunningUnits.after(self.units, rows, centred=centred)
        elif self.units is None:
            self.units = RunningUnits(columns.keys, centred=centred)
        assert isinstance(self.units, RunningUnits)
        self._following = StreamUnits(self.source, self.units, room=self.plan.memory // 8)

    # ── the loop ─────────────────────────────────────────────────────────────────────────────────

    def _steps(self) -> Iterator[None]:
        self._standardize()
        self.choice = self._choice()
        yield from self._passes()
        if self.choice is not None:
            if self.choice.learns_again and not self.stopped:
                self.choice.final = True
                del self.engine  # the plan has no room for two
                self.release_buffers()
                self.engine, self.passes_done, self._rows_at_cursor = make_engine(self.settings), 0, 0
                yield from self._passes()
            self._choose()
        self.facts |= self.stop_facts
        if self.settings.refit_intercept:
            from thresher.online.intercept_refit import refit_offset

            again = self.training.prefetched() if is_file_source(self.source) else self.training
            again = self.watched(again, "refitting the intercept")
            self.offset = refit_offset(self.engine, again, self.targets, self.options.batch_rows)

    def _passes(self) -> Iterator[None]:
        choosing = self.choice is not None and not self.choice.final
        while self.passes_done < self.max_passes and not self.stopped:
            if choosing and self.choice is not None and self.choice.finished:
                break
            yield from self._learn_pass()
            self._end_pass()
            if choosing and self.choice is not None:
                self.choice.add(self.engine.best)
                self.release_buffers()  # what scoring took is not what a pass takes

    def _learn_pass(self) -> Iterator[None]:
        for batch, cursor in self._batches():
            self._learn(batch, cursor)
            yield
            if self.stopped:
                return

    def _choose(self) -> None:
        """Take the features found, or their refit unless a refit is clearly worse on the held-out rows."""
        assert self.choice is not None
        self.release_buffers()
        rows = self.training
        rows = rows.prefetched(1, heavy=self.plan.heavy_batch) if is_file_source(rows) else rows
        source = partial(self.watched, rows)
        found = self.engine.best.selected() if self.choice.final else None
        self.chosen, self.calibration = self.choice.choose(found, source, self.targets.encode, self.plan.refit)

    @property
    def max_passes(self) -> int:
        """The number of passes, or the most that may follow."""
        return self.settings.passes_set if self.choice is None else self.choice.most_passes

    def feed(self) -> None:
        """Learn from part of a longer stream. The pass does not end; the last mini-batch may stay incomplete."""
        self._standardize()
        for batch, cursor in self._batches():
            self._learn(batch, cursor)

    def _batches(self) -> Iterator[tuple[Batch, Cursor]]:
        self._reading = source = self._source_of_pass()
        return source.batches(self.options.batch_rows, start=self.cursor, want_names=not source.space.invertible)

    def _mixed(self, number: int) -> Source:
        """The rows in the order of a pass, which follows from the seed and the number of the pass."""
        if not self.settings.shuffle:
            return self.training
        seed = self.settings.seed * 1_000_003 + number
        features = self.plan.shuffle_features(not self.source.space.invertible)
        return self.training.shuffled(seed, rows=self.plan.shuffle_rows, features=features)

    def rows_of_pass(self, number: int) -> Source:
        """The rows in the order and the units of a pass, once the units are known."""
        return self._mixed(number)

    def _source_of_pass(self) -> Source:
        source = self._mixed(self.passes_done)
        if self.choice is not None and not self.choice.final:
            source = self.choice.held.split(source, held=False)
        # A pipe is not prefetched: a thread that waits for an idle pipe cannot be stopped.
        if not (is_file_source(source) and source.rewindable):
            return source
        # A shuffled batch keeps its whole buffer alive, so only one is prefetched.
        return source.prefetched(1 if self.settings.shuffle else 2, heavy=self.plan.heavy_batch)

    def _learn(self, batch: Batch, cursor: Cursor) -> None:
        def where(row: int) -> str:
            return self._reading.where(cursor, batch, row)

        targets = self.targets.encode(batch, where)
        self._check_class_weights()
        if self._order is not None:
            self._order.add(targets)
        try:
            self._learn_rows(replace(batch, y=targets, y_indptr=None), where)
        except StateFullError as error:
            raise SettingsError(f"{error}{self._advised_memory(cursor)}") from None
        self.cursor = cursor
        self._rows_at_cursor = self.engine.rows
        self._features += batch.nnz

    def _learn_rows(self, batch: Batch, where: Callable[[int], str]) -> None:
        if self._following is None:
            learn(self.engine, batch, where)
            return
        for begin, part, change in self._following.parts(batch):
            if change is not None:
                self.engine.change_units(change)
            learn(self.engine, part, lambda row, begin=begin: where(begin + row))  # type: ignore[misc]

    def _check_class_weights(self) -> None:
        if self._weighted and self.targets.complete:
            check_weighted_labels(self._weighted, self.targets.seen)
            self._weighted = []

    def _advised_memory(self, cursor: Cursor) -> str:
        """The memory that is enough for the features of all rows, if further rows bring as many new ones as these."""
        total, learned = self.source.total_bytes, self.engine.rows
        if not total or not cursor.read or not learned or self.passes_done:
            return ""
        share = min(1.0, cursor.read / total) * min(1.0, learned / max(1, cursor.row))
        if self.choice is not None and not self.choice.final:
            share *= 1.0 - self.choice.held.share  # all rows follow
        return f" About {show_size(self.plan.memory / share)} is enough for all rows, even if all features differ."

    def _end_pass(self) -> None:
        self.engine.flush()
        if self.engine.rows == 0:
            raise DataError(f"{self.source.describe()}: no rows to learn from.")
        if self.passes_done == 0 and not (self.choice and self.choice.final):
            self.targets.check_complete()
            if self._order is not None and self._order.sorted and self.mixing.unmixed is None:
                advice = (
                    "Mix the classes in the data, or pass more `memory` for the shuffle buffer."
                    if self.settings.shuffle
                    else "Let them be shuffled: leave out `shuffle=False`."
                )
                log.warning(
                    "%s: the rows came class after class, and an online method fits the last rows best, so expect a "
                    "poor answer. %s",
                    self.source.describe(),
                    advice,
                )
            self.skipped = self.cursor.skipped
            if self.skipped:
                log.warning("%s: %d malformed lines were skipped", self.source.describe(), self.skipped)
        self.engine.end_pass()
        self.passes_done += 1
        self.cursor = Cursor()

    @property
    def in_order(self) -> bool:
        """Whether the order of the rows matters and stayed, so that progressive scores mean nothing."""
        return self.mixing.unmixed is not None

    # ── checkpoints, progress and the result ─────────────────────────────────────────────────────

    @property
    def skipped_files(self) -> dict[str, int]:
        """The number of malformed lines in each file, where there are any."""
        return by_file(self._skips_found())

    def _skips_found(self) -> dict[str, int]:
        """The same before and since the run was resumed, by file or range of bytes, as checkpoints hold them."""
        return {**self._skips, **self.source.skipped_files()}

    def _identity(self) -> dict[str, Any]:
        settings = self.settings.to_dict()
        if self.settings.workers == 1:  # as in checkpoints of versions without workers
            del settings["workers"], settings["sync"]
        return {"data": self.source.fingerprint(), **settings, "memory": self.plan.memory}

    def _snapshot(self) -> Checkpoint:
        # An interrupt may come between two rows of a batch: a resumed run skips the rows learned since the cursor.
        learned = self.engine.rows - self._rows_at_cursor
        return Checkpoint(
            identity=self._identity(),
            passes_done=self.passes_done,
            cursor=replace(self.cursor, skip=self.cursor.skip + learned),
            labels=self.targets.seen,
            engine=self.engine.state(view=True) | units_state(self.units) | self._choice_state(),
            skips=self._skips_found(),
        )

    def _choice_state(self) -> dict[str, NDArray[Any]]:
        return self._saved_choice if self.choice is None else self.choice.state()

    def _restore(self, saved: Checkpoint) -> None:
        self.units = saved_units(saved.engine, self.source) if self.settings.standardize else None
        self.engine = type(self.engine).from_state(self.settings, saved.engine)
        self.targets = Targets(self.targets.loss, saved.labels, multilabel=self.settings.multilabel)
        self._saved_choice = choice_state(saved.engine)
        self.passes_done = saved.passes_done
        self._skips = saved.skips
        self.cursor = saved.cursor
        self._rows_at_cursor = self.engine.rows

    def _counts(self) -> dict[str, Any]:
        return {
            **self._reading.counts_at(self.cursor),
            "rows": self.engine.rows,
            "features": self._features,
            "passes": self.max_passes,
            "passes_done": self.passes_done,
        }

    @property
    def amount(self) -> str:
        return f"{self.engine.rows} rows"

    @property
    def usable(self) -> bool:
        return bool(self.engine.rows and self.targets.complete)

    def selection(self) -> Selection:
        self.release_buffers()
        fitted = Fitted.of(self)
        if fitted.names_may_be_missing:
            fitted.find_missing_names(self.watched(self.source, "naming features"))
        return fitted.selection

    def release(self) -> None:
        super().release()
        if hasattr(self, "engine"):
            del self.engine

    def model(self) -> Selection:
        return Fitted.of(self, fingerprint=False).selection

    def interim_selection(self) -> Selection:
        fitted = Fitted.of(self, fingerprint=False)
        if self.source.rewindable:
            fitted.find_missing_names(self.source)
        return fitted.selection

    def limited(self, source: Source) -> Source:
        return source.limited(self.plan.limits)

    @property
    def kept_buffers(self) -> int:
        # The batches of a shuffle buffer are freed all at once, and the next buffer takes as many.
        return max(super().kept_buffers, self.plan.shuffle)


def learn(engine: OnlineEngine | SuccessiveHalving, batch: Batch, where: Callable[[int], str]) -> None:
    """Learn from a batch; an error of one row says where it is."""
    try:
        engine.step(batch)
    except DataError as error:
        if len(error.args) == 2:  # only the source knows the line of the row
            raise DataError(f"{where(error.args[1])}: {error.args[0]}") from None
        raise


def make_engine(settings: OnlineSettings) -> OnlineEngine | SuccessiveHalving:
    """The engine of the settings, or a tuner if the settings leave eta or lam open."""
    if not settings.tuned:
        return OnlineEngine(settings)
    from thresher.online.tuning import SuccessiveHalving

    return SuccessiveHalving(settings)


def _prepared(source: Source, products: Products | None, options: RunOptions) -> Source:
    """The rows with class weights and products of features; products come last, so that buffers do not hold them."""
    if options.class_weight is not None:
        from thresher.sources.transforms.label_scan import label_counts
        from thresher.sources.transforms.weights import Weighted

        counted = Watched(source, options.watch, "counting labels")
        count = partial(label_counts, counted, may_be_numbers=options.may_be_numbers)
        source = Weighted(source, class_weights(options.class_weight, count))
    if products is not None:
        from thresher.sources.transforms.interactions import Interactions

        source = Interactions.over(source, products)
    return source


def _refits_intercept(settings: OnlineSettings, source: Source) -> bool:
    """Whether the intercept is refitted at the end (default: with several passes)."""
    binary = get_loss(settings.loss).task == "binary" and not settings.multilabel
    fits = settings.fit_intercept and binary and settings.budgeted and source.rewindable
    if settings.refit_intercept and not fits:
        raise SettingsError(
            "`refit_intercept` requires a budgeted method, an intercept, two classes, and data that can be read again"
        )
    several = settings.passes_set > 1 and settings.refit is False
    return fits and (several if settings.refit_intercept is None else settings.refit_intercept)
