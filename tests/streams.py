"""Small made-up data sets that several tests share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def planted(
    rows: int = 3000, width: int = 400, support: tuple[int, ...] = (3, 77, 200, 399), seed: int = 0
) -> tuple[sp.csr_matrix, NDArray[np.float64]]:
    """A sparse matrix with ±1 labels that depend on the columns of ``support`` alone (signs alternate)."""
    rng = np.random.default_rng(seed)
    x = sp.random(rows, width, density=0.05, random_state=seed, format="lil", dtype=np.float32)
    for column in support:
        x[:, column] = rng.integers(0, 2, size=(rows, 1)) * rng.random((rows, 1))
    signs = np.where(np.arange(len(support)) % 2 == 0, 1.0, -1.0)
    x = x.tocsr()
    margin = x[:, list(support)] @ signs
    return x, np.where(rng.random(rows) < 1 / (1 + np.exp(-10 * margin)), 1.0, -1.0)


def planted_outputs(
    rows: int = 1500, width: int = 120, outputs: int = 3, each: int = 2, seed: int = 0
) -> tuple[sp.csr_matrix, NDArray[np.float64]]:
    """A sparse matrix of zeros and ones, and margins of every row, one an output, decided by columns of its own."""
    rng = np.random.default_rng(seed)
    x = (rng.random((rows, width)) < 0.1).astype(np.float32)
    x[:, : outputs * each] = rng.random((rows, outputs * each)) < 0.5
    margins = np.stack([x[:, c * each : (c + 1) * each].sum(axis=1) for c in range(outputs)], axis=1) - each / 2
    return sp.csr_matrix(x), margins + 0.1 * rng.normal(size=margins.shape)


def write_libsvm(path: Path, x: sp.csr_matrix, y: NDArray[np.float64] | list[str], first_index: int = 1) -> Path:
    """The rows as LIBSVM text; labels are numbers, or what is to be written for them."""
    with open(path, "w") as file:
        for i in range(x.shape[0]):
            row = x[i]
            features = " ".join(f"{j + first_index}:{v:.6g}" for j, v in zip(row.indices, row.data, strict=True))
            label = y[i] if isinstance(y, list) else f"{y[i]:+g}"
            file.write(f"{label} {features}\n")
    return path


def write_vw(path: Path, x: sp.csr_matrix, y: NDArray[np.float64]) -> Path:
    """The rows as VW text; column j is called ``column-j``."""
    with open(path, "w") as file:
        for i in range(x.shape[0]):
            row = x[i]
            features = " ".join(f"column-{j}:{v:.6g}" for j, v in zip(row.indices, row.data, strict=True))
            file.write(f"{y[i]:g} | {features}\n")
    return path
