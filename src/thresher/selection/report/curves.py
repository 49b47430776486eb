"""Views of how the fit went: score by k, learning curve, history of the kept features, path of a working set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thresher.selection.report.json_values import View, attempted, name_of, short, shorts, shown, thin
from thresher.selection.selection import Selection

#: The most points of a curve, and the most snapshots of the timeline.
POINTS, SNAPSHOTS = 240, 80


def curves(selection: Selection) -> Iterator[View]:
    """The views that the provenance has data for."""
    provenance = selection.provenance
    for name, make in (
        ("k_curve", k_curve),
        ("race", race),
        ("learning_curve", learning_curve),
        ("kept_history", kept_history),
        ("path", path),
    ):
        if provenance.get(name):
            yield from attempted(make, provenance[name], provenance)


def k_curve(curve: dict[str, Any], _: dict[str, Any]) -> View:
    """The held-out loss by the number of features."""
    return {
        "kind": "k_curve",
        "title": "Score against the number of features",
        "question": "How many features to keep?",
        "note": f"{curve['chosen']:,} is the least number whose held-out loss is within one standard error of the "
        "least. Bars are one standard error.",
        "chosen": curve["chosen"],
        "points": [
            {"k": point["k"], "loss": short(point["loss"]), "error": short(point.get("standard_error", 0))}
            for point in curve["points"]
        ],
    }


def race(facts: dict[str, Any], _: dict[str, Any]) -> View:
    """The methods that learned a sample, and their scores."""
    names = list(dict.fromkeys(name for entry in facts["methods"] for name in entry.get("scores", {})))
    names = [name for name in ("accuracy", "log_loss", "micro_f1", "rmse", "r2", "auc") if name in names][:3]
    rows = [
        [
            name_of(entry["method"]) + (" (chosen)" if entry["method"] == facts["chosen"] else ""),
            *([None if (s := entry.get("scores", {}).get(name)) is None else short(s, 4) for name in names]),
            entry.get("features"),
            shown(entry["failed"], 80) if "failed" in entry else f"{entry['seconds']:.1f} s",
        ]
        for entry in facts["methods"]
    ]
    return {
        "kind": "table",
        "id": "race",
        "title": "Methods that raced",
        "question": "Which method is best on this data?",
        "note": f"Each learned a sample of {facts['rows']:,} rows and was scored on {facts['scored']:,} others.",
        "columns": ["method", *(name.replace("_", " ") for name in names), "features", "time"],
        "rows": rows,
    }


def learning_curve(curve: dict[str, Any], provenance: dict[str, Any]) -> View:
    """Progressive loss over rows, the ends of passes, and the held-out loss after each."""
    at = thin(curve["rows"], POINTS)
    ends = curve.get("pass_ends") or []
    held = curve.get("held_out") or []
    # Held-out losses belong to the ends of passes; those of passes that were not kept come after the last row.
    length = ends[0] if ends else (curve["rows"][-1] if curve["rows"] else 0)
    return {
        "kind": "learning_curve",
        "title": "Learning curve",
        "question": "Did it converge?",
        "note": "The progressive loss is the mean loss of rows, each predicted before it was learned. A flat end means "
        "that more rows of this kind would not help much.",
        "rows": [curve["rows"][i] for i in at],
        "loss": [short(curve["loss"][i]) for i in at],
        "pass_ends": ends,
        "held_out": [
            {"row": one["passes"] * length, "passes": one["passes"], "loss": short(one["loss"])} for one in held
        ],
        "best": (provenance.get("passes") or {}).get("best"),
    }


def kept_history(history: dict[str, Any], _: dict[str, Any]) -> View:
    """How much of the kept set changed between snapshots, and when the strongest features were in it."""
    at = thin(history["rows"], POINTS)
    view: View = {
        "kind": "kept_history",
        "title": "What came and went",
        "question": "Is the selection settled, or has the stream drifted?",
        "note": "The overlap (Jaccard) is the share of features that two sets have in common: 1 is the same set.",
        "rows": [history["rows"][i] for i in at],
        "size": [history["size"][i] for i in at],
        "jaccard": [short(history["jaccard"][i], 4) for i in at],
        "to_final": [short(history["to_final"][i], 4) for i in at],
    }
    timeline = history.get("timeline") or {}
    if timeline.get("names"):
        some = thin(history["rows"], SNAPSHOTS)
        view["timeline"] = {
            "rows": [history["rows"][i] for i in some],
            "names": [name_of(name, 28) for name in timeline["names"]],
            "kept": ["".join(str(int(bool(kept[i]))) for i in some) for kept in timeline["kept"]],
        }
    return view


def path(entries: list[dict[str, Any]], _: dict[str, Any]) -> View:
    """The objective and the bound of a working-set method after each round."""
    some = [entries[i] for i in thin(entries, POINTS)]
    fields = ["objective", "bound", "score"]
    return {
        "kind": "path",
        "title": "Path of the fit",
        "question": "How near is the best possible objective?",
        "note": "Each round adds features to the model. The objective falls towards the bound below it, where there is "
        "one.",
        "rounds": [i + 1 for i in thin(entries, POINTS)],
        "features": [entry.get("features") for entry in some],
        **{
            field: shorts(entry[field] for entry in some)
            for field in fields
            if all(isinstance(entry.get(field), int | float) for entry in some)
        },
    }
