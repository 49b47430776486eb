"""Asy-OS on threads: the training error against time, for each number of workers."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.papers.os.made import Made, made
from thresher.substitution.arriving.feature_stream import Block
from thresher.substitution.async_threads import AsynchronousProblem
from thresher.substitution.problem import Targets
from thresher.substitution.settings import SubstitutionSettings

SCANS = 6


def data_of(classes: bool, seed: int = 0) -> tuple[Made, int]:
    """The paper's n = 1,000, p = 8,192 and s = 64 or 32."""
    s = 32 if classes else 64
    return made(8192, seed, classes=classes, s=s, n=1000), s


def curve(data: Made, s: int, workers: int, eta: float = 0.3) -> list[tuple[float, float]]:
    """(seconds, training error) at the end of every eighth of a scan, read from the central state."""
    settings = SubstitutionSettings(k=s, loss=data.loss, fit_intercept=False, workers=workers, eta=eta, m=1.0)
    problem = AsynchronousProblem(settings, Targets(np.ascontiguousarray(data.y[None]), None), 0)
    columns = np.ascontiguousarray(data.x.T)
    points: list[tuple[float, float]] = []
    started = time.perf_counter()
    for _ in range(SCANS):
        for at in range(0, len(columns), 64):
            ids = np.arange(at, at + 64, dtype=np.uint64)
            problem.add(ids, Block(ids, columns[at : at + 64], None, at + 64))
            problem.solve()
            if at % 1024 == 0:
                points.append((time.perf_counter() - started, error(data, problem.central.read()[0])))
    problem.wait()
    points.append((time.perf_counter() - started, error(data, problem.central.read()[0])))
    return points


def error(data: Made, margins: Any) -> float:
    """Of fitting, relative to the targets; or of classification."""
    if data.test is None:
        return float(np.linalg.norm(margins - data.y) / np.linalg.norm(data.y))
    return float((np.sign(margins) != data.y).mean())


def time_to(points: list[tuple[float, float]], wanted: float) -> float:
    """Seconds until the error is no more than wanted; NaN if never."""
    return next((seconds for seconds, now in points if now <= wanted), float("nan"))
