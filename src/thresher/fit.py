"""From a prepared run to the answer: the fit, its scores and warnings, the saved file, and what an interrupt leaves."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from thresher.core.labels import ThirdLabel
from thresher.errors import UnwritableError
from thresher.guess import Guesser
from thresher.methods import Data, MethodSpec
from thresher.run import Run, RunOptions
from thresher.selection.coverage import Coverage
from thresher.selection.leaks import leak_warnings
from thresher.selection.scoring import evaluate
from thresher.selection.selection import Selection
from thresher.sources.base import Source
from thresher.sources.files.changes import FilesAtStart

if TYPE_CHECKING:
    from thresher.selection.report.run_report import RunReport
    from thresher.sources.named_features import NamedFeatures
    from thresher.trust.chance import Chance

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
    held : Source, optional
        Rows to score on.
    output : path, optional
        The file to save to.
    rows, files : optional
        The training rows, which are searched for leaks, and their files. A change of the files since the start is a
        warning: it does not undo a fit of hours.
    warnings : list of str, optional
        Warnings so far. None for a stream of features, which has no rows to look for leaks in.
    holdout : dict, optional
        Which rows were held out.
    task : str, optional
        The task that was set, if the loss follows from it.
    named : NamedFeatures, optional
        The features to keep and to drop.
    chance : Chance, optional
        Fits of labels drawn by chance, to compare with.
    report : RunReport, optional
        The report to complete.
    """

    held: Source | None = None
    output: str | os.PathLike[str] | None = None
    warnings: list[str] | None = None
    rows: Source | None = None
    files: FilesAtStart | None = None
    holdout: dict[str, Any] | None = None
    task: str | None = None
    named: NamedFeatures | None = None
    chance: Chance | None = None
    report: RunReport | None = None

    def __call__(self, run: Run) -> Selection:
        """Run to the end, and remove the checkpoint once the selection is saved."""
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
            self._add_facts(selection)
            rows_tested = self._score(run, selection)
            self._add_warnings(run, selection)
            if self.chance is not None:
                selection.provenance["chance"] = self.chance.facts(selection, run, self.held)
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

    def _add_facts(self, selection: Selection) -> None:
        """What the labels were taken for, and what became of the features named to keep or drop."""
        classes = selection.classes
        if self.task is not None:
            found = {"task": "numbers"} if classes is None else {"task": "classes", "classes": len(classes)}
            selection.provenance["task"] = {**found, "guessed": self.task == "auto"}
        if self.named is None:
            return
        selection.provenance.update(self.named.facts())
        counts = dict(zip(selection.names, selection.counts.tolist(), strict=True))
        unknown = logged(self.named.warnings(counts))
        if self.warnings is not None:
            self.warnings.extend(unknown)
        elif unknown:
            selection.provenance["warnings"] = unknown

    def _score(self, run: Run, selection: Selection) -> Any:
        """Score on the held-out rows; returns what the report gathers of them."""
        if self.held is None:
            return None
        scored = run.watched(run.limited(self.held), "scoring held-out rows")
        coverage = Coverage(selection, scored)
        rows_tested = None if self.report is None else self.report.rows(selection)
        observer = None if rows_tested is None else rows_tested.add
        selection.provenance["test"] = evaluate(selection, scored, coverage, observer)
        facts = {"holdout": self.holdout, "covered": coverage.share}
        selection.provenance.update({name: value for name, value in facts.items() if value is not None})
        return rows_tested

    def _add_warnings(self, run: Run, selection: Selection) -> None:
        """Look for leaks in the training rows, and for files that have changed."""
        if self.warnings is None or self.rows is None:
            return
        run.release_buffers()
        self.warnings.extend(logged(leak_warnings(selection, run.limited(self.rows), run.watch)))
        self.warnings.extend(logged(self.files.warnings() if self.files is not None else ()))
        if self.warnings:
            selection.provenance["warnings"] = self.warnings

    def _save(self, run: Run, selection: Selection) -> None:
        if self.output is None:
            return
        try:
            selection.save(self.output)
        except UnwritableError as error:
            error.selection = selection
            run.save()  # repeating the fit with another output then starts from here
            raise


def fit(
    make_run: Callable[[Data, Any, RunOptions], Run],
    data: Data,
    settings: Any,
    options: RunOptions,
    finish: Callable[[Run], Selection],
    guesser: Guesser | None,
    every_row: Source | None = None,
    choose: Callable[[Data, Any, RunOptions], tuple[Any, RunOptions]] | None = None,
) -> Selection:
    """Run a method to its end; again, if the ``guesser`` took labels for two classes and they are not.

    ``choose`` chooses settings before: the number of features.
    """
    try:
        chosen = (settings, options) if choose is None else choose(data, settings, options)
        return finish(make_run(data, *chosen))
    except ThirdLabel as third:
        if guesser is None:
            raise
        loss, labels = guesser.after_third_label(third, every_row)
    # A checkpoint that exists now belongs to the fit of two classes.
    options = replace(options, restart=True, may_be_numbers=False)
    data, settings = data._replace(classes=labels), replace(settings, loss=loss)
    settings, options = (settings, options) if choose is None else choose(data, settings, options)
    return finish(make_run(data, settings, options))


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
