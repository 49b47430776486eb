"""The paper's synthetic data (sections 8.2.2 and 8.2.3): true features and accuracy by count, time by density."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.fgm.l1_machines import Fit, debiased, l1_model, l1_search
from benchmarks.harness import table
from thresher import FGMClassifier

COUNTS = (100, 200, 300)


def made(n: int, m: int, true: int = 300, seed: int = 0, test: int = 4096) -> tuple[Any, set[int]]:
    """Gaussian rows, ``true`` weights from U(0, 1), labels by sign: (x, y, test x, test y), and the truth."""
    rng = np.random.default_rng(seed)
    w = np.zeros(m, np.float32)
    chosen = rng.choice(m, true, replace=False)
    w[chosen] = rng.random(true)
    x = rng.standard_normal((n, m), dtype=np.float32)
    held = rng.standard_normal((test, m), dtype=np.float32)
    return (x, np.sign(x @ w), held, np.sign(held @ w)), set(chosen.tolist())


def fgm(data: Any, count: int, loss: str, **settings: Any) -> Fit:
    """A fit of ours."""
    x, y, test, truth = data
    started = time.perf_counter()
    model = FGMClassifier(k=count, preset="fixed", loss=loss, fit_intercept=False, **settings).fit(x, y)
    seconds = time.perf_counter() - started
    found = model.get_support(indices=True)
    return Fit(found, float(model.score(test, truth)), debiased(x, y, test, truth, found, False), seconds, 1)


def by_count(n: int, m: int, counts: tuple[int, ...] = COUNTS) -> str:
    """Figure 2 as a table."""
    data, true = made(n, m)
    wide = (data[0].astype(np.float64), *data[1:])  # LIBLINEAR would make this copy in every fit
    contenders: dict[str, Callable[[int], Fit]] = {
        "fgm": lambda count: fgm(data, count, "squared_hinge"),
        "fgm, logistic": lambda count: fgm(data, count, "logistic"),
        "fgm, scale=None": lambda count: fgm(data, count, "squared_hinge", scale=None),
        "l1-SVM": lambda count: l1_search("l1-SVM", wide, count, shift=False, low=1e-3, high=1e-2, most=6),
        "l1-LR": lambda count: l1_search("l1-LR", wide, count, shift=False, low=4e-3, high=5e-2, most=6),
    }
    lines = []
    for count in counts:
        for name, fit in contenders.items():
            got = fit(count)
            lines.append(
                [
                    name,
                    len(got.features),
                    len(true.intersection(got.features.tolist())),
                    f"{got.accuracy:.4f}",
                    f"{got.debiased:.4f}",
                    f"{got.seconds:.2f}",
                    got.fits,
                ]
            )
    head = ["method", "features", "of them true", "test accuracy", "de-biased", "seconds", "fits"]
    return table(head, lines)


#: Non-zeros that LIBLINEAR gets at most: it holds each in 28 bytes.
MOST_FOR_LIBLINEAR = 70_000_000


def of_density(n: int, m: int, density: float, seed: int) -> Any:
    """Numbers from N(0, 1), kept at random: made some rows at a time, dense where most are kept."""
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    dense = np.empty((n, m), np.float32) if density > 0.7 else None
    parts = []
    for start in range(0, n, 256):
        shape = (min(256, n - start), m)
        strip = rng.standard_normal(shape, dtype=np.float32)
        if density < 1:
            strip *= rng.random(shape, dtype=np.float32) < density
        if dense is None:
            parts.append(sp.csr_matrix(strip))
        else:
            dense[start : start + len(strip)] = strip
    return sp.vstack(parts, format="csr") if dense is None else dense


def by_density(n: int, m: int, densities: tuple[float, ...] = (0.08, 0.1, 0.3, 0.5, 0.8, 1.0)) -> str:
    """Figure 4 as a table."""
    rng = np.random.default_rng(0)
    w = np.zeros(m, np.float32)
    w[rng.choice(m, 300, replace=False)] = rng.random(300)
    lines = []
    for density in densities:
        x, test = of_density(n, m, density, 1), of_density(1024, m, density, 2)
        data = (x, np.sign(x @ w), test, np.sign(test @ w))
        first = fgm(data, 300, "logistic", max_iter=1)
        got = fgm(data, 300, "logistic")
        nonzeros = int(x.nnz) if hasattr(x, "nnz") else x.size
        theirs = ["-", "-"]
        if density <= 0.5 and nonzeros <= MOST_FOR_LIBLINEAR:
            started = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = l1_model("l1-LR", 0.03, False).fit(x.astype(np.float64), data[1])
            seconds = time.perf_counter() - started
            theirs = [f"{model.score(test, data[3]):.4f} ({np.count_nonzero(model.coef_)})", f"{seconds:.2f}"]
        mine = [f"{got.accuracy:.4f}", f"{first.seconds:.2f}", f"{got.seconds:.2f}"]
        lines.append([density, f"{nonzeros / 1e6:.0f} M", *mine, *theirs])
    head = ["density", "non-zeros", "fgm, test accuracy", "seconds of one iteration", "of all ten"]
    head += ["one fit of l1-LR (features)", "seconds"]
    return table(head, lines)


def run(n: int = 4096, m: int = 4096, wide: tuple[int, int] = (4096, 32768)) -> str:
    """Both tables."""
    return "\n".join(
        [
            "## fgm: the paper's synthetic data",
            "",
            f"{n} x {m} numbers from N(0, 1), 300 true features with weights from U(0, 1), labels by sign, no "
            "intercept (section 8.2.2). LIBLINEAR's C is searched for the count (within 3 %, at most six fits); its "
            "seconds are those of the search. De-biased: a plain SVM on the selected columns.",
            "",
            by_count(n, m),
            "",
            f"{wide[0]} x {wide[1]} (half of the paper's size in both dimensions, so that LIBLINEAR fits), entries "
            "kept at random; 300 features, logistic loss. The first iteration reads the data and turns sparse rows "
            "into columns; each of the other nine makes one pass over the non-zeros. A matrix that is mostly full "
            "stays dense.",
            "",
            by_density(*wide),
        ]
    )
