"""Hand data to `benchmarks/fgm/baselines.py`, in a Python that has what it needs: THRESHER_BASELINES, or this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

VARIABLE = "THRESHER_BASELINES"


class Result(NamedTuple):
    """A baseline's model with about as many features (or groups) as it was asked for."""

    found: list[int]
    accuracy: float
    seconds: float
    fits: int


@contextmanager
def stored(data: Mapping[str, Any]) -> Iterator[Path]:
    """A folder that holds these arrays and matrices while it is needed."""
    import scipy.sparse as sp

    with tempfile.TemporaryDirectory() as name:
        for what, values in data.items():
            if isinstance(values, np.ndarray):
                np.save(Path(name) / f"{what}.npy", values)
            else:
                sp.save_npz(Path(name) / f"{what}.npz", values, compressed=False)
        yield Path(name)


def run_baseline(name: str, folder: Path, counts: list[int], size: int = 1, limit: float = 90.0) -> list[Result] | str:
    """What a baseline came to for each count; or why there is nothing."""
    program = Path(__file__).with_name("baselines.py")
    command = [os.environ.get(VARIABLE, sys.executable), str(program), name, str(folder), str(size), json.dumps(counts)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"not done within {limit:g} s"
    if done.returncode:
        return f"not run: {(done.stderr.strip().splitlines() or ['it failed'])[-1]}"
    return [Result(*one) for one in json.loads(done.stdout.strip().splitlines()[-1])]


def lines_of(name: str, results: list[Result] | str, truth: set[int]) -> list[list[object]]:
    """Rows of a table: method, how many, of them true, accuracy, seconds, fits."""
    if isinstance(results, str):
        return [[name, results, "", "", "", ""]]
    return [
        [name, len(r.found), len(truth & set(r.found)), f"{r.accuracy:.4f}", f"{r.seconds:.2f}", r.fits]
        for r in results
    ]
