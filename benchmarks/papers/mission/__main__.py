"""Make all results again and write docs/papers/mission.md: ``python -m benchmarks.papers.mission [name …]``.

With names only those parts are made anew; the page keeps what it has of the others. Experiments read data named by
THRESHER_GENOMES, THRESHER_CRITEO and THRESHER_SPLICE; without it the page keeps what it has of them too.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import time
from pathlib import Path

PARTS = ("table1", "figure2", "figure3", "figure4", "figure5", "figure6", "table4", "table5")
PAGE = Path(__file__).parents[3] / "docs" / "papers" / "mission.md"


def main() -> None:
    """Run what was asked for, or everything, and put it on the page."""
    parts = _on_page()
    for name in sys.argv[1:] or PARTS:
        print(f"{name} …", file=sys.stderr, flush=True)
        started = time.perf_counter()
        section = importlib.import_module(f"benchmarks.papers.mission.{name}").run()
        if "Not run:" in section and name in parts:
            print(section, flush=True)
            continue
        parts[name] = f"{section}\n\nMade in {(time.perf_counter() - started) / 60:.1f} minutes on one core."
        print(parts[name], flush=True)
        _write(parts)


def _on_page() -> dict[str, str]:
    if not PAGE.exists():
        return {}
    found = re.findall(r"<!-- (\w+) -->\n(.*?)(?=\n*<!-- \w+ -->|\Z)", PAGE.read_text(), re.DOTALL)
    return {name: text.strip() for name, text in found}


def _write(parts: dict[str, str]) -> None:
    introduction = (Path(__file__).parent / "introduction.md").read_text().strip()
    marked = [f"<!-- {name} -->\n{parts[name]}" for name in PARTS if name in parts]
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text("\n\n".join([introduction, *marked]) + "\n")


if __name__ == "__main__":
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # before NumPy is loaded
    main()
