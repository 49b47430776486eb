"""Small data with a known answer, and the bits of a selection."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import thresher as th

TRUE = 10


def planted(rows: int = 6000, columns: int = 400, classes: int = 2, seed: int = 1) -> tuple[sp.csr_matrix, np.ndarray]:
    """Sparse rows whose label depends on the first ten columns."""
    rng = np.random.default_rng(seed)
    x = sp.random(rows, columns, density=0.05, format="csr", random_state=seed, dtype=np.float32)
    x.data[:] = 1.0
    weights = np.zeros((columns, classes))
    weights[:TRUE] = rng.choice((-3.0, 3.0), (TRUE, classes))
    weights[:TRUE, 0] = -weights[:TRUE, 1]
    scores = np.asarray(x @ weights) + rng.gumbel(size=(rows, classes))
    return x, scores.argmax(axis=1)


def write_svm(path: Path, x: sp.csr_matrix, y: np.ndarray) -> Path:
    """A LIBSVM file of the rows."""
    with open(path, "w") as file:
        for i in range(x.shape[0]):
            row = x.indices[x.indptr[i] : x.indptr[i + 1]]
            file.write(f"{y[i]} {' '.join(f'{j + 1}:1' for j in sorted(row))}\n")
    return path


def bits(selection: th.Selection) -> str:
    """A digest of everything that was learned."""
    digest = hashlib.sha256()
    for part in (selection.keys, selection.weights, selection.bounds, selection.counts, selection.intercept):
        digest.update(np.ascontiguousarray(part).tobytes())
    digest.update(repr(selection.provenance.get("progressive")).encode())
    return digest.hexdigest()
