"""Pictures for docs/papers/, all in one look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "docs" / "papers"


def figure(x: str, y: str, title: str) -> tuple[Any, Any]:
    """An empty figure with its axes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(5.2, 3.6), dpi=90, layout="constrained")
    ax.set(xlabel=x, ylabel=y, title=title)
    ax.grid(alpha=0.3)
    return fig, ax


def beside(fig: Any) -> None:
    """The legend, to the right of the axes, where it covers no curve."""
    fig.set_size_inches(6.8, 3.6)
    fig.legend(*fig.axes[0].get_legend_handles_labels(), loc="outside right upper", fontsize=7)


def save(fig: Any, name: str) -> str:
    """Write it as PNG; the markdown that shows it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    fig.savefig(FOLDER / f"{name}.png", metadata={"Software": None})
    return f"![{fig.axes[0].get_title()}]({name}.png)"
