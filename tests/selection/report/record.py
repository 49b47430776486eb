"""The data of every view as recorded in ``views.json``: ``python -m tests.selection.report.record`` writes it again."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.selection.report.samples import FACTS, binary, dense, kmers, random_features, rows_of, words
from thresher.selection.report.genome import located
from thresher.selection.report.page import report_data

PATH = Path(__file__).with_name("views.json")


def views():
    """The data of a report with all facts, and of the rows of each task."""
    rng = np.random.default_rng(5)
    X = rng.integers(-2, 3, (60, 3)).astype(float)
    signal = X @ [2.0, -1.0, 0.5]
    two = np.where(signal + X[:, 2] > 0, "yes", "no")
    three = np.array(["a", "b", "c"])[np.digitize(signal, [-1.5, 1.5])]
    models = {
        "two classes": (dense("logistic", ("no", "yes"), [2.0, -1.0, 0.5], [0.25]), two),
        "several": (
            dense("softmax", ("a", "b", "c"), [[-1.0, 0.5, 0], [0.1, 0, 0.1], [1.0, -0.5, 0]], [0, 0.5, 0]),
            three,
        ),
        "numbers": (dense("squared", None, [2.0, -1.0, 0.25], [0.0]), signal),
    }
    found = {
        "all facts": report_data(binary(**FACTS), run={"seconds": 2.5, "bytes": 1 << 20}, command="thresher select …")
    }
    for name, (model, y) in models.items():
        seen, scores = rows_of(model, X, y)
        found[name] = {
            "views": seen,
            "headline": report_data(model, scores=scores, scored_on="rows of test.csv")["headline"],
        }
    curved = random_features("logistic", ("no", "yes"), rng.normal(size=8), gamma=0.2, seed=3)
    found["random features"] = {"views": [v for v in rows_of(curved, X, two)[0] if v["kind"] == "dependence"]}
    texts = words({"free": 1.0, "report": -0.5, "free offer": 0.25, "the free": -2.0}, words="1-2")
    found["texts"] = {"examples": rows_of(*texts)[0][-1]}
    with TemporaryDirectory() as folder:
        # The origins of rows are paths.
        model, source = kmers(Path(folder), {"AACGT": 1.0, "TTACA": -0.5, "GGTTT": -0.25, "GGGGG": 0.1}, kmer=5)
        examples = rows_of(model, source)[0][-1]
        groups = [[example["texts"] for example in group["examples"]] for group in examples["groups"]]
        found["sequences"] = {"examples": groups, "places": list(located(model, folder))}
    return json.loads(json.dumps(found))


if __name__ == "__main__":
    PATH.write_text(json.dumps(views(), indent=1, ensure_ascii=False) + "\n")
