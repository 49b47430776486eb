"""Run every comparison, or those named, and write docs/benchmarks.md: ``python -m benchmarks [name …]``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from benchmarks.harness import machine

#: One module a comparison, by its name below this folder; each has ``run() -> str``, a section of markdown.
COMPARISONS = (
    "sources.libsvm_parsing",
    "sources.vw_reading",
    "sources.cache",
    "sources.kmers",
    "sources.tables_and_texts",
    "start_up",
    "sources.dense_rows",
    "online.learning_speed",
    "online.learner_alone",
    "online.budgeted",
    "online.budgeted_l1",
    "online.recall",
    "workers",
    "distributed.scaling",
    "distributed.asy_os",
    "distributed.faults",
    "distributed.fgm",
    "cluster_model",
    "first_file",
    "first_file_defaults",
    "any_scale",
    "any_scale_cost",
    "which_method",
    "calibration",
    "right_k",
    "trust",
    "error_control.missing",
    "error_control.stability",
    "error_control.decoys",
    "online.memory_growth",
    "memory_promise",
    "fgm.hard_stream",
    "fgm.defaults",
    "fgm.synthetic",
    "fgm.real",
    "fgm.groups",
    "fgm.sparse_models",
    "substitution.recall",
    "substitution.text",
    "substitution.sparse",
    "substitution.memory",
    "sparse_rf.l1",
    "sparse_rf.kernel_methods",
    "sparse_rf.defaults",
    "sparse_rf.classes",
    "sparse_rf.memory",
    "fgm.families",
    "fgm.families_kernels",
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
