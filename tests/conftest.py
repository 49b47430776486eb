"""Hypothesis profiles: ``test`` tries the same examples in every run, ``explore`` tries many more at random.

Compiled modules are kept under ``build/`` where the environment says not to write them next to the sources.
"""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tests.examples import USUAL

# Every worker, and every one of the hundreds of processes that tests start, would compile all it imports again.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parents[1] / "build" / "bytecode")
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": sys.pycache_prefix}

# Time limits and a database of failures would make the outcome depend on the machine and on earlier runs.
COMMON: dict[str, Any] = {
    "deadline": None,
    "database": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow],
}
# No test cuts the power, and a disk takes longer to store a file for good than most tests run. That a file can be
# stored is still asked of the system; processes that tests start do store their files.
os.fsync = lambda file: os.fstat(file) and None  # type: ignore[assignment]

# `make test` has ten minutes; `make explore` tries the rest.
settings.register_profile("test", derandomize=True, max_examples=USUAL * 3 // 5, **COMMON)
settings.register_profile(
    "explore", derandomize=False, max_examples=USUAL * int(os.environ.get("EXPLORE_TIMES", "20")), **COMMON
)
settings.load_profile("test")  # --hypothesis-profile comes later and wins

# Hypothesis also draws constants from the source of all modules imported so far. Which ones these are depends on the
# tests before, so that one seed would give other examples in another order or on another worker.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants


def pytest_report_header(config: pytest.Config) -> str:
    """Print how to repeat the examples of this run."""
    if settings().derandomize:
        return "hypothesis examples: the same in every run"
    return f"hypothesis examples: --hypothesis-seed={config.getoption('--hypothesis-seed', default=None)}"
