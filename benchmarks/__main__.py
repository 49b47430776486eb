"""Run every comparison, or those named, and write docs/benchmarks.md: ``python -m benchmarks [name …]``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from benchmarks.harness import machine

#: One module a comparison; each has ``run() -> str``, a section of markdown.
COMPARISONS = (
    "libsvm_parsing",
    "vw_reading",
    "sources_cache",
    "kmers",
    "sources",
    "start_up",
    "dense_rows",
    "learning_speed",
    "learner_alone",
    "budgeted",
    "budgeted_l1",
    "recall",
    "workers",
    "asy_os",
    "faults",
    "workers_fgm",
    "cluster_model",
    "first_file",
    "first_file_defaults",
    "any_scale",
    "which_method",
    "calibration",
    "right_k",
    "trust",
    "stability",
    "memory_growth",
    "memory_promise",
    "fgm",
    "fgm_defaults",
    "fgm_synthetic",
    "fgm_real",
    "fgm_groups",
    "fgm_baselines",
    "substitution",
    "substitution_text",
    "substitution_sparse",
    "substitution_memory",
    "sparse_rf_l1",
    "sparse_rf",
    "sparse_rf_defaults",
    "sparse_rf_classes",
    "sparse_rf_memory",
    "families",
    "families_kernels",
)
OUTPUT = Path(__file__).parent.parent / "docs" / "benchmarks.md"

INTRODUCTION = """# Benchmarks

For readers who want to compare Thresher with other tools, or to check a claim made on another page. After reading a
section you know how fast, how accurate and how large Thresher is on that task, and next to what.

`make bench` (`python -m benchmarks`) writes this page; no number is typed by hand. Each comparison runs its contenders
in turn, several times, on one machine. It reports medians, the range [least - most] and ratios: absolute times differ
between machines, ratios much less. [How to run one comparison](decisions/benchmarks.md).

"""


def marker(name: str) -> str:
    """What stands before a section of the page, so that it is found again."""
    return f"<!-- {name} -->"


def sections_of(page: str) -> dict[str, str]:
    """The sections of a page by name."""
    found = {}
    for name in COMPARISONS:
        _, mark, rest = page.partition(marker(name) + "\n")
        if mark:
            found[name] = rest.partition("\n<!-- ")[0].strip()
    return found


def main() -> None:
    """Run what was asked for, or everything, and put its sections into the page; the others stay as they were."""
    sections = sections_of(OUTPUT.read_text()) if OUTPUT.exists() else {}
    for name in sys.argv[1:] or COMPARISONS:
        print(f"{name} …", file=sys.stderr, flush=True)
        sections[name] = importlib.import_module(f"benchmarks.{name}").run().strip()
        print(sections[name], flush=True)
        parts = [f"{marker(name)}\n{sections[name]}" for name in COMPARISONS if name in sections]
        OUTPUT.write_text(INTRODUCTION + machine() + "\n\n" + "\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
