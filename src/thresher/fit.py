"""From a prepared run to the answer: the fit, its scores and warnings, the saved file, and what an interrupt leaves."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from thresher.core.labels import ThirdLabel
from thresher.errors import UnwritableError
from thresher.guess import Guesser
from thresher.methods import Data, MakeRun, MethodSpec
from thresher.run import Run, RunOptions
from thresher.selection.coverage import Coverage
from thresher.selection.leaks import leak_warnings
from thresher.selection.scoring import evaluate
from thresher.selection.selection import Selection
from thresher.sources.base import Source

if TYPE_CHECKING:
    from thresher.core.losses import Loss
    from thresher.selection.report.run_report import RunReport
    from thresher.sources.named_features import NamedFeatures
    from thresher.training_rows import TrainingRows
    from thresher.trust.repeats import Repeats

#: Chooses settings before the fit.
Choose = Callable[[Data, Any, RunOptions], tuple[Any, RunOptions]]

log = logging.getLogger("thresher")
log_data = logging.getLogger("thresher.sources")


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a fit; ``selection`` is the result up to then (None before two classes were seen).

    ``saved`` is the path of the checkpoint, if it was written.
    """

    selection: Selection | None = None
    saved: str | None = None

    @classmethod
    def of(cls, run: Run, selection: Selection | None) -> Interrupted:
        """The interrupt of a run."""
        interrupted = cls(f"stopped after {run.released or run.amount}")
        interrupted.selection = selection
        checkpoint = run.options.checkpoint
        if checkpoint is not None and run.unsaved is None and os.path.exists(checkpoint):
            interrupted.saved = os.fspath(checkpoint)
        return interrupted


@dataclass(frozen=True, kw_only=True)
class Finish:
    """What happens to a run that is ready: it runs to its end, is scored, checked for leaks, and saved.

    Parameters
    ----------
    test : Source, optional
        Rows to score on.
    output : path, optional
        The file to save to.
    rows : TrainingRows, optional
        The training rows, which are searched for leaks, and their files. A change of the files since the start is a
        warning: it does not undo a fit of hours. None for a stream of features.
    warnings : list of str
        Warnings so far.
    task : str, optional
        The task that was set, if the loss follows from it.
    doubted : Loss, optional
        The loss that was set. Labels that look like those of another one are a warning.
    online : bool
        Whether the method learns row by row.
    named : NamedFeatures, optional
        The features to keep and to drop.
    repeats : sequence of Repeats
        Fits of changed rows, to compare with: labels drawn by chance, and decoys.
    report : RunReport, optional
        The report to complete.
    """

    test: Source | None = None
    output: str | os.PathLike[str] | None = None
    rows: TrainingRows | None = None
    warnings: list[str] = field(default_factory=list)
    task: str | None = None
    doubted: Loss | None = None
    online: bool = False
    named: NamedFeatures | None = None
    repeats: Sequence[Repeats] = ()
    report: RunReport | None = None

    def __call__(self, run: Run) -> Selection:
        """Run to the end, and remove the checkpoint once the selection is saved."""
        warnings = [*self.warnings, *self._doubts(run)]
        try:
            run.run()
        except KeyboardInterrupt:
            stopped = run.selection() if run.usable else None
            if self.report is not None and stopped is not None:
                self.report.stopped(stopped, run.amount)
            raise Interrupted.of(run, stopped) from None
        rows_tested = None
        try:
            selection = run.selection()
            warnings += self._add_facts(selection)
            rows_tested = self._score(run, selection)
            warnings += self._leaks(run, selection)
            if warnings:
                selection.provenance["warnings"] = warnings
            for repeats in self.repeats:
                selection.provenance[repeats.provenance] = repeats.facts(selection, run, self.test)
        except KeyboardInterrupt:  # in a refit, or in a pass over the data for names, scores or leaks
            run.save()
            raise Interrupted.of(run, None if run.released is None else selection) from None
        self._save(run, selection)
        if self.report is not None:
            self.report.finish(selection, rows_tested, run.watch)
        if run.unsaved is not None:
            log.warning("The fit is complete, but its last checkpoint was not written: %s", run.unsaved)
        checkpoint = run.options.checkpoint
        if checkpoint is not None and os.path.exists(checkpoint):
            os.unlink(checkpoint)
        return selection

    def _doubts(self, run: Run) -> list[str]:
        """Warn of labels that look like those of another loss."""
        if self.doubted is None or self.rows is None:
            return []
        from thresher.selection.label_warnings import label_warnings

        return logged(label_warnings(run.limited(self.rows.source), self.doubted, online=self.online))

    def _add_facts(self, selection: Selection) -> list[str]:
        """What the labels were taken for, and the features named to keep or drop; warnings of unknown names."""
        classes = selection.classes
        if self.task is not None:
            found = {"task": "numbers"} if classes is None else {"task": "classes", "classes": len(classes)}
            selection.provenance["task"] = {**found, "guessed": self.task == "auto"}
        if self.named is None:
            return []
        selection.provenance.update(self.named.facts())
        return logged(self.named.warnings(dict(zip(selection.names, selection.counts.tolist(), strict=True))))

    def _score(self, run: Run, selection: Selection) -> Any:
        """Score on the test rows; returns what the report gathers of them."""
        if self.test is None:
            return None
        scored = run.watched(run.limited(self.test), "scoring held-out rows")
        coverage = Coverage(selection, scored)
        rows_tested = None if self.report is None else self.report.rows(selection)
        observer = None if rows_tested is None else rows_tested.add
        selection.provenance["test"] = evaluate(selection, scored, coverage, observer)
        if rows_tested is not None:
            rows_tested.read_again(scored)
        facts = {"holdout": None if self.rows is None else self.rows.holdout, "covered": coverage.share}
        selection.provenance.update({name: value for name, value in facts.items() if value is not None})
        return rows_tested

    def _leaks(self, run: Run, selection: Selection) -> list[str]:
        """Warn of leaks in the training rows, and of files that have changed."""
        if self.rows is None:
            return []
        run.release_buffers()
        leaks = logged(leak_warnings(selection, run.limited(self.rows.source), run.watch))
        return leaks + logged(self.rows.files.warnings())

    def _save(self, run: Run, selection: Selection) -> None:
        if self.output is None:
            return
        try:
            selection.save(self.output)
        except UnwritableError as error:
            error.selection = selection
            run.save()  # repeating the fit with another output then starts from here
            raise


