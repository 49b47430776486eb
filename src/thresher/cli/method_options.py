"""The options for settings that not every method has."""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.main import panel, with_options
from thresher.cli.options import number_or_word, numbers, sketch_shape, whole_or_word

_ONLINE, _MISSION = "Online methods", "mission and its baselines"
_BUDGET = "Budgeted methods: b-arda, b-amd, ofs, sofs, l1-arda, ada-fobos"
_FGM, _OS, _SPARSE_RF = "fgm", "os and its baselines", "sparse-rf"
_SEVERAL, _INTERCEPT = "Several methods", "Intercept"


@panel(_ONLINE)
def _online(
    sketch: Annotated[
        str | None,
        typer.Option(
            help="Shape of the sketch, as 3x262144; default: what fits into memory. For b-arda: 1xWIDTH.",
            metavar="ROWSxWIDTH",
        ),
    ] = None,
    passes: Annotated[
        str | None,
        typer.Option(help="Passes over the data: auto (default; as many as help on held-out rows), or a number."),
    ] = None,
    minibatch: Annotated[
        int | None, typer.Option(help="Rows whose gradients are averaged before a step; default 1.")
    ] = None,
    shuffle: Annotated[
        bool | None,
        typer.Option("--shuffle/--no-shuffle", help="Shuffle the rows (default), or keep the order of the data."),
    ] = None,
    sync: Annotated[
        int | None,
        typer.Option(help="Rows that each worker learns before the models are averaged.", metavar="ROWS"),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help="Where workers run: ray, or the address of a Ray cluster; default: threads."),
    ] = None,
) -> None:
    """The names are those of `thresher.online.settings.OnlineSettings`."""


@panel(_MISSION)
def _mission(
    active: Annotated[
        str | None,
        typer.Option(help="Weights in the table: exact (default), or sketch (estimates, as in the paper)."),
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(help="Step size: auto (default), a number, adaptive:RATE or RATE/sqrt."),
    ] = None,
    l2: Annotated[
        float | None,
        typer.Option(help="Each step multiplies all weights by 1 - step * l2; default 0."),
    ] = None,
    decay: Annotated[
        float | None,
        typer.Option(help="Each step multiplies the weights of features not kept by this; default 1."),
    ] = None,
    lazy: Annotated[
        float | None,
        typer.Option(help="Share by which a candidate must exceed the weakest kept feature; default 0."),
    ] = None,
) -> None:
    """The names are those of `thresher.online.settings.OnlineSettings`."""


@panel(_BUDGET)
def _budgeted(
    delta: Annotated[
        float | None, typer.Option(help="Added to the square root of each sum of squared gradients; default 0.01.")
    ] = None,
    tune: Annotated[
        bool,
        typer.Option("--tune", help="Tune eta and lam by successive halving during the pass."),
    ] = False,
    truncation: Annotated[
        str | None,
        typer.Option(
            help="b-arda, b-amd: rank by weight and evidence (adaptive, default), or by weight alone (naive).",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="b-arda, b-amd: select k whole groups: source (namespaces or columns), or a file with the indices of "
            "a group on each line.",
            metavar="source|PATH",
        ),
    ] = None,
    keep_names: Annotated[
        bool | None,
        typer.Option(
            "--keep-names/--no-keep-names",
            help="Keep the names of all features seen (default), or read missing names from the data at the end.",
        ),
    ] = None,
) -> None:
    """The names are those of `thresher.online.settings.OnlineSettings`."""


@panel(_INTERCEPT)
def _intercept(
    fit_intercept: Annotated[
        bool,
        typer.Option("--fit-intercept/--no-fit-intercept", help="Learn an intercept (default).", show_default=False),
    ] = True,
    refit_intercept: Annotated[
        bool | None,
        typer.Option(
            "--refit-intercept/--no-refit-intercept",
            help="Budgeted methods, two classes: refit it in one more pass (default: with several passes and "
            "--no-refit).",
        ),
    ] = None,
) -> None:
    """These options are wide: their own panel leaves the others more room for help."""


@panel(_SEVERAL)
def _several(
    k_max: Annotated[
        int | None,
        typer.Option(
            help="The most features that -k auto may choose; default: 10,000 (fgm: 1000), or fewer in little memory.",
            metavar="K",
        ),
    ] = None,
    eta: Annotated[
        float | None,
        typer.Option(
            help="Step size of budgeted methods and os; default: from the scale of the data.",
        ),
    ] = None,
    lam: Annotated[
        str | None,
        typer.Option(
            help="Penalty of budgeted methods, grafting, naive-l1 and sparse-rf (default auto: held-out rows choose; "
            "several, as 100,10,1, with --validation).",
        ),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(
            help="fgm: stop when an iteration lowers the objective by no more than this share; sparse-rf: the relative "
            "duality gap of each subproblem.",
        ),
    ] = None,
    refit: Annotated[
        bool | None,
        typer.Option(
            "--refit/--no-refit",
            help="Refit the selected features (default: on for os; others: unless worse on held-out rows).",
        ),
    ] = None,
    standardize: Annotated[
        bool | None,
        typer.Option(
            "--standardize/--no-standardize",
            help="Online methods: learn numeric columns of tables in units of their own (default: wherever there are "
            "any; sparse features if their scales differ by orders of magnitude).",
        ),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(
            help="Labelled data; fgm keeps the iteration, sparse-rf the lam with the best score on it.",
            metavar="DATA",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Threads of fgm, sparse-rf, os; default -1: all cores. The result is the same.",
        ),
    ] = None,
    max_iter: Annotated[
        int | None,
        typer.Option(
            help="The most iterations of fgm (default: no limit), or of sparse-rf for each lam (default 20; 1 with "
            "lam auto).",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Workers that share the rows (mission, iht, hashing, b-arda, sparse-rf), the columns (fgm) or the "
            "features (os)."
        ),
    ] = None,
) -> None:
    """Settings of several methods, under one name."""


