"""The cases: fits and commands whose answers must not change.

Every case names the settings it uses, also where they are the defaults of today. Settings that many cases share are in
the dictionaries at the top, by method.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

import thresher as th
from tests.golden import data
from thresher.cli.main import make_app

#: What a case is called, and what gives its answer: a selection, arrays, texts, or a dictionary of these. It may write
#: to the folder.
CASES: dict[str, Callable[[Path], Any]] = {}
#: Selections as today's version writes them; see `record`.
STORED = Path(__file__).parent / "stored"

SHARED: dict[str, Any] = {"intercept": True, "random_state": 3, "per_class": False}
SHARED |= {"interactions": 1, "class_weight": None}
ROW_BY_ROW = SHARED | {"passes": 2, "minibatch": 1, "shuffle": True, "memory": "4MB", "keep_names": True}
MISSION = {"k": 8, "loss": "logistic", "step": "adaptive:1", "l2": 0.0, "decay": 1.0, "lazy": 0.0, "active": "exact"}
MISSION |= ROW_BY_ROW
BUDGETED = ROW_BY_ROW | {"k": 8, "loss": "squared_hinge", "eta": 0.5, "lam": 0.001, "delta": 0.01}
BUDGETED |= {"truncation": "adaptive", "tune": False, "refit_intercept": False}
FGM = SHARED | {"k": 6, "B": 2, "C": 10.0, "loss": "squared_hinge", "scale": "norm", "tol": 0.0, "inner_tol": 1e-4}
FGM |= {"iterations": 10, "refit": False, "solver": "apg", "memory": None, "threads": 2, "family": "linear"}
SPARSE_RF = SHARED | {"k": 12, "kernel": "gaussian", "gamma": 0.25, "lam": 1.0, "draws": 20, "rounds": 3, "tol": 1e-5}
SPARSE_RF |= {"loss": "squared_hinge", "q": None, "memory": None, "threads": 2}
OS = SHARED | {"k": 6, "loss": "squared", "scans": 3, "rate": 0.95, "m": 2.0, "c": 0.0, "check": True, "workers": 1}
OS |= {"refit": 1e-6, "order": "given", "memory": None, "threads": 2}

OWN: dict[str, dict[str, Any]] = {
    "mission": MISSION | {"sketch": (1, 256)},
    "iht": MISSION,
    "batch-iht": MISSION | {"sketch": (1, 64)},
    "hashing": MISSION | {"sketch": (1, 16)},
    **dict.fromkeys(("b-arda", "b-amd", "ofs", "sofs", "l1-arda", "ada-fobos"), BUDGETED),
    "fgm": FGM,
    "sparse-rf": SPARSE_RF,
    "os": OS,
    **dict.fromkeys(("grafting", "grafting-light", "naive-l1"), OS | {"lam": 0.05}),
    **dict.fromkeys(("naive-l0", "alpha-investing"), OS),
}

DENSE, SPARSE = data.dense(), data.sparse()


def select(method: str, *given: Any, **settings: Any) -> th.Selection:
    """`thresher.select` with every setting of the method given."""
    return th.select(*given, method=method, **{**OWN[method], **settings})


def command(*args: Any) -> str:
    """What a command of the program prints."""
    result = CliRunner().invoke(make_app(), [str(arg) for arg in args], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def case(function: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Register a function as the case of its name."""
    return add(function.__name__.replace("_", "-"), function)


