"""Make the figures again and write docs/papers/b-arda.md: ``python -m benchmarks.papers.b_arda [data set …]``.

The data comes from the folder that THRESHER_DATASETS names. With names only those data sets are run anew; the rest
comes from results.json.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from benchmarks.papers.b_arda.experiment import RUNS, THRESHOLDED, TRUNCATED, VARIABLE, run_set
from benchmarks.papers.b_arda.page import accuracies, claims, draw, steps

PAPERS = Path(__file__).parents[3] / "docs" / "papers"
RESULTS = Path(__file__).parent / "results.json"


def main() -> None:
    """Run what was asked for, and put everything there is on the page."""
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if VARIABLE in os.environ:
        for name in sys.argv[1:] or RUNS:
            results[name] = run_set(name)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    draw(results, TRUNCATED, PAPERS / "b-arda-figures1-2.png")
    draw(results, ("b-arda", "b-amd", *THRESHOLDED), PAPERS / "b-arda-figure3.png")
    introduction = (Path(__file__).parent / "introduction.md").read_text().strip()
    parts = [
        introduction,
        "## Figures 1 and 2: against OFS and SOFS\n\n![accuracy against B](b-arda-figures1-2.png)",
        "## Figure 3: against l1-ARDA and Ada-Fobos\n\n![accuracy against B](b-arda-figure3.png)",
        "## The paper's claims\n\n" + claims(results),
        "## What the step decides\n\nAccuracy on the training rows / on the test rows at the budget of the search, one "
        "run with λ = 1e-3.\n\n" + steps(results),
        "## All numbers\n\nMean and standard error over the runs.\n\n" + accuracies(results),
    ]
    (PAPERS / "b-arda.md").write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