@panel(_FGM)
def _fgm(
    B: Annotated[
        int | None,
        typer.Option("--B", help="Features that an iteration proposes; default: a tenth of k."),
    ] = None,
    C: Annotated[
        str | None, typer.Option("--C", help="Weight of the loss: a number, or auto (default): held-out rows choose.")
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            help="The features to select from: linear (default), groups:FILE or tree:FILE (a group of columns on each "
            "line), polynomial:2, hik:100, additive:chi2, spectrum:prefix; unions with +, products with *, as in "
            "'linear:columns=0-9 * linear:columns=age|bmi'.",
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            help="Scaling of columns: norm (to the same norm), none, root (in between), or auto (default): norm, "
            "unless root is better on held-out rows; sparse-rf: std, none, or auto (default, with gamma auto).",
        ),
    ] = None,
    inner_tol: Annotated[float | None, typer.Option(help="Tolerance of each subproblem; default 0.001.")] = None,
    refit_C: Annotated[
        str | None, typer.Option("--refit-C", help="Refit with this C, or as l2:0.001 with this penalty.")
    ] = None,
    repeat: Annotated[
        bool | None,
        typer.Option(
            "--repeat/--no-repeat",
            help="Propose features again, as the paper does (default: only if C, scale and refit are set).",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="C, scale and refit by name: paper (10, none, none) or fixed (10, norm, none)."),
    ] = None,
    solver: Annotated[
        str | None, typer.Option(help="apg (default), or mkl (in the dual, for a few hundred rows).")
    ] = None,
) -> None:
    """The names are those of `thresher.fgm.settings.FGMSettings`."""


@panel(_OS)
def _substitution(
    scans: Annotated[int | None, typer.Option(help="Passes over the features; default 3.")] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="Step size as a share of the longest safe step; default 0.95."),
    ] = None,
    m: Annotated[float | None, typer.Option("--m", help="Kept features move by eta / m; default: from k.")] = None,
    c: Annotated[
        float | None,
        typer.Option("--c", help="Decrease of the objective required to accept a new feature: 0 (default) to 1."),
    ] = None,
    check: Annotated[
        bool | None,
        typer.Option("--check/--no-check", help="Reject a new feature if the objective would rise."),
    ] = None,
    arrivals: Annotated[
        int | None,
        typer.Option(help="New features that share a step of the kept ones; 1 is the paper's. Default: from k."),
    ] = None,
    shrink: Annotated[
        float | None,
        typer.Option(
            help="Shrink the scale of columns with not many more values than this; default: by held-out rows."
        ),
    ] = None,
    ridge: Annotated[
        float | None,
        typer.Option(help="l2 penalty while features are selected; default: by held-out rows."),
    ] = None,
    order: Annotated[str | None, typer.Option(help="Order of the features: given (default) or random.")] = None,
    exchange: Annotated[
        int | None,
        typer.Option(help="New features that a worker processes between exchanges; default 1 on threads, 8 on Ray."),
    ] = None,
    staleness: Annotated[
        int | None,
        typer.Option(help="Simulate workers that do not see this number of the others' last updates."),
    ] = None,
    labels_file: Annotated[
        str | None,
        typer.Option(help="A file with the labels, one per line, for a file or folder of columns.", metavar="PATH"),
    ] = None,
) -> None:
    """The names are those of `thresher.substitution.settings.SubstitutionSettings`."""


@panel(_SPARSE_RF)
def _sparse_rf(
    kernel: Annotated[
        str | None,
        typer.Option(
            help="gaussian (default), laplacian, perceptron, matern:1.5, arc-cosine, maclaurin, polynomial:2, binning.",
        ),
    ] = None,
    gamma: Annotated[
        str | None,
        typer.Option(help="Width of the kernel: a number, scale, or auto (default: held-out rows choose it)."),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(help="Random features that an iteration proposes; default 100, or 200 with lam auto."),
    ] = None,
    q: Annotated[int | None, typer.Option(help="Inputs of each random feature; default: all.")] = None,
) -> None:
    """The names are those of `thresher.sparse_rf.settings.SparseRFSettings`."""


#: Add the settings of all methods to a command, which receives those that were set as ``settings``.
with_method_options = with_options(
    "settings",
    _intercept,
    _several,
    _online,
    _mission,
    _budgeted,
    _fgm,
    _substitution,
    _sparse_rf,
    convert={
        "sketch": sketch_shape,
        "step": number_or_word,
        "passes": whole_or_word,
        "gamma": number_or_word,
        "lam": numbers,
        "C": number_or_word,
        "refit_C": number_or_word,
        "scale": lambda text: None if text == "none" else text,
    },
    rename={"refit_C": "refit", "jobs": "n_jobs"},
)
