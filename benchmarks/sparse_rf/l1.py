"""The l1 subproblem of Sparse Random Features: 50,000 rows, 500 functions, against celer, skglm and LIBLINEAR."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fgm.run_baselines import VARIABLE, stored
from benchmarks.harness import table
from benchmarks.sparse_rf import l1_subproblem
from benchmarks.sparse_rf.l1_subproblem import GAP, PATIENCE, TURNS, Solver, factor, gap_of, until_exact
from thresher import _native

ROWS, FUNCTIONS, INPUTS, GAMMA = 50_000, 500, 22, 1.0
LAMS = (1.0, 10.0, 100.0, 1000.0)
Array = np.ndarray[Any, Any]


def made(loss: str, rows: int = ROWS, functions: int = FUNCTIONS) -> tuple[Array, Array]:
    """Random Fourier features of rows in the unit cube, and noisy targets."""
    rng = np.random.default_rng(0)
    x = rng.random((rows, INPUTS)).astype(np.float32)
    omega = rng.normal(size=(INPUTS, functions)).astype(np.float32) * np.sqrt(2 * GAMMA).astype(np.float32)
    z = np.sqrt(2.0) * np.cos(x @ omega + rng.uniform(0, 2 * np.pi, functions))
    signal = np.sin(3 * x[:, 0] * x[:, 1]) + x[:, 2] ** 2 - x[:, 3]
    y = (signal - signal.mean()) / signal.std() + 0.3 * rng.normal(size=rows)
    return z.astype(np.float32), (y if loss == "squared" else np.where(y > 0.3, 1.0, -1.0))


def ours(loss: str, z: Array, y: Array, lam: float) -> Solver:
    """Columns as the loop has them: columns x rows."""
    columns, factors, pool = np.ascontiguousarray(z.T), np.ones(z.shape[1]), _native.ThreadPool(0)

    def fit(tolerance: float) -> Array:
        solver = _native.L1Solver(loss, y, np.full(len(y), factor(loss)), False)
        solver.add(columns, factors, pool)
        solver.solve(lam, tolerance, 500, pool)
        return solver.weights

    return fit


def run() -> str:
    """Seconds of each at the same duality gap, by loss and λ."""
    parts = [
        "## sparse-rf: the l1 subproblem",
        f"{ROWS} rows, {FUNCTIONS} random Fourier features of {INPUTS} inputs (gamma = {GAMMA:g}), the paper's λ_N on "
        f"the sum of the losses, no intercept, started at zero. Seconds to a duality gap of {GAP:g} of the objective, "
        f"median of {TURNS}. Each solver runs with ever smaller tolerances until its gap is that small, and only the "
        f"last run counts. > means that it stopped with a larger gap, after more than {PATIENCE:g} s or at its "
        "smallest tolerance. Baselines run in a separate process and get their columns in double precision and "
        "column-major order; Thresher gets them in single precision and column-major order, as its loop produces "
        "them. celer and skglm have no squared hinge with an l1 penalty, LIBLINEAR no squared loss with one.",
        *(f"**{loss}**\n\n{_table(loss)}" for loss in ("squared", "squared_hinge", "logistic")),
    ]
    return "\n\n".join(parts)


def baselines_of(loss: str, z: Array, y: Array, lams: tuple[float, ...]) -> dict[str, dict[str, tuple[float, float]]]:
    """Seconds and gap of each baseline, by λ; of those that the Python of THRESHER_BASELINES (or this one) has."""
    program = str(Path(l1_subproblem.__file__))
    with stored({"z": z, "y": y}) as folder:
        command = [os.environ.get(VARIABLE, sys.executable), program, str(folder), loss, json.dumps(lams)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    results: dict[str, dict[str, tuple[float, float]]] = json.loads(done.stdout.splitlines()[-1])
    return results


def _table(loss: str) -> str:
    z, y = made(loss)
    double = z.astype(np.float64)
    theirs = baselines_of(loss, z, y, LAMS)
    lines = []
    names: list[str] = []
    for lam in LAMS:
        fit = ours(loss, z, y, lam)
        results = {"thresher": until_exact(fit, partial(gap_of, loss, double, y, lam)), **theirs[str(lam)]}
        names = list(results)
        kept = int(np.count_nonzero(fit(GAP)))
        best = min(
            (seconds for name, (seconds, gap) in results.items() if name != "thresher" and gap <= GAP), default=None
        )
        shown = [f"{'' if gap <= GAP else '> '}{seconds:.2f}" for seconds, gap in results.values()]
        lines.append([f"{lam:g}", kept, *shown, "-" if best is None else f"{best / results['thresher'][0]:.1f}"])
    return table(["λ", "kept", *(f"{name}, s" for name in names), "times the best baseline"], lines)
