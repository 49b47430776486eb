"""Figure 5: accuracy on fragments of genomes against the size of the sketch."""

from __future__ import annotations

from benchmarks.harness import table
from benchmarks.papers.mission.figures import figure, save
from benchmarks.papers.mission.genomes import NOT_RUN, STAND_IN, accuracies, engine, genomes, learn

K = 100_000
RATIOS = (0.25, 1, 4, 16)
COVERAGE = 0.2
GATHERED = 16 * K  # the largest of the sketches; in the paper batch IHT has 17 times the features kept


def run() -> str:
    """The curve as a table and a picture."""
    title = "## Figure 5: accuracy against the size of the sketch, genomes"
    if not genomes():
        return f"{title}\n\n{NOT_RUN}"
    engines = {f"{ratio:g}": engine("mission", K, int(ratio * K)) for ratio in RATIOS}
    engines |= {"IHT": engine("iht", K, 1), "batch IHT": engine("batch-iht", K, GATHERED)}
    learn(engines, COVERAGE, seed=1)
    right = accuracies(engines)
    curve = [right[f"{ratio:g}"] for ratio in RATIOS]
    enough = [
        f"{ratio:g}" for ratio, at in zip(RATIOS, curve, strict=True) if at > max(right["IHT"], right["batch IHT"])
    ]
    fig, ax = figure("cells of the sketch for each feature kept", "accuracy", f"15 species, k = {K:,}")
    ax.plot(RATIOS, curve, "o-", label="MISSION")
    ax.axhline(right["batch IHT"], color="C1", ls="--", label="batch IHT")
    ax.axhline(right["IHT"], color="C2", ls=":", label="IHT")
    ax.set_xscale("log", base=2)
    ax.set_xticks(RATIOS, [f"{ratio:g}" for ratio in RATIOS])
    ax.legend()
    return "\n\n".join(
        [
            title,
            f"{STAND_IN} Trained at coverage {COVERAGE} with k = {K:,} (the paper: 500,000); batch IHT gathers "
            f"gradients of {GATHERED:,} features before it takes a step. The paper has this figure only as a picture; "
            "it says that MISSION passes both rivals as soon as there is a cell for each feature kept.",
            table(
                ["cells a feature", *(f"{ratio:g}" for ratio in RATIOS), "IHT", "batch IHT"],
                [["accuracy", *(f"{at:.3f}" for at in (*curve, right["IHT"], right["batch IHT"]))]],
            ),
            f"MISSION is above both rivals at the ratios {', '.join(enough) or 'none'}.",
            save(fig, "mission-figure5"),
        ]
    )
