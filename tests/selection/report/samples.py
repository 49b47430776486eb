"""Selections with all the facts that a report has views for."""

from dataclasses import replace

import numpy as np

import thresher as th
from tests.selection.makers import make
from thresher import _native
from thresher.core.feature_space import FeatureSpace, RandomFeatureSpec
from thresher.selection.report.rows import RowViews
from thresher.selection.scoring import evaluate
from thresher.sources.registry import as_source

HOSTILE = [
    "</script><script>alert(1)</script>",
    "\"quoted\" & 'single' <img src=x onerror=alert(1)>",
    "two\nlines\u2028and three\ttabs",
    "\u202eright to left",
    "=1+2",
    "byte \udcff",
    "<!--<script>",
    "a\\b {{data}}",
]

TEXTS = [
    "Claim your FREE prize now: free offer, call <b>0800</b>",
    "Lunch at noon?\n\tBring the report for our meeting",
    "Your report on the free lunch \u202e meeting",
    "",
]

SEQUENCES = {"a": ["ACGTTGCAACGTaaccTTGGAACGNNTAGC", "TTTTGGCCACGTTGCA"], "b": ["GGGTTTCCCAAATTACAGGGTTTC"]}

FACTS = {
    "thresher": "0.1.0",
    "data": "folder/clicks.vw",
    "fingerprint": "abc",
    "rows": 4000,
    "plan": {"total": 3 << 20, "memory": 64 << 20},
    "test": {"rows": 1000, "accuracy": 0.912, "largest_class": 0.75, "auc": 0.96, "log_loss": None},
    "holdout": {"rows": "20 % of the rows, chosen by a hash of their content"},
    "warnings": ["a column looks like an identifier"],
    "k_curve": {
        "chosen": 2,
        "k_max": 8,
        "points": [{"k": k, "loss": 1 / k, "standard_error": 0.1} for k in (1, 2, 4, 8)],
    },
    "race": {
        "chosen": "mission",
        "rows": 500,
        "scored": 100,
        "methods": [
            {"method": "mission", "scores": {"accuracy": 0.9, "log_loss": 0.3}, "features": 4, "seconds": 1.25},
            {"method": "os", "failed": "too many columns"},
        ],
    },
    "learning_curve": {
        "rows": [1000, 2000, 3000, 4000],
        "loss": [0.7, 0.5, 0.4, 0.39],
        "pass_ends": [2000, 4000],
        "held_out": [{"passes": 1, "loss": 0.5}, {"passes": 2, "loss": 0.45}],
    },
    "passes": {"best": 2, "losses": [0.5, 0.45]},
    "kept_history": {
        "rows": [1000, 2000, 3000],
        "size": [4, 4, 4],
        "jaccard": [0.0, 0.6, 1.0],
        "to_final": [0.4, 1.0, 1.0],
        "timeline": {"names": ["f0", "f1"], "kept": [[1, 1, 1], [0, 1, 1]]},
    },
    "path": [
        {"features": 2, "objective": 9.5, "start": 10.0, "bound": 5.0, "steps": 3},
        {"features": 4, "objective": 7.5, "start": 9.5, "bound": 7.0, "steps": 3},
    ],
    "fdr": {
        "q": 0.1,
        "candidates": 12,
        "kept": 4,
        "expected_false": 0,
        "cut": {"names": ["x", "y"], "q_values": [0.2, None]},
        "mirror": {"edges": [-2.0, 0.0, 2.0], "stay": [0, 4], "cut": [5, 3]},
    },
    "stability": {"B": 50, "names": ["f1", "f0"], "frequency": [0.5, 0.98], "threshold": 0.7},
    "chance": {
        "n": 2,
        "score": "auc",
        "on": "held-out rows",
        "own_score": 0.875,
        "scores": [0.5, 0.5625],
        "largest_weight": [0.25, 0.125],
        "own_largest_weight": 2.0,
        "p_value": 1 / 3,
    },
    "decoys": {"n": 2, "selected": [2, 2], "decoys": [0, 1], "first": [None, 2], "rows": 100, "all_rows": True},
    "stand_ins": {"threshold": 0.9, "found": {"f0": [["f9", 0.991]], "f1": []}},
}


def binary(names=None, **facts):
    """Two classes, and rows of which some are predicted wrongly."""
    selection = replace(
        make([2.0, -1.0, 0.5, 0.25], names=names, classes=("no", "yes")),
        bounds=np.array([0.1, 0.2, 0.3, 0.4]),
        counts=np.array([100, 50, 25, 12], np.uint64),
        q_values=np.array([0.01, 0.02, 0.05, 0.1]),
        frequencies=np.array([0.98, 0.5, 0.25, 0.0]) if "stability" in facts else None,
    )
    selection.provenance.update(facts)
    selection.settings.update(method="mission", k=4, seed=3, passes="auto")
    return selection


def dense(loss, classes, weights, intercept):
    """A model of columns x0 …, as those of an array."""
    k = np.shape(weights)[-1]
    space = FeatureSpace("column", k)
    return make(
        weights, loss=loss, classes=classes, intercept=intercept, space=space, names=[f"x{j}" for j in range(k)]
    )


def words(weights, **of_texts):
    """A model of the words of texts, and texts that it is right or wrong about; ``of_texts`` are options of n-grams."""
    keys = [_native.hash_bytes(name.encode(), 0) for name in weights]
    model = make(list(weights.values()), keys=keys, names=list(weights), classes=("ham", "spam"))
    found = th.scan_text(TEXTS, ["spam", "ham", "ham", "spam"], **of_texts)
    model.provenance["reading"] = found.reading()
    return model, found


def kmers(folder, weights, **of_kmers):
    """A model of k-mers, and sequences of two classes in a folder."""
    for name, sequences in SEQUENCES.items():
        records = [f">{name}{i}\n{letters[:15]}\n{letters[15:]}\n" for i, letters in enumerate(sequences)]
        (folder / f"{name}.fa").write_text("".join(records))
    found = th.scan_fasta([folder / f"{name}.fa" for name in SEQUENCES], **of_kmers)
    keys = [min(found.kmers.keys_of(name)) for name in weights]
    return make(
        list(weights.values()), keys=keys, names=list(weights), classes=list(SEQUENCES), space=found.space
    ), found


def random_features(loss, classes, weights, intercept=(0.0,), **spec):
    """A model of random features of columns x0, x1 and x2."""
    weights = np.asarray(weights)
    numbers = np.arange(weights.shape[-1])
    space = FeatureSpace("column", 3, random_features=RandomFeatureSpec("gaussian", **spec))
    return make(weights, keys=numbers, loss=loss, classes=classes, intercept=intercept, space=space)


def rows_of(selection, X, y=None):
    """The views of rows, and their scores."""
    rows = RowViews(selection)
    source = as_source(X if y is None else np.asarray(X, np.float64), y)
    scores = evaluate(selection, source, observer=rows.add)
    rows.read_again(source)
    return list(rows.views()), scores
