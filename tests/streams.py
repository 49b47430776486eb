"""Small made-up data sets that several tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def planted(
    rows: int = 3000, width: int = 400, support: tuple[int, ...] = (3, 77, 200, 399), seed: int = 0
) -> tuple[sp.csr_matrix, NDArray[np.float64]]:
    """A sparse matrix with ±1 labels that depend on the columns of ``support`` alone (signs alternate)."""
    x, y = _planted(rows, width, support, seed)
    return x.copy(), y.copy()


@cache  # many modules begin with the same one
def _planted(rows: int, width: int, support: tuple[int, ...], seed: int) -> tuple[sp.csr_matrix, NDArray[np.float64]]:
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
    labels = y if isinstance(y, list) else [f"{label:+g}" for label in y.tolist()]
    rows = _feature_texts(x, lambda j: str(j + first_index))
    path.write_text("".join(f"{label} {features}\n" for label, features in zip(labels, rows, strict=True)))
    return path


def write_vw(path: Path, x: sp.csr_matrix, y: NDArray[np.float64]) -> Path:
    """The rows as VW text; column j is called ``column-j``."""
    rows = _feature_texts(x, lambda j: f"column-{j}")
    path.write_text("".join(f"{label:g} | {features}\n" for label, features in zip(y.tolist(), rows, strict=True)))
    return path


def _feature_texts(x: sp.csr_matrix, name: Callable[[int], str]) -> Iterator[str]:
    """The ``name:value`` pairs of every row. One slice of the matrix a row would take most of the time of a test."""
    pairs = [f"{name(j)}:{v:.6g}" for j, v in zip(x.indices.tolist(), x.data.tolist(), strict=True)]
    for first, last in zip(x.indptr[:-1], x.indptr[1:], strict=True):
        yield " ".join(pairs[first:last])
