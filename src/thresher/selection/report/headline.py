"""The top of a report: what was learned from what, one plain sentence about its quality, figures and warnings."""

from __future__ import annotations

import re
from typing import Any

from thresher.core.memory import show_size
from thresher.selection.coverage import rows_of_test
from thresher.selection.report.json_values import name_of, percent, shown
from thresher.selection.selection import Selection

#: Where scores come from, the best evidence first, and what they are called.
_SCORES = (
    ("test", "held-out rows"),
    ("validation", "validation rows, which also chose the settings"),
    ("progressive", "rows, each predicted before it was learned"),
)
#: How a score is called and shown.
_NAMES = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "auc": "AUC",
    "average_precision": "Average precision",
    "log_loss": "Log loss",
    "ece": "Calibration error",
    "rmse": "RMSE",
    "r2": "R²",
    "micro_f1": "Micro F1",
    "macro_f1": "Macro F1",
    "largest_class": "Largest class",
}
_SHARES = {"accuracy", "balanced_accuracy", "largest_class", "ece", "micro_f1", "macro_f1"}
#: The folders of a path within a text.
_FOLDERS = re.compile(r"\S*[/\\](?=[^/\\\s])")
#: The most warnings to show.
_WARNINGS = 20


def headline(
    selection: Selection, scores: dict[str, Any] | None, scored_on: str, run: dict[str, Any] | None
) -> dict[str, Any]:
    """The headline; ``scores`` are those of the rows ``scored_on``, ``run`` has the seconds and bytes of the fit."""
    provenance = selection.provenance
    found, of = (scores, shown(scored_on, 120)) if scores else _best_scores(provenance)
    found = {name: value for name, value in (found or {}).items() if isinstance(value, int | float)}
    warnings = [shown(text) for text in _list(provenance.get("warnings"))]
    return {
        "title": _FOLDERS.sub("", shown(provenance.get("data", "a selection"), 160)),
        "task": _task(selection),
        "kept": _kept(selection),
        "sentence": _sentence(selection, found, of),
        "figures": _figures(selection, found, run),
        "scores": [[_NAMES.get(name, name_of(name)), _number(name, value)] for name, value in found.items()],
        "scored_on": "" if not found or scores else shown(rows_of_test(provenance)),
        "warnings": warnings[:_WARNINGS],
        "more_warnings": max(0, len(warnings) - _WARNINGS),
    }


def _best_scores(provenance: dict[str, Any]) -> tuple[dict[str, Any], str]:
    for name, of in _SCORES:
        if isinstance(found := provenance.get(name), dict) and found:
            return found, of
    return {}, ""


def _task(selection: Selection) -> str:
    if selection.classes is None:
        return "Regression"
    labels = [name_of(label, 24) for label in selection.labels]
    if selection.multilabel:
        return f"{len(labels)} labels, any number for each row"
    if len(labels) == 2:
        return f"Two classes: {labels[1]} against {labels[0]}"
    return f"{len(labels)} classes"


def _kept(selection: Selection) -> str:
    k, method = selection.settings.get("k"), shown(selection.settings.get("method", ""), 40)
    what = "functions of the inputs" if selection.space.random_features is not None else "features"
    of = f" of at most {k:,} requested" if isinstance(k, int) and k != len(selection) else ""
    return f"{len(selection):,} {what}{of}{f', selected by {method}' if method else ''}"


def _sentence(selection: Selection, scores: dict[str, Any], of: str) -> str:
    """What the scores say, in words."""
    if not len(selection):
        return "Nothing was selected: every prediction is the same."
    if not scores:
        return "There are no scores: pass labelled data, or hold out rows, to see how good the predictions are."
    rows = f"{scores['rows']:,} " if isinstance(scores.get("rows"), int) else ""
    if "r2" in scores or "rmse" in scores:
        return _of_numbers(scores, f"{rows}{of}")
    accuracy = scores.get("accuracy")
    if accuracy is None:
        f1 = scores.get("micro_f1")
        return "" if f1 is None else f"On {rows}{of}, the labels are found with a micro F1 of {percent(f1)}."
    text = f"On {rows}{of}, {percent(accuracy)} of the predictions are right"
    largest = scores.get("largest_class")
    if largest is not None:
        which = "larger" if len(selection.labels) == 2 else "largest"
        text += f"; always answering the {which} class would be right in {percent(largest)}"
        if accuracy <= largest:
            text += ", so the sign of the margin alone does not separate the classes"
    text += "."
    if (auc := scores.get("auc")) is not None and len(selection.labels) == 2:
        first, second = (name_of(label, 24) for label in selection.labels)
        text += f" A row of {second} gets a higher score than a row of {first} in {percent(auc)} of the pairs."
    return text


def _of_numbers(scores: dict[str, Any], rows: str) -> str:
    text = f"On {rows}, the typical error (RMSE) is {scores['rmse']:.4g}" if "rmse" in scores else f"On {rows}"
    r2 = scores.get("r2")
    if r2 is None:
        return f"{text}."
    if r2 <= 0:
        return f"{text}: no better than always predicting the mean (R² {r2:.3f})."
    return f"{text}, and the features explain {percent(r2)} of the variance."


def _figures(selection: Selection, scores: dict[str, Any], run: dict[str, Any] | None) -> list[list[str]]:
    """Pairs of a name and a value, for the tiles."""
    provenance = selection.provenance
    figures = [["Features kept", f"{len(selection):,}"]]
    if isinstance(rows := provenance.get("rows"), int):
        figures.append(["Rows learned", f"{rows:,}"])
    seen = provenance.get("seen")
    if isinstance(seen, dict) and isinstance(seen.get("features"), int):
        figures.append(["Features seen", f"{seen['features']:,}"])
    elif selection.space.random_features is None and selection.space.kind == "index" and selection.space.size:
        figures.append(["Features in the data", f"{selection.space.size:,}"])
    for name in ("accuracy", "r2", "auc", "micro_f1", "rmse"):
        if name in scores and len(figures) < 5:
            figures.append([_NAMES[name], _number(name, scores[name])])
    if run is not None:
        figures.append(["Time", f"{run['seconds']:,.1f} s"])
        figures.append(["Memory", show_size(run["bytes"])])
    elif isinstance(plan := provenance.get("plan"), dict) and plan.get("total"):
        figures.append(["Memory planned", show_size(plan["total"])])
    return figures


def _number(name: str, value: Any) -> str:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return shown(value)
    if name in _SHARES:
        return percent(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
