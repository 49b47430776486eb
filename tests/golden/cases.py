"""The cases: fits and commands whose answers must not change.

Settings that a case does not name are those of its method in `tests.golden.settings`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import thresher as th
from tests.golden import data
from tests.golden.settings import NO_INTERCEPT, command, command_found, estimator, resumed, select

#: By name, functions that return a selection, arrays, texts, or a dictionary of these. They may write to the folder.
CASES: dict[str, Callable[[Path], Any]] = {}

DENSE, SPARSE = data.dense(), data.sparse()
NAMED = {f"c{j}": column for j, column in enumerate(DENSE.x.T)}


def case(function: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Register a function as the case of its name."""
    return add(function.__name__.replace("_", "-"), function)


def add(name: str, function: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Register a case under a name."""
    assert name not in CASES
    CASES[name] = function
    return function


def fits(rows: data.Rows, target: str, **cases: tuple[str, dict[str, Any]]) -> None:
    """Register fits to a matrix: for each name a method, and settings besides those of `tests.golden.settings`."""
    for name, (method, settings) in cases.items():
        add(
            name.replace("_", "-"),
            lambda _, method=method, settings=settings: select(method, rows.x, getattr(rows, target), **settings),
        )


# ── row by row ───────────────────────────────────────────────────────────────────────────────────

fits(
    SPARSE,
    "signs",
    mission=("mission", {}),
    mission_sketch=("mission", {"active": "sketch", "sketch": (3, 128), "step": 0.05}),
    mission_sketch_auto_step=("mission", {"active": "sketch", "sketch": (3, 128), "step": "auto"}),
    mission_minibatch=("mission", {"minibatch": 7, "step": "0.5/sqrt", "l2": 1e-3, "decay": 0.999, "lazy": 0.05}),
    mission_unshuffled=("mission", {"shuffle": False, "passes": 1, "loss": "hinge"}),
    mission_balanced=("mission", {"class_weight": "balanced", **NO_INTERCEPT}),
    mission_holdout=("mission", {"class_weight": {1: 2.0, -1: 0.5}, "holdout": 0.25}),
    mission_interactions=("mission", {"interactions": 2, "sketch": (1, 4096)}),
    iht=("iht", {}),
    batch_iht=("batch-iht", {}),
    hashing=("hashing", {}),
    b_arda=("b-arda", {}),
    b_arda_sketch=("b-arda", {"sketch": (1, 64)}),
    b_arda_naive=("b-arda", {"truncation": "naive", "loss": "logistic"}),
    b_arda_refit_intercept=("b-arda", {"refit_intercept": True}),
    b_arda_steps_of_the_data=("b-arda", {"eta": None, "lam": 0.0}),
    b_arda_weighted=("b-arda", {"sample_weight": np.arange(400) % 3 / 2 + 0.5}),
    b_arda_tune=("b-arda", {"eta": None, "lam": None, "tune": True}),
    b_arda_groups=("b-arda", {"k": 3, "groups": th.Groups(np.arange(150) // 3, overlap=False, by_size=False)}),
    b_amd=("b-amd", {}),
    b_amd_tune=("b-amd", {"eta": None, "tune": True}),
    b_amd_groups=("b-amd", {"k": 3, "groups": th.Groups(np.arange(150) // 3, overlap=False, by_size=True)}),
    ofs=("ofs", {"loss": "hinge"}),
    sofs=("sofs", {}),
    l1_arda=("l1-arda", {}),
    l1_arda_by_k=("l1-arda", {"lam": None}),
    ada_fobos=("ada-fobos", {}),
)
fits(
    SPARSE,
    "numbers",
    mission_numbers=("mission", {"loss": "squared"}),
    mission_huber=("mission", {"loss": "huber:0.5"}),
    b_arda_numbers=("b-arda", {"loss": "squared"}),
)
fits(
    SPARSE,
    "classes",
    mission_softmax=("mission", {"loss": "softmax"}),
    mission_rest=("mission", {"loss": "rest:squared_hinge", "classes": ["ant", "bee", "cow"]}),
    b_arda_per_class=("b-arda", {"loss": "softmax", "per_class": True, "k": 3}),
)
fits(SPARSE, "labels", mission_multilabel=("mission", {"multilabel": True}))
fits(DENSE, "signs", mission_dense=("mission", {"step": "auto"}))
fits(
    data.wide(),
    "signs",
    mission_wide=("mission", {"sketch": (2, 512)}),
    b_arda_memory_full=("b-arda", {"memory": "2.5MB", "passes": 1}),
)

# ── fgm ──────────────────────────────────────────────────────────────────────────────────────────

HALVES = th.Product(th.Columns(range(3)), th.Columns(range(3, 24)), prune=True)
POLYNOMIAL = th.Polynomial(2, gamma=1.0, r=1.0, squares=True, linear=True, prune=True)
UNION = th.Union(
    th.Columns([0, 3]), th.Product(th.Columns([1]), th.Columns([2, 5])), th.HIK(bins=4, power=1.0, columns=[1, 2, 4])
)
TREE = th.Tree([range(12), range(6), range(6, 12), range(3), [7, 8], *([j] for j in range(12, 24))])

fits(
    DENSE,
    "signs",
    fgm=("fgm", {}),
    fgm_unscaled=("fgm", {"scale": None, "loss": "logistic", **NO_INTERCEPT}),
    fgm_root_balanced=("fgm", {"scale": "root", "class_weight": "balanced"}),
    fgm_tol=("fgm", {"k": 12, "tol": 0.02}),
    fgm_refit=("fgm", {"refit": 2.0}),
    fgm_validation=("fgm", {"k": 12, "validation": tuple(data.dense(seed=3)[:2])}),
    fgm_groups=("fgm", {"k": 3, "B": 1, "family": th.Groups(np.arange(24) // 3, overlap=False, by_size=False)}),
    fgm_tree=("fgm", {"k": 3, "B": 1, "family": TREE}),
    fgm_polynomial=("fgm", {"family": POLYNOMIAL, "scale": None}),
    fgm_polynomial_by_name=("fgm", {"family": "polynomial:2,squares=false"}),
    fgm_additive=("fgm", {"k": 3, "B": 1, "family": th.Additive("gaussian", order=3, gamma=0.5)}),
    fgm_product=("fgm", {"family": HALVES}),
    fgm_interactions=("fgm", {"interactions": 2}),
)
fits(DENSE.part(slice(60)), "signs", fgm_mkl=("fgm", {"solver": "mkl"}))
fits(
    DENSE._replace(x=DENSE.x + 2.0),
    "signs",
    fgm_hik=("fgm", {"k": 3, "B": 1, "family": th.HIK(bins=6, power=1.0)}),
    fgm_union=("fgm", {"family": UNION}),
    fgm_chi2=("fgm", {"k": 3, "B": 1, "family": th.Additive("chi2", order=3, gamma=1.0)}),
)
fits(DENSE, "numbers", fgm_numbers=("fgm", {"loss": "squared"}))
fits(
    DENSE,
    "classes",
    fgm_classes=("fgm", {}),
    fgm_per_class=("fgm", {"per_class": True, "k": 3, "B": 1, "loss": "logistic"}),
)
fits(DENSE, "labels", fgm_multilabel=("fgm", {"multilabel": True}))

# ── sparse-rf ────────────────────────────────────────────────────────────────────────────────────


def bump(rows: Any, rng: np.random.Generator) -> Any:
    """A random function: one over one plus the squared distance from a random point."""
    point = rng.integers(-16, 17, size=rows.shape[1]) / 8
    return 1.0 / (1.0 + ((rows.toarray() - point) ** 2).sum(axis=1))


NARROW = data.dense(width=6, seed=5)
KERNELS = ("laplacian", "binning", "perceptron", "arc-cosine", "matern:1.5", "maclaurin", "polynomial:2")

fits(
    NARROW,
    "signs",
    sparse_rf=("sparse-rf", {}),
    sparse_rf_logistic=("sparse-rf", {"loss": "logistic", "gamma": "scale", "k": None, "lam": 8.0}),
    sparse_rf_path=("sparse-rf", {"lam": [20.0, 5.0], "k": None, "validation": tuple(data.dense(width=6, seed=7)[:2])}),
    sparse_rf_some_inputs=("sparse-rf", {"q": 2}),
)
for kernel in KERNELS:
    fits(NARROW, "signs", **{f"sparse-rf-{kernel.partition(':')[0]}": ("sparse-rf", {"kernel": kernel})})
fits(
    NARROW,
    "numbers",
    sparse_rf_numbers=("sparse-rf", {"loss": "squared", "kernel": "laplacian"}),
    sparse_rf_functions=("sparse-rf", {"loss": "squared", "kernel": th.RandomFeatures(bump, "bump")}),
)
fits(NARROW, "classes", sparse_rf_classes=("sparse-rf", {"lam": 2.0}))

# ── columns that arrive ──────────────────────────────────────────────────────────────────────────

fits(
    DENSE,
    "numbers",
    os=("os", {}),
    os_refit=("os", {"refit": 1e-6}),
    os_step=("os", {"eta": 0.2, "c": 0.01, "order": "random"}),
    os_huber=("os", {"loss": "huber:0.5", **NO_INTERCEPT}),
    os_workers=("os", {"workers": 3, "staleness": 2, "check": False}),
    os_workers_checked=("os", {"workers": 2, "staleness": 1, "loss": "squared_epsilon:0.25"}),
    grafting=("grafting", {}),
    grafting_light=("grafting-light", {}),
    naive_l0=("naive-l0", {}),
    naive_l1=("naive-l1", {}),
    alpha_investing=("alpha-investing", {}),
)
fits(
    DENSE,
    "signs",
    os_signs=("os", {"loss": "squared_hinge"}),
    os_signs_refit=("os", {"loss": "squared_hinge", "refit": 1e-4}),
    grafting_signs=("grafting", {"loss": "logistic"}),
)
fits(
    DENSE,
    "classes",
    os_classes=("os", {"loss": "logistic", "class_weight": "balanced"}),
    os_per_class=("os", {"loss": "squared_hinge", "per_class": True, "k": 3}),
    naive_l1_classes=("naive-l1", {"loss": "squared_hinge"}),
)
fits(SPARSE, "numbers", os_sparse=("os", {}))
fits(SPARSE, "signs", alpha_investing_signs=("alpha-investing", {"loss": "squared_hinge", "k": 30}))

# ── sources ──────────────────────────────────────────────────────────────────────────────────────

TABLE: dict[str, Any] = {"target": "bought", "numeric": ["age", "size"], "categorical": ["city", "plan"]}
TABLE |= {"others": "ignore", "missing": "skip"}
TEXT: dict[str, Any] = {"text": "body", "target": "mood", "words": (1, 2), "lower": True, "within_words": False}
KMERS: dict[str, Any] = {"kmer": 6, "canonical": True, "wildcards": False, "positional": False}
KMERS |= {"counts": "binary", "unit": False}


@case
def libsvm(folder: Path) -> Any:
    return select("mission", data.libsvm_file(folder), format="libsvm")


@case
def libsvm_gzip(folder: Path) -> Any:
    return select("b-arda", data.libsvm_file(folder, name="rows.svm.gz"), holdout=0.2)


@case
def libsvm_multilabel(folder: Path) -> Any:
    """Several labels a row, or none."""
    written = [",".join(str(j) for j in np.flatnonzero(row)) for row in SPARSE.labels]
    return select("mission", data.libsvm_file(folder, written), multilabel=True)


@case
def libsvm_bad_lines(folder: Path) -> Any:
    """Malformed lines are skipped and counted."""
    path = data.libsvm_file(folder)
    path.write_text(path.read_text().replace("\n1 ", "\n1 x:y ", 5))
    found = select("mission", path, on_error="skip")
    return {"found": found, "skipped": found.provenance["skipped"]}


@case
def vw(folder: Path) -> Any:
    return select("mission", data.vw_file(folder), test=data.vw_file(folder, "test.vw"))


@case
def vw_interactions(folder: Path) -> Any:
    return select("mission", data.vw_file(folder), interactions=[("even", "odd")], sketch=(1, 4096))


@case
def vw_names_found_later(folder: Path) -> Any:
    return select("b-arda", data.vw_file(folder), keep_names=False)


@case
def vw_groups(folder: Path) -> Any:
    found = select("b-arda", data.vw_file(folder), groups="source", k=1)
    return {"found": found, "groups": found.provenance["groups"]}


@case
def cache(folder: Path) -> Any:
    """Parsed by the first run, mapped by the second."""
    path = data.vw_file(folder)
    runs = [select(method, path, cache=folder / "cache", cache_size="1GB") for method in ("mission", "b-arda")]
    return dict(zip(("mission", "b-arda"), runs, strict=True))


@case
def csv(folder: Path) -> Any:
    return select("mission", data.csv_file(folder), **TABLE)


@case
def csv_bins(folder: Path) -> Any:
    return select("mission", data.csv_file(folder), **TABLE | {"bins": "quantile:4", "missing": "feature"})


@case
def csv_fgm(folder: Path) -> Any:
    """Categories and numbers, with bins by logarithm; a column holds weights."""
    given = TABLE | {"numeric": ["size"], "bins": "log", "sample_weight": "age"}
    return select("fgm", data.csv_file(folder), **given)


@case
def parquet(folder: Path) -> Any:
    return select("b-arda", data.parquet_file(folder, data.table()), **TABLE)


@case
def frame(_: Path) -> Any:
    """A DataFrame with numbers, gaps and categories."""
    import pandas as pd

    return select("mission", pd.DataFrame(data.table()).astype({"city": "category"}), target="bought")


@case
def texts(folder: Path) -> Any:
    return select("mission", data.json_file(folder), counts="binary", unit=False, **TEXT)


@case
def texts_by_letters(folder: Path) -> Any:
    given = TEXT | {"words": None, "chars": (2, 3), "within_words": True, "counts": "log", "unit": True}
    return select("b-amd", data.json_file(folder), **given)


@case
def kmers(folder: Path) -> Any:
    return select("mission", data.fasta_files(folder), **KMERS)


@case
def fragments(folder: Path) -> Any:
    return select("mission", data.fasta_files(folder), fragments=30, coverage=3.0, **KMERS, holdout=0.25)


@case
def kmer_spectrum(folder: Path) -> Any:
    given = KMERS | {"kmer": [2, 3, 4], "canonical": False, "counts": "count"}
    family = "spectrum:prefix,letters=3,by_size=true"
    return select("fgm", data.fasta_files(folder), family=family, k=2, B=1, C=0.1, **given)


@case
def fgm_out_of_core(folder: Path) -> Any:
    """Memory that holds the columns of an iteration, but not the data."""
    return select("fgm", data.libsvm_file(folder), memory="300KB", k=4)


@case
def columns_of_a_generator(_: Path) -> Any:
    """Columns that are computed one by one, some of them constant."""

    def columns() -> Any:
        for name, column in NAMED.items():
            yield name, column
            yield f"constant-{name}", np.ones(len(column))

    stream = th.FeatureStream(columns, on_error="constant", block=5)
    return select("os", stream, DENSE.numbers)


@case
def columns_of_parquet(folder: Path) -> Any:
    return select("os", data.parquet_file(folder, {**NAMED, "y": DENSE.numbers}), target="y")


@case
def columns_of_a_table(folder: Path) -> Any:
    return select("os", data.csv_file(folder), loss="squared_hinge", refit=1e-4, **TABLE)


@case
def sparse_rf_of_a_table(folder: Path) -> Any:
    return select("sparse-rf", data.csv_file(folder), gamma="scale", kernel="laplacian", **TABLE)


# ── interrupted and resumed ──────────────────────────────────────────────────────────────────────


@case
def mission_resumed(folder: Path) -> Any:
    return resumed(folder / "run", 6, "mission", data.vw_file(folder), batch_rows=100)


@case
def b_arda_resumed(folder: Path) -> Any:
    return resumed(folder / "run", 5, "b-arda", SPARSE.x, SPARSE.signs, batch_rows=100)


@case
def fgm_resumed(folder: Path) -> Any:
    return resumed(folder / "run", 3, "fgm", DENSE.x, DENSE.signs)


@case
def sparse_rf_resumed(folder: Path) -> Any:
    return resumed(folder / "run", 3, "sparse-rf", NARROW.x, NARROW.signs)


@case
def os_resumed(folder: Path) -> Any:
    stream = th.FeatureStream(DENSE.x, names=list(NAMED), block=4)
    return resumed(folder / "run", 8, "os", stream, DENSE.numbers)


# ── estimators ───────────────────────────────────────────────────────────────────────────────────

FIRST, SECOND, NEW = slice(150), slice(150, 400), slice(6)


@case
def partial_fit(_: Path) -> Any:
    """Learning on, in two parts."""
    model = estimator(th.MissionClassifier, "mission")
    model.partial_fit(SPARSE.x[FIRST], SPARSE.classes[FIRST], classes=data.CLASSES)
    model.partial_fit(SPARSE.x[SECOND], SPARSE.classes[SECOND])
    return {"found": model.selection_, "proba": model.predict_proba(SPARSE.x[NEW])}


@case
def partial_fit_of_numbers(_: Path) -> Any:
    model = estimator(th.MissionRegressor, "mission", loss="squared")
    for part in (FIRST, SECOND):
        model.partial_fit(SPARSE.x[part], SPARSE.numbers[part])
    return {"found": model.selection_, "predicted": model.predict(SPARSE.x[NEW])}


@case
def partial_fit_of_b_arda(_: Path) -> Any:
    """Under a budget; its history says which features were kept when."""
    model = estimator(th.BudgetedClassifier, "b-arda")
    model.partial_fit(SPARSE.x[FIRST], SPARSE.signs[FIRST], classes=[-1, 1])
    model.partial_fit(SPARSE.x[SECOND], SPARSE.signs[SECOND])
    return {"found": model.selection_, "jaccard": model.history_.jaccard, "stays": model.history_.stays(20)}


@case
def partial_fit_of_columns(_: Path) -> Any:
    """Further columns of the same rows."""
    model = estimator(th.SubstitutionRegressor, "os")
    model.partial_fit(DENSE.x[:, 3:], DENSE.numbers).partial_fit(DENSE.x[:, :3])
    return model.selection_


@case
def estimators(_: Path) -> Any:
    """One of every kind, fitted to classes: what it finds, and its decisions."""
    kinds = {
        "mission": (th.MissionClassifier, SPARSE),
        "b-arda": (th.BudgetedClassifier, SPARSE),
        "fgm": (th.FGMClassifier, DENSE),
        "os": (th.SubstitutionClassifier, DENSE),
        "sparse-rf": (th.SparseRFClassifier, NARROW),
    }
    answers = {}
    for method, (kind, rows) in kinds.items():
        model = estimator(kind, method, loss="logistic").fit(rows.x, rows.classes)
        answers[method] = {"found": model.selection_, "decisions": model.decision_function(rows.x[NEW])}
    return answers


# ── files and commands ───────────────────────────────────────────────────────────────────────────


class Stored(NamedTuple):
    """A selection that is kept as a file: how it was made, and rows to predict."""

    make: Callable[[Path], Any]
    rows: Callable[[Path], Any]


#: Written once, by the version of today: every later one must read them.
STORED = {
    "online": Stored(vw, data.vw_file),
    "online-classes": Stored(CASES["mission-softmax"], lambda _: SPARSE.x),
    "online-kmers": Stored(kmers, data.fasta_files),
    "online-table": Stored(csv_bins, data.csv_file),
    "fgm-family": Stored(CASES["fgm-union"], lambda _: DENSE.x + 2.0),
    "sparse-rf": Stored(CASES["sparse-rf-classes"], lambda _: NARROW.x),
    "os": Stored(columns_of_parquet, lambda folder: data.parquet_file(folder, NAMED)),
}


def stored_path(name: str) -> Path:
    """The file of a stored selection."""
    return Path(__file__).parent / "stored" / f"{name}.thr"


def _loaded(name: str, folder: Path) -> dict[str, Any]:
    """What a stored selection holds, and what it predicts."""
    model, rows = th.load(stored_path(name)), STORED[name].rows(folder)
    answers = {"found": model, "margins": model.decision_function(rows)[:8], "predicted": model.predict(rows)[:8]}
    if model.loss.part in ("logistic", "softmax"):
        answers["proba"] = model.predict_proba(rows)[:8]
    return answers


for name in STORED:
    add(f"stored-{name}", partial(_loaded, name))


@case
def exports(folder: Path) -> Any:
    """Texts for other programs."""
    texts = {}
    for ending in ("tsv", "json", "vw"):
        path = folder / f"model.{ending}"
        th.load(stored_path("online")).export(path)
        texts[ending] = path.read_text("utf-8")
    whole = json.loads(texts["json"])
    texts["json"] = {part: whole[part] for part in ("features", "intercept", "loss", "classes", "space")}
    return texts


@case
def to_sklearn(_: Path) -> Any:
    model = th.load(stored_path("online-classes"))
    return model.to_sklearn().predict_proba(model.transform(SPARSE.x[NEW]))


@case
def command_select(folder: Path) -> Any:
    options = (
        "--sketch 1x256 --active exact --passes 2 --no-refit --step adaptive:1 --minibatch 1 --shuffle --memory 4MB"
    )
    return command_found(folder, data.vw_file(folder), "mission", f"{options} --l2 0 --decay 1 --lazy 0 --holdout 0.25")


@case
def command_select_fgm(folder: Path) -> Any:
    options = "--B 2 --C 10 --scale root --tol 0 --inner-tol 1e-4 --max-iter 10 --solver apg --family polynomial:2"
    return command_found(folder, data.libsvm_file(folder), "fgm", f"{options} --no-refit --loss squared_hinge")


@case
def command_select_os(folder: Path) -> Any:
    options = "--scans 2 --rate 0.9 --m 3 --c 0 --check --order random --loss squared --target y --workers 1 --refit"
    return command_found(folder, data.parquet_file(folder, {**NAMED, "y": DENSE.numbers}), "os", options)


@case
def command_select_sparse_rf(folder: Path) -> Any:
    options = "--kernel arc-cosine --gamma 0.5 --lam 2 --draws 20 --max-iter 2 --tol 1e-5 --loss logistic"
    options += " --target bought"
    return command_found(folder, data.csv_file(folder), "sparse-rf", f"{options} --numeric age,size --others ignore")


@case
def command_predict(folder: Path) -> Any:
    printed = command("predict", stored_path("online"), data.vw_file(folder), "--proba")
    return [float(line) for line in printed.splitlines()[:20]]


@case
def command_locate(folder: Path) -> Any:
    return command("locate", stored_path("online-kmers"), *data.fasta_files(folder)).splitlines()[:20]


@case
def command_convert(folder: Path) -> Any:
    """A table with bins as VW text."""
    path = folder / "table.vw"
    command("convert", data.csv_file(folder), path, "--target", "bought", "--bins", "quantile:4")
    return path.read_text("utf-8").splitlines()[:20]
