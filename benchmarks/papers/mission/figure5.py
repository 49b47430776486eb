"""Figure 5: accuracy on fragments of genomes against the size of the sketch."""

from __future__ import annotations

from benchmarks.harness import table
from benchmarks.papers.mission.figure4 import STEP
from benchmarks.papers.mission.figures import figure, save
from benchmarks.papers.mission.genomes import NOT_RUN, STAND_IN, accuracies, engine, genomes, learn

K = 50_000
RATIOS = (1, 4, 16, 64)
COVERAGE = 0.1
GATHERED = 17 * K  # the paper's 8,388,608 are as many times its features
BASELINES = ("IHT", "IHT, constant step", "batch IHT", "batch IHT, constant step")


def run() -> str:
    """The curves as a table and a picture."""
    title = "## Figure 5: accuracy against the size of the sketch, genomes"
    if not genomes():
        return f"{title}\n\n{NOT_RUN}"
    engines = {f"exact {ratio}": engine("mission", K, ratio * K) for ratio in RATIOS}
    for ratio in RATIOS:
        engines[f"plain {ratio}"] = engine("mission", K, 0, active="sketch", step=STEP, sketch=(3, ratio * K))
    baselines = (("iht", "auto"), ("iht", STEP), ("batch-iht", "auto"), ("batch-iht", STEP))
    engines |= {
        name: engine(method, K, GATHERED, step=step) for name, (method, step) in zip(BASELINES, baselines, strict=True)
    }
    learn(engines, COVERAGE, seed=1)
    right = accuracies(engines)
    best = max(right[name] for name in BASELINES)
    curves = {
        "MISSION": [right[f"exact {ratio}"] for ratio in RATIOS],
        "MISSION as in the paper": [right[f"plain {ratio}"] for ratio in RATIOS],
    }
    above = {
        name: ", ".join(str(ratio) for ratio, at in zip(RATIOS, curve, strict=True) if at > best) or "none"
        for name, curve in curves.items()
    }
    return "\n\n".join(
        [
            title,
            f"{STAND_IN} Trained at coverage {COVERAGE} with k = {K:,} (the paper: 500,000), as in Figure 4; widths "
            f"are per row of cells. Batch IHT accumulates the gradients of {GATHERED:,} features before each step. "
            "The paper has this figure only as a picture; it says that MISSION overtakes both baselines as soon as "
            "each row has one cell per kept feature.",
            table(
                ["cells in a row for each feature kept", *map(str, RATIOS)],
                [[name, *(f"{at:.3f}" for at in curve)] for name, curve in curves.items()],
            ),
            table(["", *BASELINES], [["accuracy", *(f"{right[name]:.3f}" for name in BASELINES)]]),
            "Ratios at which it is above all four baselines: "
            + "; ".join(f"{name}: {ratios}" for name, ratios in above.items())
            + ".",
            _picture(curves, right),
        ]
    )


def _picture(curves: dict[str, list[float]], right: dict[str, float]) -> str:
    fig, ax = figure("cells in a row for each feature kept", "accuracy", f"15 species, k = {K:,}, coverage {COVERAGE}")
    for name, curve in curves.items():
        ax.plot(RATIOS, curve, "o-", label=name)
    for name, colour, style in zip(BASELINES, ("C2", "C2", "C3", "C3"), ("--", ":", "--", ":"), strict=True):
        ax.axhline(right[name], color=colour, ls=style, label=name)
    ax.set_xscale("log", base=2)
    ax.set_xticks(RATIOS, [str(ratio) for ratio in RATIOS])
    ax.legend(fontsize=7)
    return save(fig, "mission-figure5")
