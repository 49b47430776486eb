"""Make the figures again and write docs/papers/b-arda.md: ``python -m benchmarks.papers.b_arda [data set …]``.

The data comes from the folder that THRESHER_DATASETS names; without it, the page is drawn from what results/ has. A
data set is run method by method, and what is there already is left alone: ``basehock:ofs`` runs one of them anew,
``"basehock:ofs:five times"`` by one of the rules for choosing settings.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.papers.b_arda.experiment import DATASETS, METHODS, RULES, SETS, THRESHOLDED, TRUNCATED, load, run_method
from benchmarks.papers.b_arda.page import accuracies, claims, draw

PAPERS = Path(__file__).parents[3] / "docs" / "papers"
RESULTS = Path(__file__).parent / "results"


def run(name: str, methods: tuple[str, ...], rules: tuple[str, ...], *, anew: bool) -> None:
    """What is missing of a data set, method by method."""
    data = load(name)
    for rule, method in product(rules, methods):
        path = RESULTS / f"{name}.json"
        results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        done = results.setdefault("methods", {}).setdefault(rule, {})
        if method in done and not anew:
            continue
        found = run_method(data, method, rule)
        results |= {"passes": data.passes, "rows": len(data.y)}
        done[method] = found
        RESULTS.mkdir(exist_ok=True)
        path.write_text(json.dumps(results, indent=1) + "\n")


def main() -> None:
    """Run what was asked for, and put everything there is on the page."""
    if DATASETS in os.environ:
        for asked in sys.argv[1:] or SETS:
            name, method, rule = (*asked.split(":"), "", "")[:3]
            run(name, (method,) if method else METHODS, (rule,) if rule else tuple(RULES), anew=bool(method))
    results = {name: json.loads(path.read_text()) for name in SETS if (path := RESULTS / f"{name}.json").exists()}
    draw(results, TRUNCATED, PAPERS / "b-arda-figures1-2.png")
    draw(results, ("b-arda", "b-amd", *THRESHOLDED), PAPERS / "b-arda-figure3.png")
    introduction = (Path(__file__).parent / "introduction.md").read_text().strip()
    parts = [
        introduction,
        "## Figures 1 and 2: against OFS and SOFS\n\n![accuracy against B](b-arda-figures1-2.png)",
        "## Figure 3: against l1-ARDA and Ada-Fobos\n\n![accuracy against B](b-arda-figure3.png)",
        "## The paper's claims\n\n" + claims(results),
        "## All numbers\n\nMean and standard error over the runs.\n\n" + accuracies(results),
    ]
    (PAPERS / "b-arda.md").write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
