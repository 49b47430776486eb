"""Online Substitution: recall beside batch and online baselines, features a second, and Asy-OS on threads."""

from __future__ import annotations

import statistics

import numpy as np

from benchmarks.harness import interleaved, ratios, spread, table
from benchmarks.papers.os.asynchronous import curve, data_of, time_to
from benchmarks.papers.os.contenders import proj_gd, streamed
from benchmarks.papers.os.made import S, made, measured

ROWS, KEPT, ARRIVED, SCANS = 20_000, 100, 1000, 3


def run(repeats: int = 3) -> str:
    """All three."""
    return "\n\n".join(["## Online Substitution", _recall(), _speed(repeats), _workers()])


def _recall(repeats: int = 1) -> str:
    lines = []
    for p in (2000, 4000, 6000):
        found: dict[str, list[float]] = {}
        for seed in range(repeats):
            data = made(p, seed, classes=False)
            chosen = {f"OS, {scans} scans": streamed(data, "os", S, scans=scans) for scans in (2, 3, 4)}
            chosen |= {"Proj-GD": proj_gd(data, S), "naive L0": streamed(data, "naive-l0", S, scans=3)}
            for name, columns in chosen.items():
                found.setdefault(name, []).append(measured(data, columns).recall)
        lines.append([f"{p:,}", *(f"{np.mean(values):.3f}" for values in found.values())])
        head = ["p", *found]
    return (
        f"The paper's synthetic regression (s = {S}, n = 1.2 s log2 p, noise 0.1): recall on {repeats} data set each. "
        "More data sets, grafting and the other baselines, classification, and errors after a refit are in [the "
        "paper's figures](papers/os.md).\n\n" + table(head, lines)
    )


def straightforward(x: np.ndarray, y: np.ndarray, s: int, eta: float) -> list[int]:
    """Algorithm 1 in NumPy, feature after feature in double precision; columns as they are."""
    n = len(y)
    ids: list[int] = []
    kept, w = np.empty((s, n)), np.empty(0)
    for j, column in (pair for _ in range(SCANS) for pair in enumerate(x)):
        if j in ids:
            continue
        wide = column.astype(np.float64)
        mine = kept[: len(ids)]
        left = w @ mine - y
        slopes, value = left / n, 0.5 * left @ left / n
        moved, newcomer = w - eta * (mine @ slopes), -eta * (wide @ slopes)
        if len(ids) < s:
            kept[len(ids)] = wide
            ids.append(j)
            w = np.append(moved, newcomer)
            continue
        w = moved
        weakest = int(np.argmin(np.abs(moved)))
        if abs(newcomer) <= abs(moved[weakest]):
            continue
        trial = moved.copy()
        trial[weakest] = 0.0
        after = trial @ mine + newcomer * wide - y
        if 0.5 * after @ after / n <= value:
            w = trial
            w[weakest], ids[weakest], kept[weakest] = newcomer, j, wide
    return ids


def _speed(repeats: int) -> str:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ARRIVED, ROWS), dtype=np.float32)
    x /= np.sqrt((x.astype(np.float64) ** 2).mean(axis=1))[:, None].astype(np.float32)
    y = rng.normal(size=KEPT) @ x[rng.choice(ARRIVED, KEPT, replace=False)] + rng.normal(size=ROWS)
    from thresher import _native

    pool, even = _native.ThreadPool(0), np.empty(0)
    found = {}

    def ours() -> None:
        method = _native.Substitution.make("squared", 1.0, y[None], even, False, KEPT, 0.5, 0.95, 1.0, 0.0)
        for at in SCANS * list(range(0, ARRIVED, 64)):
            ids = np.arange(at, min(at + 64, ARRIVED), dtype=np.uint64)
            method.arrive(x[at : at + 64], ids, pool)
        found["ours"] = sorted(method.ids.tolist())

    def plain() -> None:
        found["plain"] = sorted(straightforward(x, y, KEPT, 0.5))

    seconds = interleaved({"NumPy, feature after feature": plain, "thresher, in blocks": ours}, repeats)
    slow = seconds["NumPy, feature after feature"]
    lines = [
        [name, spread(times), f"{SCANS * ARRIVED / min(times):,.0f}", spread(ratios(slow, times), 1)]
        for name, times in seconds.items()
    ]
    same = "the same" if found["ours"] == found["plain"] else "NOT THE SAME"
    return (
        f"Squared loss, {ROWS:,} rows of float32, {KEPT} of {ARRIVED} arriving features kept, {SCANS} scans; both "
        f"programs keep {same} features.\n\n"
        + table(["Algorithm 1", "seconds", "features/s at best", "times as fast"], lines)
    )


def _workers(repeats: int = 2) -> str:
    lines = []
    for classes in (False, True):
        data, s = data_of(classes)
        runs = {workers: [curve(data, s, workers) for _ in range(repeats)] for workers in (1, 2, 4)}
        wanted = 1.1 * max(min(now for _, now in points) for curves in runs.values() for points in curves)
        times = {w: statistics.median(time_to(points, wanted) for points in curves) for w, curves in runs.items()}
        kind = "squared hinge" if classes else "squared"
        lines.append([f"{kind}, s = {s}", f"{wanted:.3f}", *(f"{t:.2f} ({times[1] / t:.2f})" for t in times.values())])
    return (
        "Asy-OS on threads, n = 1,000, p = 8,192: median seconds to a training error that all reach, and the "
        "speed-up over one worker.\n\n" + table(["loss", "to", "1 worker", "2 workers", "4 workers"], lines)
    )
