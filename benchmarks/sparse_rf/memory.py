"""Sparse Random Features beyond memory: columns in single precision, in half, or made again whenever looked at."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.harness import python, table
from benchmarks.sparse_rf.baselines import batch_of, functions_of
from benchmarks.sparse_rf.kernel_methods import wave
from thresher import _native

ROWS, COLUMNS = 200_000, 300
SETTINGS = {"lam": 0.3e-3 * ROWS, "max_iter": 6, "draws": 50}
MEMORIES = (None, "100MB", "60MB")


def run() -> str:
    """One look at the columns three ways, then whole fits within less and less memory."""
    parts = [
        "## sparse-rf: beyond memory",
        f"{ROWS} rows of 10 inputs. One pass (the gradients of {COLUMNS} random features of the Gaussian kernel) over "
        "columns in single precision, over columns in half precision that are widened part by part, and over columns "
        "that are computed again:",
        _looks(),
        f"Complete fits with {SETTINGS['draws']} random features drawn {SETTINGS['max_iter']} times, within memory=, "
        "each in a separate process; the growth is relative to a fit of ten rows. Weights are compared bit by bit.",
        _fits(),
    ]
    return "\n\n".join(parts)


def _looks() -> str:
    x, y = wave(ROWS)
    functions = functions_of("gaussian", 1.0, COLUMNS, x.shape[1])
    parts = [slice(i, i + 8192) for i in range(0, ROWS, 8192)]
    slopes = (y - y.mean()).astype(np.float32)
    single = np.hstack([functions.values(batch_of(x[part])) for part in parts])
    half = single.astype(np.float16)
    batches = [batch_of(x[part]) for part in parts]
    looks = {
        "single precision": lambda: [single[:, part] @ slopes[part] for part in parts],
        "half precision": lambda: [half[:, part].astype(np.float32) @ slopes[part] for part in parts],
        "made again": lambda: [
            functions.values(batch) @ slopes[part] for batch, part in zip(batches, parts, strict=True)
        ],
    }
    held = {"single precision": single.nbytes, "half precision": half.nbytes, "made again": x.nbytes // 2}
    lines = []
    exact = _objective(single, y)
    for name, look in looks.items():
        times = []
        for _ in range(3):
            started = time.perf_counter()
            look()
            times.append(time.perf_counter() - started)
        off = "0" if name != "half precision" else f"{abs(_objective(half.astype(np.float32), y) / exact - 1):.1e}"
        lines.append([name, f"{sorted(times)[1]:.3f}", f"{held[name] / 2**20:.0f}", off])
    return table(["columns", "seconds a look", "MB held", "change of the objective's least value"], lines)


def _objective(columns: np.ndarray, y: np.ndarray) -> float:
    pool = _native.ThreadPool(0)
    solver = _native.L1Solver("squared", y, np.ones(len(y)), True)
    solver.add(columns, np.ones(len(columns)), pool)
    return float(solver.solve(SETTINGS["lam"], 1e-8, 200, pool)["objective"])


def _fits() -> str:
    lines, wanted = [], None
    for memory in MEMORIES:
        seconds, growth, bits, kept, columns, inputs = python(_FIT, repr(memory)).split()
        wanted = wanted or bits
        shown = [f"{float(seconds):.1f}", f"{int(growth) / 2**20:.0f}", kept]
        where = [f"{int(columns) / 2**20:.0f}", "read again" if inputs == "0" else f"{int(inputs) / 2**20:.0f}"]
        lines.append([memory or "as it comes", *shown, *where, "yes" if bits == wanted else "no"])
    header = ["memory", "seconds", "MB grown", "functions", "MB of columns", "MB of rows", "same bits"]
    return table(header, lines)


#: A fit in a process of its own: seconds, growth, a hash of the weights, functions, bytes of columns and of rows.
_FIT = """
import sys, time, zlib
import thresher as th
from benchmarks.sparse_rf import memory as b
from benchmarks.sparse_rf.kernel_methods import wave
from benchmarks.sparse_rf.measured import peak
x, y = wave(b.ROWS)
how = dict(method="sparse-rf", loss="squared", **b.SETTINGS)
th.select(x[:10], y[:10], **how)
before = peak()
started = time.perf_counter()
found = th.select(x, y, memory=eval(sys.argv[1]), **how)
seconds = time.perf_counter() - started
plan = found.provenance["plan"]
print(seconds, peak() - before, zlib.crc32(found.weights.tobytes()), len(found), plan["columns"], plan["inputs"])
"""
