"""Data for the tests of fgm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def data(n: int = 300, p: int = 60, seed: int = 0, noise: float = 0.3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)).astype(np.float32)
    true = [3, 9, 20, 31] if p > 31 else [0, 2, 3, 5]
    return x, np.where(x[:, true] @ [3.0, -2.5, 2.0, -1.5] + noise * rng.normal(size=n) > 0.5, 1.0, -1.0)


def sparse_file(folder: Path, rows: int = 400, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(rows):
        keys = np.unique(rng.integers(1, 3000, 25))
        values = rng.normal(size=len(keys)).round(3)
        margin = sum(v * (k % 7 - 3) for k, v in zip(keys, values, strict=True) if k < 200)
        lines.append(f"{1 if margin > 0 else -1} " + " ".join(f"{k}:{v}" for k, v in zip(keys, values, strict=True)))
    path = folder / "rows.svm"
    path.write_text("\n".join(lines) + "\n")
    return str(path)
