"""Run every comparison and write docs/benchmarks.md: ``python -m benchmarks [name …]``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from benchmarks.harness import machine

#: One module a comparison; each has ``run() -> str``, a section of markdown.
COMPARISONS = (
    "libsvm_parsing",
    "vw_reading",
    "kmers",
    "start_up",
    "dense_rows",
    "learning_speed",
    "learner_alone",
    "recall",
    "memory_growth",
)
OUTPUT = Path(__file__).parent.parent / "docs" / "benchmarks.md"

INTRODUCTION = """# Benchmarks

Written by `make bench` (`python -m benchmarks`); nothing here is typed in by hand. Every comparison runs
its contenders in turns, several times, in one go on one machine, and gives medians and their ratio, since
machines are noisy and only ratios travel.

"""


def main() -> None:
    """Run what was asked for, or everything (and only then rewrite the page)."""
    asked = sys.argv[1:]
    sections = []
    for name in asked or COMPARISONS:
        print(f"{name} …", file=sys.stderr, flush=True)
        sections.append(importlib.import_module(f"benchmarks.{name}").run())
        print(sections[-1], flush=True)
    if not asked:
        OUTPUT.write_text(INTRODUCTION + machine() + "\n\n" + "\n\n".join(sections) + "\n")


if __name__ == "__main__":
    main()
