"""The three columns of Figures 1 and 2: methods by p, scans, and workers whose staleness is their number."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from benchmarks.papers.os.contenders import contenders, proj_gd, streamed
from benchmarks.papers.os.made import S, made, measured
from benchmarks.papers.os.repeated import REPEATS, RESULTS, Curves, Experiment, averaged, shown

SCANS = (1, 2, 3, 4)
WORKERS = (1, 2, 4, 8)
#: Data sets on which grafting is run where it is slow: for each column that it takes it solves a problem of hundreds.
GRAFTED = int(os.environ.get("THRESHER_GRAFTED", "5"))


def experiments(number: int, ps: tuple[int, ...], *, classes: bool) -> dict[str, tuple[tuple[int, ...], Experiment]]:
    """What is measured, by name: the places of the axis, and one run."""

    def by_p(p: int, seed: int) -> dict[str, Any]:
        data = made(p, seed, classes=classes)
        runs = contenders(data, S, (2, 3) if classes else (2, 3, 4))
        if not classes and seed >= GRAFTED:
            del runs["grafting"]
        return {label: measured(data, run()) for label, run in runs.items()}

    @cache
    def batch(p: int, seed: int) -> Any:
        data = made(p, seed, classes=classes)
        return measured(data, proj_gd(data, S))

    def by_scans(scans: int, seed: int) -> dict[str, Any]:
        found = {}
        for p in (ps[0], ps[2]):
            data = made(p, seed, classes=classes)
            found[f"OS, p = {p}"] = measured(data, streamed(data, "os", S, scans=scans))
            found[f"Proj-GD, p = {p}"] = batch(p, seed)
        return found

    def by_workers(workers: int, seed: int) -> dict[str, Any]:
        data = made(ps[0], seed, classes=classes)
        late = {"workers": workers, "staleness": workers, "scans": 3}
        return {f"Asy-OS, p = {ps[0]}": measured(data, streamed(data, "os", S, **late))}

    name = f"os-figure{number}"
    return {f"{name}-p": (ps, by_p), f"{name}-scans": (SCANS, by_scans), f"{name}-workers": (WORKERS, by_workers)}


def columns(number: int, ps: tuple[int, ...], claim: str, *, classes: bool) -> str:
    """All three, on the paper's data."""
    kind = "hinge loss classification" if classes else "linear regression"
    fields = {"recall": "recall", "error": "test error" if classes else "recovery error"}
    more = {"tuned": "test error with a ridge by cross-validation", "fitted": "training error", "kept": "features kept"}
    grafted = "" if classes else f" (grafting: of the first {min(GRAFTED, REPEATS)})"
    captions = (
        f"s = {S}, n = 1.2 s log2 p, means of {REPEATS} data sets{grafted}, online baselines with 2 scans; all are "
        "refitted." + ("" if RESULTS is None else " (Assembled from separate measurements.)"),
        "Number of scans:",
        "Simulated workers: each sees the state of the others with a delay of as many updates as there are workers "
        "(3 scans, steps by Theorem 2):",
    )
    parts = [f"## Figure {number}: {kind}", claim]
    axes = (("p", "Methods"), ("scans", "Scans"), ("workers", "Staleness"))
    for text, (axis, title), (name, (places, run)) in zip(
        captions, axes, experiments(number, ps, classes=classes).items(), strict=True
    ):
        shown_fields = fields | more if classes and axis == "p" else fields
        curves = averaged(name, places, run)
        parts += [text, shown(curves, places, axis, shown_fields, name, title)]
        if axis == "p":
            parts.append(compared(curves, fields | ({"tuned": more["tuned"]} if classes else {})))
    return "\n\n".join(parts)


def compared(curves: Curves, fields: Mapping[str, str]) -> str:
    """At how many places OS is ahead of each other method."""
    ours = curves["OS, 3 scans"]
    sentences = []
    for field, what in fields.items():
        sign = 1 if field == "recall" else -1
        counts = []
        for label, theirs in curves.items():
            if label.startswith("OS"):
                continue
            pairs = [(getattr(a, field), getattr(b, field)) for a, b in zip(ours, theirs, strict=True)]
            counts.append(f"{label} {sum(sign * a > sign * b for a, b in pairs)}")
        sentences.append(f"{'higher' if sign > 0 else 'lower'} {what} than {', '.join(counts)}")
    return f"At how many of the {len(ours)} values of p OS with 3 scans has a " + "; a ".join(sentences) + "."
