"""A made-up stream of text files, the same bytes every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def write_zipf(folder: Path, rows: int, *, ids: int = 10_000_000, draws: int = 100, seed: int = 7) -> tuple[Path, Path]:
    """Rows of about 90 non-zeros with Zipf ids and values of five decimals, as LIBSVM and as VW text."""
    rng = np.random.default_rng(seed)
    svm, vw = folder / f"zipf-{rows}.svm", folder / f"zipf-{rows}.vw"
    with open(svm, "w") as to_svm, open(vw, "w") as to_vw:
        for start in range(0, rows, 5000):
            ranks = np.exp(rng.random((min(5000, rows - start), draws)) * np.log(ids)).astype(np.int64)
            for row in ranks:
                drawn, count = np.unique(row * 7_368_787 % ids + 1, return_counts=True)
                values = 1 + np.log(count)
                values /= np.linalg.norm(values)
                text = " ".join(f"{k}:{v:.5f}" for k, v in zip(drawn.tolist(), values.tolist(), strict=True))
                label = rng.choice(("1", "-1"))
                to_svm.write(f"{label} {text}\n")
                to_vw.write(f"{label} | {text}\n")
    return svm, vw
