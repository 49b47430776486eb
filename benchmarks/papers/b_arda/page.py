"""Pictures and tables of the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import table
from benchmarks.papers.b_arda.experiment import BUDGETS, PROTOCOL, RUNS, THRESHOLDED, TRUNCATED

_MARKS = {"b-arda": "o-", "b-amd": "s-", "ofs": "^--", "sofs": "v--", "l1-arda": "D:", "ada-fobos": "x:"}


def draw(results: dict[str, Any], methods: tuple[str, ...], path: Path) -> None:
    """Accuracy against the budget, a panel a data set."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sets = [name for name in RUNS if name in results]
    rows = (len(sets) + 2) // 3
    figure, panels = plt.subplots(rows, 3, figsize=(12, 3.4 * rows), squeeze=False)
    for panel, name in zip(panels.ravel(), sets, strict=False):
        for method in methods:
            scores = np.array([results[name]["methods"][method]["accuracy"][str(b)] for b in BUDGETS])
            error = scores.std(axis=1) / np.sqrt(max(1, scores.shape[1] - 1))
            panel.errorbar(
                BUDGETS, scores.mean(axis=1), error, fmt=_MARKS[method], label=method, capsize=2, lw=1.2, ms=4
            )
        panel.set_title(f"{name} ({results[name]['passes']} passes, {results[name]['runs']} runs)", fontsize=10)
        panel.set_xlabel("features kept (B)")
        panel.set_ylabel("test accuracy")
        panel.grid(alpha=0.3)
    for panel in panels.ravel()[len(sets) :]:
        panel.axis("off")
    panels[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def accuracies(results: dict[str, Any]) -> str:
    """Means and standard errors of everything."""
    header = ["data", "method", "settings", *(f"B = {budget}" for budget in BUDGETS)]
    lines: list[list[object]] = []
    for name in (name for name in RUNS if name in results):
        for method in (*TRUNCATED, *THRESHOLDED):
            got = results[name]["methods"][method]
            lines.append(
                [
                    f"{name}{_before(results[name])}",
                    method,
                    _settings(got["settings"]),
                    *(_cell(got, str(b)) for b in BUDGETS),
                ]
            )
    return table(header, lines)


def steps(results: dict[str, Any]) -> str:
    """Accuracy on training and on test rows by the step, where it was measured."""
    lines: list[list[object]] = []
    for name in (name for name in RUNS if "steps" in results.get(name, {})):
        for method, found in results[name]["steps"].items():
            cells = {eta: f"{training:.3f} / {test:.3f}" for eta, training, test in found}
            lines.append([name, method, *(cells.get(10.0**-p, "diverges") for p in range(1, 9))])
    return table(["data", "method", *(f"η = 1e-{p}" for p in range(1, 9))], lines)


def _before(result: dict[str, Any]) -> str:
    """What marks a data set whose settings were chosen in another way."""
    return "" if result.get("protocol") == PROTOCOL else " (†)"


def _settings(settings: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value:g}" for key, value in settings.items()) or "automatic"


def _cell(got: dict[str, Any], budget: str) -> str:
    scores, counts = np.array(got["accuracy"][budget]), np.array(got["features"][budget])
    error = scores.std() / np.sqrt(max(1, len(scores) - 1))
    few = f" ({counts.mean():.0f} features)" if counts.mean() < int(budget) else ""
    return f"{scores.mean():.4f} ± {error:.4f}{few}"


def claims(results: dict[str, Any]) -> str:
    """The paper's claims, and how often they hold here."""
    told = [
        ("B-ARDA is not below OFS by more than a standard error (Figures 1, 2)", "b-arda", "ofs"),
        ("B-ARDA is not below SOFS by more than a standard error", "b-arda", "sofs"),
        ("B-AMD is not below OFS by more than a standard error", "b-amd", "ofs"),
        ("B-AMD is not below SOFS by more than a standard error", "b-amd", "sofs"),
        ("B-ARDA is not below l1-ARDA (Figure 3)", "b-arda", "l1-arda"),
        ("B-AMD is not below Ada-Fobos (Figure 3)", "b-amd", "ada-fobos"),
    ]
    lines = []
    for claim, ours, theirs in told:
        held, missed = 0, []
        for name in (name for name in RUNS if name in results):
            for budget in map(str, BUDGETS):
                a, b = (np.array(results[name]["methods"][m]["accuracy"][budget]) for m in (ours, theirs))
                error = np.sqrt((a.var() + b.var()) / max(1, len(a) - 1))
                if a.mean() >= b.mean() - error:
                    held += 1
                else:
                    missed.append(f"{name} {budget} ({a.mean():.3f} against {b.mean():.3f})")
        lines.append([claim, f"{held} of {held + len(missed)}", "; ".join(missed) or "—"])
    return table(["claim", "holds at", "does not at"], lines)
