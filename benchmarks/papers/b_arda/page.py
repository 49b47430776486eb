"""Pictures and tables of the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import table
from benchmarks.papers.b_arda.experiment import BUDGETS, METHODS, RULES, RUNS

_MARKS = {"b-arda": "o-", "b-amd": "s-", "ofs": "^--", "sofs": "v--", "l1-arda": "D:", "ada-fobos": "x:"}
_SHOWN = next(iter(RULES))
Results = dict[str, Any]


def _found(results: Results, name: str, method: str, rule: str) -> Any:
    """What a method came to on a data set, or None."""
    return results[name]["methods"].get(rule, {}).get(method)


def _error(scores: Any) -> Any:
    """The standard error of means over the last axis."""
    return scores.std(axis=-1) / np.sqrt(max(1, scores.shape[-1] - 1))


def draw(results: Results, methods: tuple[str, ...], path: Path) -> None:
    """Accuracy against the budget, a panel a data set."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = (len(results) + 2) // 3
    figure, panels = plt.subplots(rows, 3, figsize=(12, 3.4 * rows), squeeze=False)
    for panel, name in zip(panels.ravel(), results, strict=False):
        for method in methods:
            if (found := _found(results, name, method, _SHOWN)) is None:
                continue
            scores = np.array([found["accuracy"][str(b)] for b in BUDGETS])
            look = {"fmt": _MARKS[method], "color": f"C{METHODS.index(method)}", "capsize": 2, "lw": 1.2, "ms": 4}
            panel.errorbar(BUDGETS, scores.mean(axis=1), _error(scores), label=method, **look)
        panel.set_title(f"{name} ({results[name]['passes']} passes, {RUNS} runs)", fontsize=10)
        panel.set_xlabel("features kept (B)")
        panel.set_ylabel("test accuracy")
        panel.grid(alpha=0.3)
    for panel in panels.ravel()[len(results) :]:
        panel.axis("off")
    panels[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def accuracies(results: Results) -> str:
    """Means and standard errors of everything."""
    header = ["data", "chosen by", "method", "settings", *(f"B = {budget}" for budget in BUDGETS)]
    lines: list[list[object]] = []
    for name in results:
        for rule in RULES:
            for method in METHODS:
                if (found := _found(results, name, method, rule)) is not None:
                    cells = [_cell(found, str(b)) for b in BUDGETS]
                    lines.append([name, rule, method, _settings(found["settings"]), *cells])
    return table(header, lines)


def _settings(settings: dict[str, Any]) -> str:
    return ", ".join(f"{'η' if key == 'eta' else 'λ'} {value:.2g}" for key, value in settings.items())


def _cell(found: Any, budget: str) -> str:
    scores, counts = np.array(found["accuracy"][budget]), np.array(found["features"][budget])
    few = f" ({counts.mean():.0f} features)" if counts.mean() < int(budget) else ""
    return f"{scores.mean():.4f} ± {_error(scores):.4f}{few}"


#: The claim, the method it is for, the one it is against, and the budgets it is made for.
_CLAIMS: tuple[tuple[str, str, str, tuple[int, ...]], ...] = (
    ("B-ARDA is not below OFS (Figures 1, 2)", "b-arda", "ofs", BUDGETS),
    ("B-ARDA is not below SOFS (Figures 1, 2)", "b-arda", "sofs", BUDGETS),
    ("B-AMD is not below SOFS (Figures 1, 2)", "b-amd", "sofs", BUDGETS),
    ("B-AMD is not below OFS at the larger budgets (Figure 2)", "b-amd", "ofs", BUDGETS[2:]),
    ("B-ARDA is not below l1-ARDA at small budgets (Figure 3)", "b-arda", "l1-arda", BUDGETS[:3]),
    ("B-AMD is not below Ada-Fobos at small budgets (Figure 3)", "b-amd", "ada-fobos", BUDGETS[:3]),
)


def claims(results: Results) -> str:
    """The paper's claims, and where they hold here by more than minus one standard error of the difference."""
    rules = [rule for rule in RULES if any(rule in found["methods"] for found in results.values())]
    header = ["claim", *(f"{rule}: holds at" for rule in rules), "does not at (ours against theirs)"]
    lines = []
    for claim, ours, theirs, budgets in _CLAIMS:
        held, missed = [], []
        for rule in rules:
            good, bad = _compared(results, rule, ours, theirs, budgets)
            held.append(f"{good} of {good + len(bad)}")
            missed += bad
        lines.append([claim, *held, "; ".join(missed) or "—"])
    return table(header, lines)


def _compared(results: Results, rule: str, ours: str, theirs: str, budgets: tuple[int, ...]) -> tuple[int, list[str]]:
    held, missed = 0, []
    for name in results:
        pair = [_found(results, name, method, rule) for method in (ours, theirs)]
        if None in pair:
            continue
        for budget in budgets:
            a, b = (np.array(found["accuracy"][str(budget)]) for found in pair)
            if a.mean() >= b.mean() - np.hypot(_error(a), _error(b)):
                held += 1
            else:
                missed.append(f"{name} {budget}, {rule}: {a.mean():.3f} against {b.mean():.3f}")
    return held, missed
