"""Reports of several methods and tasks, made from generated data."""

import numpy as np

import thresher as th
from tests.selection.makers import make
from tests.selection.report.samples import FACTS, HOSTILE, binary
from thresher.core.feature_space import FeatureSpace
from thresher.selection.report.page import report_data, write_report

WORDS = ["offer", "free", "prize", "call", "later", "meeting", "lunch", "report"]
#: The features of the largest report.
MANY = 16_383


def texts(n=800):
    """Texts of two classes."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.4, "spam", "ham")
    of = {"spam": WORDS[:4] * 3 + WORDS, "ham": WORDS[4:] * 3 + WORDS}
    return [" ".join(rng.choice(of[label], 12)) + f" {rng.integers(400)}" for label in y], y.tolist()


def numbers(classes, n=900):
    """Ten columns, of which three matter: several classes, or numbers if there are none."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 10))
    signal = 2 * X[:, 1] - X[:, 4] + 0.5 * X[:, 7] + rng.normal(size=n) / 3
    return X, signal if not classes else np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes))


def sequences(motif, n=60, letters=200):
    """Random records that have a motif somewhere."""
    rng = np.random.default_rng(len(motif) + ord(motif[0]))
    for i in range(n):
        record = "".join(rng.choice(list("ACGT"), letters))
        at = rng.integers(letters - len(motif))
        yield f">{motif[:2]}{i % 12}\n{record[:at]}{motif}{record[at + len(motif) :]}\n"


def make_reports(folder):
    """Write all reports; yields their names and paths."""
    words, labels = texts()
    X, y = numbers(0)
    fits = {
        "text": (words, labels, {"k": 20, "holdout": 0.3}),
        "auto-k": (words, labels, {"k": "auto", "k_max": 16, "holdout": 0.3}),
        "several": (*numbers(6), {"k": 5, "holdout": 0.3}),
        "regression": (X, y, {"k": 5, "holdout": 0.3}),
        "b-arda": (*numbers(2), {"k": 5, "holdout": 0.3, "method": "b-arda"}),
        "fgm": (*numbers(2), {"k": 5, "holdout": 0.3, "method": "fgm"}),
        "os": (*numbers(2), {"k": 5, "holdout": 0.3, "method": "os"}),
        "sparse-rf": (X[:300], y[:300], {"holdout": 0.3, "method": "sparse-rf", "max_iter": 3}),
        "fdr": (*numbers(2), {"k": 10, "holdout": 0.3, "fdr": 0.4}),
    }
    for label, motif in (("coli", "ACGTTGCAACGT"), ("subtilis", "GGGTTTCCCAAA")):
        (folder / f"{label}.fa").write_text("".join(sequences(motif)))
    genomes = sorted(folder.glob("*.fa"))
    kmers = th.select(th.scan_fasta(genomes, kmer=8, canonical=True), k=30)
    kmers.report(genomes, path=folder / "kmers.html", genome=genomes)
    yield "kmers", folder / "kmers.html"
    for name, (data, target, settings) in fits.items():
        path = folder / f"{name}.html"
        th.select(data, target, report=path, **settings)
        yield name, path
    rng = np.random.default_rng(2)
    many = make(rng.normal(size=MANY), names=[f"token{i}" for i in range(MANY)], space=FeatureSpace("token"))
    many.bounds[:] = 0.1
    many.provenance.update(FACTS)
    write_report(folder / "many.html", report_data(many))
    yield "many", folder / "many.html"
    facts = {**FACTS, "stand_ins": {name: [[name, 0.9]] for name in HOSTILE}, "data": HOSTILE[0], "warnings": HOSTILE}
    write_report(folder / "hostile.html", report_data(binary(HOSTILE[:4], **facts)))
    yield "hostile", folder / "hostile.html"
