"""Every setting of every method, so that a new default changes no answer, and the calls that use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import thresher as th
from thresher.cli.main import make_app

SHARED: dict[str, Any] = {"fit_intercept": True, "random_state": 3, "per_class": False}
SHARED |= {"interactions": 1, "class_weight": None}
NO_INTERCEPT = {"fit_intercept": False}
ROW_BY_ROW = SHARED | {
    "passes": 2,
    "refit": False,
    "standardize": False,
    "minibatch": 1,
    "shuffle": True,
    "memory": "4MB",
    "keep_names": True,
}
MISSION = {"k": 8, "loss": "logistic", "step": "adaptive:1", "l2": 0.0, "decay": 1.0, "lazy": 0.0, "active": "exact"}
MISSION |= ROW_BY_ROW | {"workers": 1, "sync": None}
BUDGETED = ROW_BY_ROW | {"k": 8, "loss": "squared_hinge", "eta": 0.5, "lam": 0.001, "delta": 0.01}
BUDGETED |= {"truncation": "adaptive", "tune": False, "refit_intercept": False}
FGM = SHARED | {"k": 6, "B": 2, "C": 10.0, "loss": "squared_hinge", "scale": "norm", "tol": 0.0, "inner_tol": 1e-4}
FGM |= {"max_iter": 10, "refit": False, "solver": "apg", "memory": None, "n_jobs": 2, "family": "linear"}
SPARSE_RF = SHARED | {
    "k": 12,
    "kernel": "gaussian",
    "gamma": 0.25,
    "scale": None,
    "lam": 1.0,
    "draws": 20,
    "max_iter": 3,
    "tol": 1e-5,
}
SPARSE_RF |= {"loss": "squared_hinge", "q": None, "memory": None, "n_jobs": 2}
OS = SHARED | {"k": 8, "loss": "squared", "scans": 3, "rate": 0.95, "m": 2.0, "c": 0.0, "check": True, "workers": 1}
OS |= {"arrivals": 1, "shrink": 0.0, "ridge": 0.0, "refit": False, "order": "given", "memory": None, "n_jobs": 2}

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


def select(method: str, *given: Any, **settings: Any) -> th.Selection:
    """`thresher.select` with every setting of the method given."""
    return th.select(*given, method=method, **{**OWN[method], **settings})


def resumed(checkpoint: Path, call: int, method: str, *given: Any, **settings: Any) -> th.Selection:
    """`select`, interrupted at the given call of its progress function, and resumed."""
    settings |= {"checkpoint": checkpoint, "every": 0.0}
    left = iter(range(call - 1))

    def stop(progress: Any) -> None:
        if not progress.phase and next(left, None) is None:
            raise KeyboardInterrupt

    with pytest.raises(th.Interrupted):
        select(method, *given, progress=stop, **settings)
    assert checkpoint.exists()
    return select(method, *given, **settings)


def estimator(kind: type, method: str, **settings: Any) -> Any:
    """An estimator with the settings of the method, where it has them."""
    known = kind().get_params()
    given = {**OWN[method], "method": method, **settings}
    return kind(**{name: value for name, value in given.items() if name in known})


def command(*args: Any) -> str:
    """What a command of the program prints."""
    result = CliRunner().invoke(make_app(), [str(arg) for arg in args], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def command_found(folder: Path, path: Path, method: str, options: str) -> th.Selection:
    """What ``thresher select`` finds and saves."""
    output = folder / "found.thr"
    shared = ["-k", 6, "--method", method, "--seed", 3, "--fit-intercept", "-o", output]
    command("select", path, *shared, *options.split())
    return th.load(output)
