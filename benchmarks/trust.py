"""The realised share of false features and the power of ``fdr=``, on draws whose true features are known.

THRESHER_DATASETS=FOLDER THRESHER_TRUST=DRAWS,SECONDS python -m benchmarks trust

Draws, at most; and seconds after which no further ones are made. THRESHER_HARD=PREFIX uses an existing hard stream.
"""

from __future__ import annotations

import logging
import os
import statistics
import sys
import time
from typing import Any

import numpy as np

import thresher as th
from benchmarks.error_control import designs
from benchmarks.error_control.picture import draw_picture
from benchmarks.hard import hard_stream
from benchmarks.harness import DATASETS, interleaved, ratios, spread, table

METHODS = ("mission", "b-arda", "fgm")
LEVELS = (0.05, 0.1, 0.2)
#: Splits to compare, the designs for it, and the draws.
SPLITS, SPLIT_DESIGNS, SPLIT_DRAWS = (1, 3, 5), ("independent", "rare", "farm_ads, planted"), 20
#: By design and method, the realised shares and powers of each draw, one for each level.
Results = dict[tuple[str, str], list[list[tuple[float, float]]]]


def run() -> str:
    """All tables."""
    logging.disable(logging.WARNING)
    draws, seconds = (float(part) for part in os.environ.get("THRESHER_TRUST", "100,86400").split(","))
    results, nothing = measure(int(draws), seconds)
    done = len(nothing[METHODS[0]])
    draw_picture({key: summary(rows) for key, rows in results.items()}, LEVELS)
    try:
        parts = [main_table(results, done), null_table(nothing), splits_table(), hard_table()]
    finally:
        logging.disable(logging.NOTSET)
    return "\n\n".join(parts)


def used_designs() -> dict[str, Any]:
    """The designs; those of real rows only if there are any."""
    real = DATASETS in os.environ
    return {name: make for name, make in designs.DESIGNS.items() if real or not name.endswith("planted")}


def kept_at(selection: th.Selection, level: float) -> list[str]:
    """The features that one split keeps at a level up to that of the fit."""
    assert selection.q_values is not None
    return [name for name, q in zip(selection.names, selection.q_values, strict=True) if q <= level]


def select(draw: designs.Draw, method: str, seed: int, **more: Any) -> th.Selection:
    """The selection with the method's defaults."""
    more = {"fdr": LEVELS[-1], **more}
    return th.select(draw.X, draw.y, k=draw.k, method=method, random_state=seed, calibrate=False, **more)


