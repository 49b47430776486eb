"""Views of how sure the selection is: error control, stability, chance level, decoys, and what could stand in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thresher.selection.report.json_values import View, attempted, name_of, short, shorts
from thresher.selection.selection import Selection

#: The most rows of a chart or table.
_ROWS, _STAND_INS = 30, 5


def trust(selection: Selection) -> Iterator[View]:
    """The views that the provenance has data for."""
    provenance = selection.provenance
    for name, make in (
        ("fdr", error_control),
        ("stability", stability),
        ("chance", chance),
        ("decoys", decoys),
        ("stand_ins", stand_ins),
    ):
        if provenance.get(name):
            yield from attempted(make, provenance[name])


def error_control(fdr: dict[str, Any]) -> View:
    """The mirror statistics of the candidates with the cut, and the candidates that were nearly kept."""
    cut = fdr.get("cut") or {"names": [], "q_values": []}
    view: View = {
        "kind": "error_control",
        "title": "Error control",
        "question": "How many of the features are false?",
        "note": f"Of {fdr['candidates']:,} candidates {fdr['kept']:,} stay; at most {fdr['expected_false']} of them "
        f"are expected to be false (q = {fdr['q']:g}). A candidate stays if two halves of the rows agree on it.",
        "columns": ["cut candidate", "would stay at q ="],
        "rows": [
            [name_of(name), None if q is None else short(q, 3)]
            for name, q in list(zip(cut["names"], cut["q_values"], strict=False))[:10]
        ],
        "more": max(0, len(cut["names"]) - 10),
    }
    mirror = fdr.get("mirror")
    if isinstance(mirror, dict) and mirror.get("edges"):
        view["mirror"] = {
            "edges": shorts(mirror["edges"], 4),
            "stay": mirror["stay"],
            "cut": mirror["cut"],
        }
    return view


def stability(found: dict[str, Any]) -> View:
    """The share of samples in which each feature was selected."""
    thresholds = found.get("threshold")
    pairs = sorted(zip(found["names"], found["frequency"], strict=False), key=lambda pair: -pair[1])
    return {
        "kind": "stability",
        "title": "Stability",
        "question": "Would other rows give the same features?",
        "note": f"The fit was repeated on {found.get('B', 'several')} samples of the rows; the frequency is the "
        "share of them in which a feature was selected.",
        "names": [name_of(name, 28) for name, _ in pairs[:_ROWS]],
        "frequency": [short(f, 4) for _, f in pairs[:_ROWS]],
        "threshold": short(thresholds, 4) if isinstance(thresholds, int | float) else None,
        "more": max(0, len(pairs) - _ROWS),
    }


def chance(found: dict[str, Any]) -> View:
    """What the same fit finds where there is nothing to find."""
    rows: list[list[Any]] = []
    if found.get("score") is not None:
        where = f"{name_of(found['score']).replace('_', ' ')} on {name_of(found['on'])}"
        rows.append([where, short(found["own_score"], 4), short(max(found["scores"]), 4)])
    rows.append(["largest weight", short(found["own_largest_weight"], 4), short(max(found["largest_weight"]), 4)])
    return {
        "kind": "table",
        "id": "chance",
        "title": "Chance level",
        "question": "What does the same fit find where there is nothing to find?",
        "note": f"The fit was repeated {found['n']} times with labels drawn by chance: "
        f"p = {short(found['p_value'], 2)}.",
        "columns": ["figure", "this fit", "the most by chance"],
        "rows": rows,
    }


def decoys(found: dict[str, Any]) -> View:
    """How many features that cannot matter were selected beside the others."""
    fits = zip(found["selected"], found["decoys"], found["first"], strict=True)
    return {
        "kind": "table",
        "id": "decoys",
        "title": "Decoys",
        "question": "How many features that cannot matter does the same fit select?",
        "note": f"The fit was repeated {found['n']} times with a decoy beside each feature: the values of other rows. "
        "This is a diagnostic, and no error control: false features that are correlated with true ones are selected "
        "more often than decoys.",
        "columns": ["fit", "selected", "of them decoys", "rank of the first decoy"],
        "rows": [
            [number, selected, decoys, "none" if first is None else first]
            for number, (selected, decoys, first) in enumerate(list(fits)[:_ROWS], 1)
        ],
        "more": max(0, found["n"] - _ROWS),
    }


def stand_ins(facts: dict[str, Any]) -> View:
    """For features the others that are nearly the same."""
    some = [(name, others) for name, others in facts["found"].items() if others]
    return {
        "kind": "table",
        "id": "stand-ins",
        "title": "Stand-ins",
        "question": "What could replace a feature?",
        "note": "These columns are nearly equal to a selected one in the rows of the data: their absolute cosine is at "
        f"least {facts['threshold']:g}.",
        "columns": ["selected", "nearly equal to it (cosine)"],
        "rows": [
            [name_of(name), ", ".join(f"{name_of(other, 32)} ({cosine:.3f})" for other, cosine in others[:_STAND_INS])]
            for name, others in some[:_ROWS]
        ],
        "more": max(0, len(some) - _ROWS),
    }