@dataclass(frozen=True)
class Fit:
    """A fit of a method, checked before its data is opened.

    Parameters
    ----------
    make_run : callable
        Makes the run from data, settings and options.
    settings : object
        The settings of the method.
    options : RunOptions
        The options of the run.
    guesser : Guesser, optional
        What took the labels for two classes, where the user sets no loss.
    choose : callable, optional
        What chooses the number of features before.
    """

    make_run: MakeRun
    settings: Any
    options: RunOptions
    guesser: Guesser | None = None
    choose: Choose | None = None

    def __call__(self, data: Data, finish: Callable[[Run], Selection], every_row: Source | None = None) -> Selection:
        """Run the method to its end; again, if the labels are not the two classes that they were taken for.

        ``every_row`` has the labels of all rows.
        """
        try:
            return self._once(data, finish)
        except ThirdLabel as third:
            if self.guesser is None:
                raise
            loss, labels = self.guesser.after_third_label(third, every_row)
        # A checkpoint that exists now belongs to the fit of two classes.
        options = replace(self.options, restart=True, may_be_numbers=False)
        again = replace(self, settings=replace(self.settings, loss=loss), options=options)
        return again._once(data._replace(classes=labels), finish)

    def _once(self, data: Data, finish: Callable[[Run], Selection]) -> Selection:
        chosen = (self.settings, self.options)
        if self.choose is not None:
            chosen = self.choose(data, *chosen)
        return finish(self.make_run(data, *chosen))


def chosen_k(
    spec: MethodSpec, data: Data, settings: Any, options: RunOptions, *, k_max: int | None
) -> tuple[Any, RunOptions]:
    """The settings with the number of features that held-out rows choose."""
    from thresher.choose_k import choose_k

    assert isinstance(data.rows, Source)

    def make_run(rows: Source, settings: Any, options: RunOptions) -> Run:
        return spec.make_run(data._replace(rows=rows), settings, options)

    try:
        return choose_k(data.rows, settings, options, make_run, k_max=k_max, outputs=len(data.classes or ()))
    except KeyboardInterrupt:
        raise Interrupted("stopped while `k` was chosen") from None


def logged(warnings: Iterable[str]) -> list[str]:
    """Log each warning once; the provenance of the selection keeps them."""
    found = list(warnings)
    for sentence in found:
        log_data.warning("%s", sentence)
    return found
