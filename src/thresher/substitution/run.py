"""A fit of Online Substitution or a baseline: all labels are known, and features arrive."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thresher import _native
from thresher.columns.types import Ids
from thresher.core.batch import Cursor
from thresher.core.feature_space import FeatureSpace
from thresher.core.memory import parse_size
from thresher.core.storage.checkpoint import Checkpoint
from thresher.errors import DataError, SettingsError, ThresherError
from thresher.refit import Model
from thresher.run import Origin, Run, RunOptions, calibrated, one_vs_rest_loss
from thresher.selection.calibration import Calibration
from thresher.selection.names import names_of
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.substitution.arriving.column_reader import IndexedReader
from thresher.substitution.arriving.feature_stream import FeatureStream
from thresher.substitution.choice import Choice, choose, fit_kept
from thresher.substitution.dataset import read_features
from thresher.substitution.engine import StreamEngine
from thresher.substitution.factory import make_problem
from thresher.substitution.memory_plan import StreamPlan, reading_plan
from thresher.substitution.problem import StreamProblem, Targets
from thresher.substitution.proposer import StreamProposer
from thresher.substitution.settings import SubstitutionSettings
from thresher.working_set.calibration import calibration_by_refit
from thresher.working_set.run import with_interactions

log = logging.getLogger(__name__)


class BrokenStream(DataError):
    """A stream that failed; ``selection`` is the result up to then (None before the first block)."""

    selection: Selection | None = None


class SubstitutionRun(Run):
    """One fit over arriving features; usable after the first block.

    Parameters
    ----------
    data : FeatureStream or Source
        The rows of a source are read first; its columns then arrive in the order of their keys.
    y, sample_weight : array-like, optional
        Labels and weights of the rows, for a stream. A source contains its own.
    choose : bool
        Whether settings that are ``auto`` are chosen on held-out rows. Not if further features will come, which the
        choice could not know.
    """

    def __init__(
        self,
        data: FeatureStream | Source,
        settings: SubstitutionSettings,
        options: RunOptions,
        y: Any = None,
        sample_weight: Any = None,
        *,
        choose: bool = True,
    ) -> None:
        super().__init__(options)
        self.settings = settings
        self.pool = _native.ThreadPool(options.threads)
        data = with_interactions(data, options) if isinstance(data, Source) else data
        self.source = data if isinstance(data, Source) else None
        memory = None if options.memory is None else parse_size(options.memory)
        reading = reading_plan(data, memory)
        buffers = 0 if reading is None else reading.buffers + reading.slack
        if reading is not None:
            assert isinstance(data, Source)
            self.source = data = data.limited(reading.limits)
        self._data = read_features(
            data, settings, options, self.pool, None if memory is None else memory - buffers, y, sample_weight
        )
        self.examples, self.stream = self._data.examples, self._data.stream
        self._before = 0  # features of earlier streams
        store = self.examples.store
        self._plan = StreamPlan(
            settings,
            rows=self.examples.rows,
            outputs=len(self.examples.y),
            columns=store.most_bytes if isinstance(store, _native.ColumnStore) else 0,
            sparse=self.stream.sparse,
            memory=memory,
            reading=buffers,
            features=self.stream.size if choose else None,
        )
        self._block = self._plan.block(self.stream)
        even = bool((self.examples.weight == self.examples.weight[0]).all())
        self.targets = Targets(np.ascontiguousarray(self.examples.y), None if even else self.examples.weight)
        self._choosing = choose and settings.chooses and self.stream.rewindable
        self.choice: Choice | None = None
        self._saved: dict[str, Any] | None = None  # the state that the fit was resumed from
        self._start(settings.candidates()[0])
        self.resume()

    def _start(self, settings: SubstitutionSettings) -> None:
        """Make the engine of the fit."""
        self.engine = self._engine(settings, self.targets)
        self.proposer = self.engine.proposer

    def _engine(self, settings: SubstitutionSettings, targets: Targets) -> StreamEngine:
        return StreamEngine(
            self._proposer(self.stream, settings.scans, settings.order),
            settings,
            targets,
            self.pool,
            lambda part: self._make_problem(settings, part),
            self._keep,
        )

    def _make_problem(self, settings: SubstitutionSettings, targets: Targets) -> StreamProblem:
        most = self._plan.most_kept(self._block)
        return make_problem(settings, targets, self.stream, self.pool, self._keep, most)

    @property
    def _keep(self) -> Ids | None:
        """The ids of the features to keep."""
        return np.array(sorted(self.options.keep.values()), np.uint64) if self.options.keep else None

    def _choose(self) -> None:
        """Let held-out rows choose, and begin with the choice.

        The choice depends on the data alone. A resumed fit makes it once more, so that checkpoints need not hold it.
        """
        self._choosing = False
        examples = self.examples
        assert examples.parts is not None
        loss = one_vs_rest_loss(self.settings.loss, len(examples.y), multilabel=self.options.multilabel)
        model = Model(loss, len(examples.y), self.options.multilabel, self.settings.fit_intercept)
        show = self.watch.show
        self.choice = choose(
            self.settings, self.targets, examples.parts, model, self._engine, lambda phase: show(phase=phase)
        )
        if self.choice is None:
            return
        self._start(self.choice.settings)
        if self._saved is not None:
            self.engine.restore(self._saved)
        if self.settings.refit == "auto":
            penalty = self.choice.penalty
            self.engine.final_fit = lambda kept: fit_kept(kept, self.targets, model, penalty)

    def part_fits(self, show: Callable[[], None]) -> Callable[[NDArray[np.bool_]], NDArray[np.uint64]]:
        """What selects features from some rows alone: the same columns arrive, and other rows weigh nothing.

        ``show`` is called after each block.
        """
        settings, weight = replace(self.engine.settings, scans=self.settings.scans), self.examples.weight

        def fit(rows: NDArray[np.bool_]) -> NDArray[np.uint64]:
            engine = self._engine(settings, Targets(self.targets.y, np.where(rows, weight, 0.0)))
            while engine.step():
                show()
            return engine.found().keys

        return fit

    def _proposer(self, stream: FeatureStream, scans: int, order: str) -> StreamProposer:
        return StreamProposer(
            stream,
            self._data.column_rows,
            scans=scans,
            order=order,
            seed=self.settings.seed,
            keep=self._data.keep,
            block=self._block,
            wide=self.settings.by_numbers,
        )

    def release(self) -> None:
        super().release()
        if hasattr(self, "engine"):
            del self.engine, self.proposer, self.stream, self.examples, self.targets, self._data

    @property
    def space(self) -> FeatureSpace:
        """The feature space of the keys."""
        if self.source is not None:
            return self.source.space
        space = self.stream.space
        return space if space.size is None else replace(space, size=self._before + space.size)

    # ── the loop ─────────────────────────────────────────────────────────────────────────────────

    def run(self) -> None:
        """Fit to the end. If the stream fails, raise `BrokenStream` with the selection so far."""
        try:
            super().run()
        except Exception as error:
            if error is self.callback_error:
                raise
            broken = BrokenStream(str(error) if isinstance(error, ThresherError) else f"the stream failed: {error!r}")
            broken.selection = self.selection() if self.usable else None
            self.save()
            raise broken from error
        if self.stream.skipped:
            shown = ", ".join(
                f"{count} because {'it' if count == 1 else 'each'} {fault}"
                for fault, count in self.stream.skipped.items()
            )
            log.warning("%s: skipped columns: %s", self.stream.describe(), shown)

    def _steps(self) -> Iterator[None]:
        if self._choosing:
            self._choose()
        while not self.stopped and self.engine.step():
            yield

    def continue_with(self, stream: FeatureStream) -> None:
        """Process further features in one scan. The columns of a matrix are numbered on from the previous ones."""
        if stream.space.kind != self.space.kind:
            raise DataError("all features must have names, or none: the earlier features are of the other kind.")
        self.stopped, self.options = False, replace(self.options, callback=None)
        self._before += self.stream.size or 0
        if isinstance(stream.reader, IndexedReader):
            stream.reader.first = self._before
        self.stream = stream
        last = self.proposer
        self.settings = replace(self.settings, scans=1)
        self.proposer = self._proposer(stream, 1, "given")
        self.proposer.arrived = last.arrived
        self.engine.proposer = self.engine.loop.proposer = self.proposer

    # ── checkpoints, progress and the result ─────────────────────────────────────────────────────

    @property
    def arrived(self) -> int:
        """Features that have arrived, in all scans."""
        return self.proposer.arrived

    @property
    def amount(self) -> str:
        return f"{self.arrived} features"

    @property
    def usable(self) -> bool:
        return any(len(problem.kept_ids()) for problem in self.engine.problems)

    def _counts(self) -> dict[str, Any]:
        return {
            "rows": self.arrived,
            "features": self.arrived,
            "passes": self.settings.scans,
            "passes_done": min(self.proposer.scan, self.settings.scans - 1),
            "read": 0,
            "total_bytes": None,
            "rows_in_pass": self.proposer.reached,
            "total_rows": self.stream.size,
            "unit": "features",
        }

    def memory_held(self) -> dict[str, int]:
        """The bytes that each part holds."""
        return self._plan.parts(self._block)

    def selection(self) -> Selection:
        engine = self.engine
        self.watch.show(phase="refitting the selected features")
        found = engine.found()
        if self.source is not None:
            names = names_of(self.watched(self.source, "naming features"), found.keys)
        elif self.space.invertible:
            names = self.space.decode(found.keys)
        else:
            names = [engine.names.get(key) or f"#{key}" for key in found.keys.tolist()]
        unseen = {f"#{key}": name for name, key in self.options.keep.items()}  # no column gave their names
        names = [unseen.get(name, name) for name in names]
        selection = found.selection(
            names,
            classes=self.examples.classes,
            multilabel=self.options.multilabel,
            space=self.space,
            settings=replace(self.engine.settings, scans=self.settings.scans).to_dict() | self._kept_names(),
            origin=Origin.of(self._origin, fingerprint=not self.options.from_estimator),
            facts={
                "rows": self.examples.rows,
                "arrived": self.arrived,
                "skipped": self.examples.skipped,
                "skipped_columns": dict(self.stream.skipped),
                **({} if self.choice is None else {"chosen": self._chosen()}),
                "found_by": [problem.summary() for problem in engine.problems],
                "plan": self.memory_held(),
                **self.stop_facts,
            },
        )
        return calibrated(selection, self._calibration(selection))

    def interim_selection(self) -> Selection:
        return self.selection()

    def _kept_names(self) -> dict[str, Any]:
        """The features to keep, where there are any: for settings and checkpoints."""
        return {"keep": sorted(self.options.keep)} if self.options.keep else {}

    def _chosen(self) -> dict[str, Any]:
        """The choice, for the provenance."""
        assert self.choice is not None
        chosen, final = self.choice.settings, self.engine.final_fit is not None
        return {
            "arrivals": chosen.arrivals,
            "shrink": chosen.shrink,
            "ridge": chosen.ridge,
            **({"penalty": self.choice.penalty} if final else {}),
            "tried": self.choice.scores,
        }

    def _calibration(self, selection: Selection) -> Calibration | None:
        """The calibration by a refit without some rows; None without a refit, whose margins then fit those rows too."""
        examples = self.examples
        if not self.options.calibrate or examples.parts is None or not len(selection):
            return None
        if self.engine.final_fit is not None:
            assert self.choice is not None
            return self.choice.calibration
        if self.settings.refit_ridge is None:
            return None
        self.watch.show(phase="calibrating probabilities")
        refit = self.engine.held_out_margins
        return calibration_by_refit(selection.loss, examples.parts, examples.y, examples.weight, refit)

    @property
    def _origin(self) -> FeatureStream | Source:
        return self.stream if self.source is None else self.source

    def _identity(self) -> dict[str, Any]:
        return {
            "data": self._origin.fingerprint(),
            "labels": _native.hash_bytes(self.examples.y.tobytes() + self.examples.weight.tobytes()),
            **self.settings.to_dict(),
            **self._kept_names(),
            "class_weight": self.options.class_weight_identity(),
        }

    def _snapshot(self) -> Checkpoint:
        return Checkpoint(
            identity=self._identity(),
            passes_done=self.proposer.scan,
            cursor=Cursor(),
            labels=list(self.examples.classes or []),
            engine=self.engine.state(),
        )

    def _restore(self, saved: Checkpoint) -> None:
        if not self.stream.rewindable:
            raise SettingsError(f"{self.stream.describe()} cannot be read again to resume: pass `restart=True`")
        self.engine.restore(saved.engine)
        self._saved = saved.engine if self._choosing else None