def measure(draws: int, seconds: float) -> tuple[Results, dict[str, list[int]]]:
    """Draw by draw, so that every cell has as many when the time is up; and the features kept of pure noise."""
    results: Results = {(name, method): [] for name in used_designs() for method in METHODS}
    nothing: dict[str, list[int]] = {method: [] for method in METHODS}
    started = time.monotonic()
    for seed in range(draws):
        for number, (name, make) in enumerate(used_designs().items()):
            draw = make(np.random.default_rng((seed, number)))
            for method in METHODS:
                found = select(draw, method, seed)
                results[name, method].append([draw.rates(kept_at(found, level)) for level in LEVELS])
        noise = designs.null(np.random.default_rng((seed, 1000)))
        for method in METHODS:
            nothing[method].append(len(select(noise, method, seed, fdr=0.1)))
        print(f"draw {seed + 1}, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
        if time.monotonic() - started > seconds:
            break
    return results, nothing


def summary(rows: list[list[tuple[float, float]]]) -> list[tuple[float, float, float]]:
    """For each level the mean share of false features, its standard error, and the mean power."""
    found = []
    for level in range(len(LEVELS)):
        shares = [row[level][0] for row in rows]
        error = statistics.stdev(shares) / len(shares) ** 0.5 if len(shares) > 1 else 0.0
        found.append((statistics.mean(shares), error, statistics.mean(row[level][1] for row in rows)))
    return found


def main_table(results: Results, draws: int) -> str:
    """Realised shares and powers, and the cells above their level."""
    lines, above = [], []
    for (name, method), rows in results.items():
        cells = []
        for level, (share, error, power) in zip(LEVELS, summary(rows), strict=True):
            over = share > level + 2 * error
            cells.append(f"{'**' if over else ''}{share:.3f} ± {2 * error:.3f}{'**' if over else ''}, {power:.2f}")
            if over:
                above.append(f"{name}, {method}, q = {level:g}")
        lines.append([name, method, *cells])
    exceeding = f"Above q by more than that: {'; '.join(above)}." if above else "No cell is above q by more than that."
    return (
        f"## Error control: false features and power\n\nThe realised share of false features ± 2 standard errors, and "
        f"the power, of `fdr=q`: means of {draws} draws, 1 split, all other settings the defaults. *independent*: "
        f"{designs.ROWS:,} rows of {designs.LENGTH} ids out of {designs.IDS:,} by Zipf's law, 60 of rank 10 to 1500 "
        "matter (log odds ±1), k = 300. *neighbours co-occur*: an id brings the next one with probability 0.5. *rare*: "
        "the 60 are of rank 1000 to 5000 (log odds ±3). *AR(1)* and *copies in threes*: 4,000 rows of 600 Gaussian "
        "columns, 40 matter (±0.5), k = 150; a copy counts as the column that it is. *planted*: rows of a data set, "
        "labels drawn by 20 of its columns (±0.5 a standard deviation); every other column counts as false. "
        f"{exceeding} [What that means](trust.md#what-is-guaranteed).\n\n"
        "![Realised share of false features by design, method and q](images/trust.svg)\n\n"
        + table(["design", "method", *(f"q = {level:g}" for level in LEVELS)], lines)
    )


def null_table(nothing: dict[str, list[int]]) -> str:
    """How often something is kept of pure noise."""
    lines = [[method, f"{sum(not kept for kept in found)} of {len(found)}"] for method, found in nothing.items()]
    return (
        "### Nothing to find\n\nThe design *independent* with random labels, q = 0.1: draws in which nothing is "
        "kept.\n\n" + table(["method", "nothing kept"], lines)
    )


def splits_table() -> str:
    """The number of splits, by which its default was chosen."""
    lines = []
    for number, name in enumerate(used_designs()):
        if name not in SPLIT_DESIGNS:
            continue
        for splits in SPLITS:
            rates, started = [], time.monotonic()
            for seed in range(SPLIT_DRAWS):
                draw = used_designs()[name](np.random.default_rng((seed, number)))
                rates.append(draw.rates(select(draw, "mission", seed, fdr=0.1, splits=splits).names))
            share, power = (statistics.mean(column) for column in zip(*rates, strict=True))
            each = (time.monotonic() - started) / SPLIT_DRAWS
            lines.append([name, splits, f"{share:.3f}", f"{power:.2f}", f"{each:.1f}"])
            print(*lines[-1], file=sys.stderr, flush=True)
    return (
        f"### The number of splits\n\nmission, q = 0.1, {SPLIT_DRAWS} draws; seconds of a draw, with its data.\n\n"
        + table(["design", "splits", "false", "power", "seconds"], lines)
    )


def hard_table() -> str:
    """The hard stream of ten million ids: what is found, the time next to the plain run, and the memory."""
    stream = hard_stream()
    found: dict[str, th.Selection] = {}
    grown: dict[str, int] = {}

    def fit(name: str, **more: Any) -> None:
        def keep(progress: Any) -> None:
            grown[name] = progress.grown

        found[name] = th.select(stream.path("train", "svm"), k=300, memory="64MB", progress=keep, **more)

    fit("warm")  # what is loaded on first use counts for neither
    times = interleaved({"plain": lambda: fit("plain"), "fdr": lambda: fit("fdr", fdr=0.1)}, 3)
    truth = stream.truth()
    of_plain, true = (sum(int(name) in truth for name in found[run].names) for run in ("plain", "fdr"))
    share = 1 - true / max(1, len(found["fdr"]))
    ratio = spread(ratios(times["fdr"], times["plain"]))
    rows = [
        [
            "plain",
            len(found["plain"]),
            of_plain,
            f"{1 - of_plain / len(found['plain']):.3f}",
            spread(times["plain"]),
            f"{grown['plain'] / 2**20:.0f}",
        ],
        ["`fdr=0.1`", len(found["fdr"]), true, f"{share:.3f}", spread(times["fdr"]), f"{grown['fdr'] / 2**20:.0f}"],
    ]
    return (
        "### The hard stream\n\nmission, 200,000 rows, 10 million ids of which 100 matter, k = 300, 64 MB; `fdr` takes "
        f"{ratio} times the time of the plain run. MB: growth of the resident memory during the fit.\n\n"
        + table(["run", "kept", "true", "share of false ones", "seconds", "MB"], rows)
    )
