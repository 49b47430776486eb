"""The lines below the table of features: scores, passes, checks, memory and time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thresher.columns.types import format_search_stats
from thresher.core.memory import Progress, show_size
from thresher.display import cut, redact, visible
from thresher.selection.coverage import rows_of_test

if TYPE_CHECKING:
    from thresher.selection.selection import Selection


def summary(selection: Selection, run: Progress | None, saved: str | None) -> list[tuple[str, str]]:
    """The lines below the table, as pairs of a name and a value."""
    provenance = selection.provenance
    lines = [("features", _found(selection))]
    if "groups" in provenance:
        kept = provenance["groups"]
        more = " …" if len(kept) > _GROUPS_SHOWN else ""
        lines.append(("groups", ", ".join(map(short_label, kept[:_GROUPS_SHOWN])) + more))
    if provenance.get("approximate"):
        since = provenance.get("exact_steps")
        when = f" since step {since:,}, when the memory was full: with more memory the fit is exact" if since else ""
        lines.append(("approximate", f"features outside the table share cells of a sketch{when}"))
    if "fdr" in provenance:
        lines.append(("error control", _error_control(provenance["fdr"])))
    if "stand_ins" in provenance or selection.space.kmers is not None:
        from thresher.report.stand_ins import stand_in_lines

        lines += stand_in_lines(selection)
    if "stability" in provenance:
        lines += _stability(selection, provenance["stability"])
    if "kept" in provenance or "dropped" in provenance:
        lines.append(("by name", _by_name(provenance)))
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
    if "chance" in provenance:
        lines.append(("by chance", _chance(provenance["chance"])))
    if "decoys" in provenance:
        lines.append(("decoys", _decoys(provenance["decoys"])))
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


def _stability(selection: Selection, found: dict[str, Any]) -> list[tuple[str, str]]:
    """What the selection frequencies say, what that claims, and the same for fewer features."""
    fits, p, q = 2 * found["B"], found["features_seen"], found["selected_per_fit"]
    threshold, most = found["threshold"], found["expected_false"]
    if threshold is None:
        claim = (
            f"no frequency bounds the expected false features by {most:g}: each of {fits} fits of halves selects "
            f"{q:.4g} of {p:,}"
        )
    else:
        mine = 0 if selection.stable is None else int(selection.stable.sum())
        others = f", and {found['stable'] - mine} that it lacks," if found["stable"] > mine else ""
        claim = (
            f"{mine} of these features{others} are in at least {threshold:.0%} of {fits} fits of halves; expected "
            f"false among them: at most {found['bound']:.2g}, if those without effect are exchangeable ({q:.4g} "
            f"selected of {p:,})"
        )
    lines = [("stability", claim)]
    for at in found["by_k"][:-1]:
        of = f"the {at['k']} strongest" if at["k"] > 1 else "the strongest"
        needed = "no threshold" if at["threshold"] is None else f"{at['stable']} in at least {at['threshold']:.0%}"
        lines.append(("", f"{of} of each fit: {needed}"))
    return lines


def _chance(found: dict[str, Any]) -> str:
    """What fits of labels drawn by chance reach."""
    n, largest, mine = found["n"], max(found["largest_weight"]), found["own_largest_weight"]
    text = ""
    if found["score"] is not None:
        name = {"auc": "AUC", "r2": "R²"}.get(found["score"], found["score"])
        text = f"{name} up to {max(found['scores']):.4g} on {found['on']}, here {found['own_score']:.4g}; "
    of = "largest weight" if found["score"] is None else found["score"].replace("r2", "R²").replace("auc", "AUC")
    p_value = f"p = {found['p_value']:.2g} by the {of}"
    fits = f"{n} fit{'s' if n > 1 else ''} of labels drawn by chance reach{'es' if n == 1 else ''}"
    return f"{fits} {text}|weight| up to {largest:.4g}, here {mine:.4g}; {p_value}"


def _decoys(found: dict[str, Any]) -> str:
    """How many features that cannot matter are selected, if each feature has one beside it."""
    n, counts, ranks = found["n"], found["decoys"], [rank for rank in found["first"] if rank is not None]
    most, some = max(found["selected"]), _range(counts)
    text = f"{some} of {most} selected features {'is a decoy' if some == '1' else 'are decoys'}"
    fits = f" in {n} fits" if n > 1 else ""
    first = f", the first at rank {_range(ranks)}" if ranks else ""
    return f"{text}{fits}, if each feature has one beside it{first}; a diagnostic, no error control"


def _range(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _by_name(provenance: dict[str, Any]) -> str:
    """How many features were kept whatever their weights, and which were dropped."""
    parts = []
    if kept := provenance.get("kept"):
        parts.append(f"{kept['count']} feature{'s' if kept['count'] != 1 else ''} kept always")
    if dropped := provenance.get("dropped"):
        given = dropped["given"]
        more = f" and {len(given) - _GROUPS_SHOWN} more" if len(given) > _GROUPS_SHOWN else ""
        parts.append(f"dropped: {', '.join(map(short_label, given[:_GROUPS_SHOWN]))}{more}")
    return "; ".join(parts)


def _passes(provenance: dict[str, Any]) -> str:
    """The number of passes, which was best, and whether its features were fitted again."""
    losses, best = provenance["passes"]["losses"], provenance["passes"]["best"]
    text = f"{best}" + (f", the best of {len(losses)} on held-out rows" if best < len(losses) else "")
    if "refit" in provenance:
        found = provenance["refit"]
        before = losses[best - 1]
        chosen = "refitted" if found["used"] else "not refitted"
        text += f"; {chosen}: held-out loss {found['loss']:.4g} with a refit, {before:.4g} without"
        if found["used"] and found["loss"] >= before:
            text += " (no clear difference)"
    if provenance["passes"].get("kept_best"):
        text += "; learned without the held-out rows, as all rows gave worse features"
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
    planned = plan["total"]
    if workers > 1 and "table" in plan:  # a model for each worker, and the merged one
        planned = planned * workers + plan["table"] + plan["sketch"] + plan["scores"] + plan["seen"]
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
    labels = [short_label(label) for label in selection.labels]
    if selection.weights.ndim == 1:
        return f"a positive weight is evidence for {labels[-1]}, against {labels[0]}"
    more = f" and {len(labels) - _CLASSES_SHOWN} more" if len(labels) > _CLASSES_SHOWN else ""
    listed = ", ".join(labels[:_CLASSES_SHOWN]) + more
    return f"{listed}; a positive weight_… is evidence for the class in its name"


def short_label(label: object) -> str:
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