def add(name: str, function: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Register a case under a name."""
    assert name not in CASES
    CASES[name] = function
    return function


def fits(rows: data.Rows, target: str, **cases: tuple[str, dict[str, Any]]) -> None:
    """Register fits to a matrix: the name of each, its method, and the settings in which it differs from `OWN`."""
    for name, (method, settings) in cases.items():
        add(
            name.replace("_", "-"),
            lambda _, method=method, settings=settings: select(method, rows.x, getattr(rows, target), **settings),
        )


# ── row by row ───────────────────────────────────────────────────────────────────────────────────

fits(
    SPARSE,
    "signs",
    mission=("mission", {}),
    mission_sketch=("mission", {"active": "sketch", "sketch": (3, 128), "step": 0.05}),
    mission_minibatch=("mission", {"minibatch": 7, "step": "0.5/sqrt", "l2": 1e-3, "decay": 0.999, "lazy": 0.05}),
    mission_unshuffled=("mission", {"shuffle": False, "passes": 1, "loss": "hinge"}),
    mission_balanced=("mission", {"class_weight": "balanced", "intercept": False}),
    mission_holdout=("mission", {"class_weight": {1: 2.0, -1: 0.5}, "holdout": 0.25}),
    mission_interactions=("mission", {"interactions": 2, "sketch": (1, 4096)}),
    iht=("iht", {}),
    batch_iht=("batch-iht", {}),
    hashing=("hashing", {}),
    b_arda=("b-arda", {}),
    b_arda_sketch=("b-arda", {"sketch": (1, 64)}),
    b_arda_naive=("b-arda", {"truncation": "naive", "loss": "logistic"}),
    b_arda_refit_intercept=("b-arda", {"refit_intercept": True}),
    b_arda_steps_of_the_data=("b-arda", {"eta": None, "lam": 0.0}),
    b_arda_tune=("b-arda", {"eta": None, "lam": None, "tune": True}),
    b_arda_groups=("b-arda", {"k": 3, "groups": th.Groups(np.arange(150) // 3, overlap=False, by_size=False)}),
    b_amd=("b-amd", {}),
    b_amd_tune=("b-amd", {"eta": None, "tune": True}),
    b_amd_groups=("b-amd", {"k": 3, "groups": th.Groups(np.arange(150) // 3, overlap=False, by_size=True)}),
    ofs=("ofs", {"loss": "hinge"}),
    sofs=("sofs", {}),
    l1_arda=("l1-arda", {}),
    l1_arda_by_k=("l1-arda", {"lam": None}),
    ada_fobos=("ada-fobos", {}),
)
fits(
    SPARSE,
    "numbers",
    mission_numbers=("mission", {"loss": "squared"}),
    mission_huber=("mission", {"loss": "huber:0.5"}),
    b_arda_numbers=("b-arda", {"loss": "squared"}),
)
fits(
    SPARSE,
    "classes",
    mission_softmax=("mission", {"loss": "softmax"}),
    mission_rest=("mission", {"loss": "rest:squared_hinge", "classes": ["ant", "bee", "cow"]}),
    b_arda_per_class=("b-arda", {"loss": "softmax", "per_class": True, "k": 3}),
)
fits(SPARSE, "labels", mission_multilabel=("mission", {"multilabel": True}))

# ── fgm ──────────────────────────────────────────────────────────────────────────────────────────

HALVES = th.Product(th.Columns(range(3)), th.Columns(range(3, 24)), prune=True)
POLYNOMIAL = th.Polynomial(2, gamma=1.0, r=1.0, squares=True, linear=True, prune=True)
TREE = th.Tree([range(12), range(6), range(6, 12), range(3), [7, 8], *([j] for j in range(12, 24))])

fits(
    DENSE,
    "signs",
    fgm=("fgm", {}),
    fgm_unscaled=("fgm", {"scale": None, "loss": "logistic", "intercept": False}),
    fgm_root_balanced=("fgm", {"scale": "root", "class_weight": "balanced"}),
    fgm_tol=("fgm", {"k": 12, "tol": 0.02}),
    fgm_refit=("fgm", {"refit": 2.0}),
    fgm_validation=("fgm", {"k": 12, "validation": tuple(data.dense(seed=3)[:2])}),
    fgm_groups=("fgm", {"k": 3, "B": 1, "family": th.Groups(np.arange(24) // 3, overlap=False, by_size=False)}),
    fgm_tree=("fgm", {"k": 3, "B": 1, "family": TREE}),
    fgm_polynomial=("fgm", {"family": POLYNOMIAL, "scale": None}),
    fgm_polynomial_by_name=("fgm", {"family": "polynomial:2,squares=false"}),
    fgm_additive=("fgm", {"k": 3, "B": 1, "family": th.Additive("gaussian", order=3, gamma=0.5)}),
    fgm_product=("fgm", {"family": HALVES}),
    fgm_union=("fgm", {"family": th.Union("linear", HALVES, th.HIK(bins=4, columns=[1, 4]), by_size=True)}),
    fgm_interactions=("fgm", {"interactions": 2}),
)
fits(DENSE.part(slice(60)), "signs", fgm_mkl=("fgm", {"solver": "mkl"}))
fits(
    DENSE._replace(x=DENSE.x + 2.0),
    "signs",
    fgm_hik=("fgm", {"k": 3, "B": 1, "family": th.HIK(bins=6, power=1.0)}),
    fgm_chi2=("fgm", {"k": 3, "B": 1, "family": th.Additive("chi2", order=3, gamma=1.0)}),
)
fits(DENSE, "numbers", fgm_numbers=("fgm", {"loss": "squared"}))
fits(
    DENSE,
    "classes",
    fgm_classes=("fgm", {}),
    fgm_per_class=("fgm", {"per_class": True, "k": 3, "B": 1, "loss": "logistic"}),
)
fits(DENSE, "labels", fgm_multilabel=("fgm", {"multilabel": True}))

# ── sparse-rf ────────────────────────────────────────────────────────────────────────────────────


def bump(rows: Any, rng: np.random.Generator) -> Any:
    """A random function: one over one plus the squared distance from a random point."""
    point = rng.integers(-16, 17, size=rows.shape[1]) / 8
    return 1.0 / (1.0 + ((rows.toarray() - point) ** 2).sum(axis=1))


NARROW = data.dense(width=6, seed=5)
KERNELS = ("laplacian", "binning", "perceptron", "arc-cosine", "matern:1.5", "maclaurin", "polynomial:2")

fits(
    NARROW,
    "signs",
    sparse_rf=("sparse-rf", {}),
    sparse_rf_logistic=("sparse-rf", {"loss": "logistic", "gamma": "scale", "k": None, "lam": 8.0}),
    sparse_rf_path=("sparse-rf", {"lam": [20.0, 5.0], "k": None, "validation": tuple(data.dense(width=6, seed=7)[:2])}),
    sparse_rf_some_inputs=("sparse-rf", {"q": 2}),
)
for kernel in KERNELS:
    fits(NARROW, "signs", **{f"sparse-rf-{kernel.partition(':')[0]}": ("sparse-rf", {"kernel": kernel})})
fits(
    NARROW,
    "numbers",
    sparse_rf_numbers=("sparse-rf", {"loss": "squared", "kernel": "laplacian"}),
    sparse_rf_functions=("sparse-rf", {"loss": "squared", "kernel": th.RandomFunctions(bump, "bump")}),
)
fits(NARROW, "classes", sparse_rf_classes=("sparse-rf", {"lam": 2.0}))

# ── columns that arrive ──────────────────────────────────────────────────────────────────────────

fits(
    DENSE,
    "numbers",
    os=("os", {}),
    os_step=("os", {"eta": 0.2, "c": 0.01, "order": "random", "refit": False}),
    os_huber=("os", {"loss": "huber:0.5", "intercept": False}),
    os_workers=("os", {"workers": 3, "staleness": 2, "check": False}),
    os_workers_checked=("os", {"workers": 2, "staleness": 1, "loss": "squared_epsilon:0.25"}),
    grafting=("grafting", {}),
    grafting_light=("grafting-light", {}),
    naive_l0=("naive-l0", {}),
    naive_l1=("naive-l1", {}),
    alpha_investing=("alpha-investing", {}),
)
fits(
    DENSE,
    "signs",
    os_signs=("os", {"loss": "squared_hinge", "refit": 1e-4}),
    grafting_signs=("grafting", {"loss": "logistic", "refit": 1e-4}),
)
fits(
    DENSE,
    "classes",
    os_classes=("os", {"loss": "logistic", "refit": 1e-4, "class_weight": "balanced"}),
    os_per_class=("os", {"loss": "squared_hinge", "refit": 1e-4, "per_class": True, "k": 3}),
    naive_l1_classes=("naive-l1", {"loss": "squared_hinge", "refit": 1e-4}),
)
fits(SPARSE, "numbers", os_sparse=("os", {}))
