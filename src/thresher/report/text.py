"""The report of a fit as text: log lines of progress, the table of features, and a summary below it."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from thresher.columns.types import format_search_stats
from thresher.core.memory import Progress, show_size
from thresher.core.progress_text import log_line
from thresher.display import cut, redact, visible
from thresher.selection.coverage import rows_of_test

if TYPE_CHECKING:
    from thresher.selection.selection import Selection

log = logging.getLogger("thresher.progress")

#: A table: the header and the cells of each column.
Columns = Sequence[tuple[str, list[str]]]
#: Characters between two columns.
GAP = 2
#: Seconds between log lines.
LOG_EVERY = 5.0


class ProgressDisplay:
    """A ``progress`` callback for `thresher.select` that shows each step and remembers the last one of the loop."""

    def __init__(self, show: Callable[[Progress], None]) -> None:
        self._show = show
        self.last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        if not progress.phase or self.last is None:
            self.last = progress
        else:  # a further phase: what counts is how fast the loop was, and the most memory of all
            self.last = replace(self.last, grown=progress.grown)
        self._show(progress)


@contextmanager
def show_progress(*, quiet: bool = False) -> Iterator[ProgressDisplay]:
    """Show progress during a fit, unless ``quiet``."""
    if quiet:
        yield ProgressDisplay(lambda progress: None)
        return
    if not sys.stderr.isatty():
        with _Log() as lines:
            yield ProgressDisplay(lines)
        return
    from thresher.report.terminal import progress_bar

    with progress_bar() as show:
        yield ProgressDisplay(show)


class _Log:
    """Logs a line every few seconds, also while a long native call reports nothing."""

    def __init__(self) -> None:
        self._last = Progress(phase="reading")
        self._since = time.monotonic()  # the start of the phase
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name="thresher-progress", daemon=True)

    def __enter__(self) -> _Log:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def __call__(self, progress: Progress) -> None:
        if progress.phase != self._last.phase:
            self._since = time.monotonic()
        self._last = progress

    def _repeat(self) -> None:
        while not self._ended.wait(LOG_EVERY):
            log.info("%s", log_line(self._last, time.monotonic() - self._since))


# ── the selection ────────────────────────────────────────────────────────────────────────────────


def print_selection(
    selection: Selection,
    *,
    top: int | None = None,
    keys: bool = False,
    run: Progress | None = None,
    saved: str | None = None,
) -> None:
    """Print the strongest features and a summary; ``run`` is the last progress of the fit.

    On a terminal the table fits its width: long names are cut, and classes that do not fit are left out. Elsewhere
    names are complete. ``keys`` adds the 64-bit keys.
    """
    shown = len(selection) if top is None else min(top, len(selection))
    columns = [(name, values) for name, values in selection.columns().items() if keys or name != "key"]
    table = [(cut(visible(name)), _cells(name, values[:shown])) for name, values in columns]
    more = [f"… and {len(selection) - shown} more"] if shown < len(selection) else []
    lines = summary(selection, run, saved)
    if sys.stdout.isatty():
        from thresher.report.terminal import print_styled

        print_styled(table, more, lines)
    else:  # into a file or a pipe: lines are not folded, and rich is not imported
        print("\n".join([*aligned(table), *more, "", *(f"{name:<12} {value}" for name, value in lines)]))


def aligned(
    table: Columns, length: Callable[[str], int] = len, pad: Callable[[str, int], str] = str.ljust
) -> list[str]:
    """The table as lines, the header first: names are aligned left, other columns right."""
    columns = []
    for name, cells in table:
        width = max(map(length, [name, *cells]))
        texts = [name, *cells]
        columns.append([pad(s, width) if name == "name" else " " * (width - length(s)) + s for s in texts])
    return [(" " * GAP).join(row).rstrip() for row in zip(*columns, strict=True)]


def _cells(name: str, values: Any) -> list[str]:
    """A column as text: names without control characters, numbers with their decimal points below each other."""
    if name == "name":
        return [visible(text) for text in values]
    if not name.startswith(("weight", "standardized", "bound", "q_value")):
        return [str(value) for value in values]
    texts = [f"{value:.6g}" for value in values]
    behind = [len(text) - len(text.partition(".")[0]) for text in texts]
    most = max(behind, default=0)
    return [text + " " * (most - n) for text, n in zip(texts, behind, strict=True)]


def summary(selection: Selection, run: Progress | None, saved: str | None) -> list[tuple[str, str]]:
    """The lines below the table, as pairs of a name and a value."""
    provenance = selection.provenance
    lines = [("features", _found(selection))]
    if "groups" in provenance:
        kept = provenance["groups"]
        more = " …" if len(kept) > _GROUPS_SHOWN else ""
        lines.append(("groups", ", ".join(map(_short, kept[:_GROUPS_SHOWN])) + more))
    if provenance.get("approximate"):
        since = provenance.get("exact_steps")
        when = f" since step {since:,}, when the memory was full: with more memory the fit is exact" if since else ""
        lines.append(("approximate", f"features outside the table share cells of a sketch{when}"))
    if "fdr" in provenance:
        lines.append(("error control", _error_control(provenance["fdr"])))
    if selection.classes is not None:
        lines.append(("classes", _classes(selection)))
    if "rows" in provenance:
        lines.append(
            ("learned", f"{provenance['rows']:,} rows of {_path(provenance.get('data'))}{_skipped(provenance)}")
        )
    if "search" in provenance:
        lines.append(("searched", format_search_stats(provenance["search"])))
    if selection.scales is not None:
        lines.append(("units", "features are ranked by their standardized weights; weight is in the data's unit"))
    if "passes" in provenance:
        lines.append(("passes", _passes(provenance)))
    if "choice" in provenance:
        lines.append(("chosen", _choice(provenance["choice"])))
    if "race" in provenance:
        lines += _race(provenance["race"])
    if selection.k_curve is not None:
        lines += _k_curve(selection.k_curve)
    for name, key in (("progressive", "progressive"), ("validation", "validation"), ("held out", "test")):
        if provenance.get(key):
            lines.append((name, show_scores(provenance[key])))
    if provenance.get("test") and (tested := rows_of_test(provenance)):
        lines.append(("tested on", tested))
    if provenance.get("progressive") == {}:
        lines.append(("progressive", "no scores: the rows were not in random order"))
    if selection.calibration is not None:
        lines.append(("calibrated", str(selection.calibration)))
    if run is not None:
        lines.append(("memory", memory_line(provenance, run)))
        lines.append(("time", f"{run.seconds:.2f} s, {run.rows / max(run.seconds, 1e-9):,.0f} {run.unit}/s"))
    if saved is not None:
        lines.append(("saved", _path(saved)))
    return lines


def _error_control(fdr: dict[str, Any]) -> str:
    """How many features are expected to be false, and of how many candidates."""
    splits = f"{fdr['splits']} split{'s' if fdr['splits'] > 1 else ''}"
    of = f"of {fdr['candidates']} candidates, q = {fdr['q']:g}, {splits} of the rows"
    groups = " groups" if fdr["unit"] == "groups" else ""
    found = f"expected false among {fdr['kept']}{groups}: at most {fdr['expected_false']} ({of})"
    if not fdr["kept"]:
        found = f"nothing stays {of}"
    if most := max(fdr["ridge"]["features"]):
        found += f"; {most} candidates, collinear or in one class only, were tested with a ridge"
    if fdr["sampled"]:
        found += "; `memory` holds only a sample of the rows for the tests"
    return found


def _passes(provenance: dict[str, Any]) -> str:
    """The number of passes, which was best, and whether its features were fitted again."""
    losses, best = provenance["passes"]["losses"], provenance["passes"]["best"]
    text = f"{best}" + (f", the best of {len(losses)} on held-out rows" if best < len(losses) else "")
    if "refit" in provenance:
        found = provenance["refit"]
        before = losses[best - 1]
        chosen = "refitted" if found["used"] else "not refitted"
        text += f"; {chosen}: held-out loss {found['loss']:.4g} with a refit, {before:.4g} without"
    return text


def _choice(choice: dict[str, Any]) -> str:
    """The settings that held-out rows chose."""
    best = choice["chosen"]
    refit = f"refit {best['refit']}" if best["refit"] else "no refit"
    tried = len(choice["candidates"])
    return (
        f"C = {best['C']:g}, scale = {str(best['scale']).lower()}, {refit}; the best of {tried} on held-out rows, "
        f"loss {best['loss']:.4g}"
    )


def _race(race: dict[str, Any]) -> list[tuple[str, str]]:
    """The methods that learned a sample, a line each."""
    lines = [f"{race['chosen']} was the best on {race['scored']:,} held-out rows of a sample of {race['rows']:,}"]
    for entry in race["methods"]:
        name = f"{entry['method']:<9}"
        if "failed" in entry:
            lines.append(f"{name} {cut(visible(entry['failed']))}")
            continue
        shown = ("log_loss", "micro_f1", "rmse", "accuracy", "r2")
        scores = [
            f"{score.replace('_', ' ')} {entry['scores'][score]:.3g}" for score in shown if score in entry["scores"]
        ]
        what = "functions" if entry["method"] == "sparse-rf" else "features"
        lines.append(
            f"{name} {', '.join(scores[:2])}, {entry['features']:,} {what}, {entry['seconds']:.1f} s, "
            f"{show_size(entry['bytes'])}"
        )
    return [("raced" if number == 0 else "", line) for number, line in enumerate(lines)]


def _k_curve(curve: dict[str, Any]) -> list[tuple[str, str]]:
    """The curve by which the number of features was chosen, a line for each number."""
    points, chosen = curve["points"], curve["chosen"]
    best = min(points, key=lambda point: point["loss"])["k"]
    marks = {chosen: "  chosen: the fewest within one standard error", best: "  the least"}
    marks = marks if chosen != best else {chosen: "  chosen: the least"}
    rows = f"{curve['rows']:,} held-out rows, in {curve['folds']} parts" if curve["folds"] > 1 else "held-out rows"
    first = ("k", f"{chosen} of at most {curve['k_max']:,}, by the loss of {rows}")
    width = len(str(points[-1]["k"]))
    lines = [f"{at['k']:>{width}}  {at['loss']:.4f} ± {at['standard_error']:.4f}" for at in points]
    return [first, *(("", line + marks.get(at["k"], "")) for line, at in zip(lines, points, strict=True))]


def memory_line(provenance: dict[str, Any], run: Progress) -> str:
    """The memory that was allowed, planned and used; where more was used than planned, what for."""
    plan = provenance["plan"]
    workers = provenance.get("workers", {}).get("count", 1)
    each = f" for each of {workers} workers" if workers > 1 else ""
    allowed = f"{show_size(plan['memory'])} allowed{each}" if plan["memory"] else "no limit set"
    planned = plan["total"] * workers
    if workers > 1:  # the merged model
        planned += plan["table"] + plan["sketch"] + plan["scores"] + plan["seen"]
    shown = f"{show_size(planned)} planned{' in all' if workers > 1 else ''}"
    if "seen" in provenance and not plan["seen"]:
        seen = provenance["seen"]
        models = workers + 1 if workers > 1 else 1
        planned += models * seen["bytes"]
        shown += f" and {show_size(models * seen['bytes'])} for the {seen['features']:,} features seen"
    line = f"{allowed}, {shown}, {show_size(run.grown)} used"
    over = run.grown - planned
    if over <= 0:
        return line
    causes = [f"{show_size(run.mapped)} of program code and mapped files"] if run.mapped else []
    if run.mapped < over:
        causes.append("Python's own objects, and rows larger than a buffer")
    return f"{line}; {show_size(over)} more than planned: {', and '.join(causes)}"


#: The most groups and classes to list.
_GROUPS_SHOWN, _CLASSES_SHOWN = 20, 8


def _found(selection: Selection) -> str:
    """The number of features found, of features or groups requested, and of names."""
    n, requested = len(selection), selection.settings.get("k")
    if n == 0:
        asked = "" if requested is None else f" of {requested} requested"
        return f"none{asked}: every prediction is the intercept alone"
    if (hashing := selection.space.hashing) is not None:
        return f"{n} of {hashing.width} buckets have a weight (k does not limit them); buckets have no names"
    named = f"{selection.named} of {n} named"
    if requested is None:
        return f"{n}, {named}"
    if "groups" in selection.provenance:
        return f"{n} in {len(selection.provenance['groups'])} of {requested} groups requested, {named}"
    if n <= requested:
        return f"{n} of {requested} requested, {named}"
    if selection.settings.get("per_class"):
        return f"{n}, {requested} requested for each class, {named}"
    return f"{n} in the {requested} groups requested, {named}"


def _classes(selection: Selection) -> str:
    """What the sign of a weight means."""
    labels = [_short(label) for label in selection.labels]
    if selection.weights.ndim == 1:
        return f"a positive weight is evidence for {labels[-1]}, against {labels[0]}"
    more = f" and {len(labels) - _CLASSES_SHOWN} more" if len(labels) > _CLASSES_SHOWN else ""
    listed = ", ".join(labels[:_CLASSES_SHOWN]) + more
    return f"{listed}; a positive weight_… is evidence for the class in its name"


def _short(label: object) -> str:
    """A class or group as text, cut."""
    return cut(visible(f"{label:g}" if isinstance(label, float) else str(label)))


def _path(path: object) -> str:
    return visible(redact(str(path)))


#: Scores whose names are usually written otherwise.
_DISPLAY_NAMES = {
    "auc": "AUC",
    "ece": "ECE",
    "rmse": "RMSE",
    "r2": "R²",
    "micro_f1": "micro F1",
    "macro_f1": "macro F1",
}


#: Scores of interest if one class has most of the rows, and its share from which they are shown.
_IMBALANCE, _MOST_ROWS = ("average_precision", "balanced_accuracy", "largest_class"), 0.8


def show_scores(scores: dict[str, float | None]) -> str:
    """Scores as a line: ``accuracy 0.9120, AUC 0.9610, log loss 0.2100 (2,027 rows)``."""
    share = scores.get("largest_class")
    balanced = share is not None and share <= _MOST_ROWS
    names = [name for name in scores if name != "rows" and not (balanced and name in _IMBALANCE)]
    parts = [f"{_DISPLAY_NAMES.get(name, name.replace('_', ' '))} {_number(scores[name])}" for name in names]
    return ", ".join(parts) + (f" ({scores['rows']:,} rows)" if "rows" in scores else "")


def _number(value: float | None) -> str:
    if value is None:  # files hold None in place of NaN and infinity
        return "not finite"
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e6 else f"{value:.4g}"


#: The most files with malformed lines to list.
_FILES_SHOWN = 5


def _skipped(provenance: dict[str, Any]) -> str:
    if not provenance.get("skipped"):
        return ""
    files: dict[str, int] = provenance.get("skipped_files", {})
    by_count = sorted(files.items(), key=lambda file: -file[1])
    shown = ", ".join(f"{count} of {_path(name)}" for name, count in by_count[:_FILES_SHOWN]) if len(files) > 1 else ""
    more = f" and {len(files) - _FILES_SHOWN} files more" if len(files) > _FILES_SHOWN else ""
    return f" ({provenance['skipped']} malformed lines skipped{': ' if shown else ''}{shown}{more})"
