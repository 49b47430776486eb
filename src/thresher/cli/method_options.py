"""The options for the settings that only some methods have."""

from __future__ import annotations

from typing import Annotated

import typer

from thresher.cli.options import number_or_word, numbers, panel, sketch_shape, with_options

_ONLINE, _BUDGET = "mission and its baselines", "Under a budget: b-arda, b-amd, ofs, sofs, l1-arda, ada-fobos"
_FGM, _OS, _SPARSE_RF = "fgm", "Arriving features: os and its baselines", "sparse-rf"
_SEVERAL = "Several methods"


@panel(_ONLINE)
def _online(
    sketch: Annotated[
        str | None,
        typer.Option(
            help="Shape of the sketch, as 3x262144; default: what fits into memory.",
            metavar="ROWSxWIDTH",
        ),
    ] = None,
    active: Annotated[
        str | None,
        typer.Option(help="mission's table: exact weights (default), or sketch (the form in the paper)."),
    ] = None,
    passes: Annotated[int | None, typer.Option(help="Passes over the data.")] = None,
    step: Annotated[
        str | None,
        typer.Option(
            help="Step along each example's gradient: auto, a number, adaptive:RATE or RATE/sqrt.",
        ),
    ] = None,
    minibatch: Annotated[int | None, typer.Option(help="Rows whose gradients are averaged before a step.")] = None,
    shuffle: Annotated[
        bool | None,
        typer.Option("--shuffle/--no-shuffle", help="Shuffle rows through a bounded buffer (default)."),
    ] = None,
    l2: Annotated[
        float | None,
        typer.Option(help="Decay of all weights: each step first multiplies by 1 - step * l2."),
    ] = None,
    decay: Annotated[
        float | None,
        typer.Option(help="Each step multiplies the weights of features not kept by this."),
    ] = None,
    lazy: Annotated[
        float | None,
        typer.Option(
            help="The share by which a candidate must beat the weakest kept feature; 0 is exact.",
        ),
    ] = None,
) -> None:
    """The names are those of `thresher.online.settings.OnlineSettings`."""


@panel(_BUDGET)
def _budgeted(
    delta: Annotated[float | None, typer.Option(help="Smoothing of the evidence; default 0.01.")] = None,
    tune: Annotated[
        bool,
        typer.Option("--tune", help="Tune eta and lam: several values compete during the pass."),
    ] = False,
    truncation: Annotated[
        str | None,
        typer.Option(
            help="b-arda, b-amd: rank by weight and evidence (adaptive, default) or by weight alone (naive).",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="b-arda, b-amd: keep whole groups, counted by k: source (namespaces, columns), or a file with the "
            "indices of a group on each line.",
            metavar="source|PATH",
        ),
    ] = None,
    keep_names: Annotated[
        bool | None,
        typer.Option(
            "--keep-names/--no-keep-names",
            help="b-arda, l1-arda, ada-fobos, groups: keep the names of all features seen (default), or find the names "
            "of selected features in another pass.",
        ),
    ] = None,
    refit_intercept: Annotated[
        bool | None,
        typer.Option(
            "--refit-intercept/--no-refit-intercept",
            help="Two classes: refit the intercept in one more pass (default: with several passes).",
        ),
    ] = None,
) -> None:
    """The names are those of `thresher.online.settings.OnlineSettings`."""


@panel(_SEVERAL)
def _several(
    eta: Annotated[
        float | None,
        typer.Option(
            help="Step size of a budgeted method or of os; default: from the scale of the data.",
        ),
    ] = None,
    lam: Annotated[
        str | None,
        typer.Option(
            help="Penalty of a budgeted method, of grafting, or of sparse-rf (default 1; several, as 100,10,1, with "
            "--validation).",
        ),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(
            help="fgm: stop when an iteration gains no more than this share; sparse-rf: the duality gap to solve to.",
        ),
    ] = None,
    refit: Annotated[
        bool | None,
        typer.Option(
            "--refit/--no-refit",
            help="Refit the selected features (default: off for fgm, on for os).",
        ),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(
            help="Labelled data; fgm keeps the iteration and sparse-rf the lam with the best score on it.",
            metavar="DATA",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Threads of fgm, sparse-rf, os; default -1: all cores. The answer is the same.",
        ),
    ] = None,
    max_iter: Annotated[
        int | None,
        typer.Option(
            help="The most iterations: of fgm (default: no limit), of sparse-rf for each lam (default 20).",
        ),
    ] = None,
) -> None:
    """Settings of several methods, under one name."""


@panel(_FGM)
def _fgm(
    B: Annotated[
        int | None,
        typer.Option("--B", help="Features an iteration proposes; default: a tenth of k."),
    ] = None,
    C: Annotated[float | None, typer.Option("--C", help="Weight of the loss; default 10.")] = None,
    family: Annotated[
        str | None,
        typer.Option(
            help="linear, groups:FILE or tree:FILE (a line of columns a group), polynomial:2, hik:100, additive:chi2, "
            "spectrum:prefix; their union with +, their products with *, as in "
            "'linear:columns=0-9 * linear:columns=age|bmi'.",
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            help="norm (default) scales columns to the same norm, none keeps them, root is half way.",
        ),
    ] = None,
    inner_tol: Annotated[float | None, typer.Option(help="Tolerance of each subproblem.")] = None,
    refit_C: Annotated[float | None, typer.Option("--refit-C", help="Refit with this weight of the loss.")] = None,
    solver: Annotated[str | None, typer.Option(help="apg (default), or mkl: in the dual, for few rows.")] = None,
) -> None:
    """The names are those of `thresher.fgm.settings.FGMSettings`."""


@panel(_OS)
def _substitution(
    scans: Annotated[int | None, typer.Option(help="Passes over the features; default 3.")] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="Step size as a share of the longest safe step; default 0.95."),
    ] = None,
    m: Annotated[float | None, typer.Option("--m", help="Kept features move by eta / m.")] = None,
    c: Annotated[
        float | None,
        typer.Option("--c", help="How much the objective must fall for a new feature: 0 to 1."),
    ] = None,
    check: Annotated[
        bool | None,
        typer.Option("--check/--no-check", help="Reject a new feature if the objective would rise."),
    ] = None,
    order: Annotated[str | None, typer.Option(help="Order of the features: given (default) or random.")] = None,
    workers: Annotated[int | None, typer.Option(help="Threads that share the features (Asy-OS).")] = None,
    staleness: Annotated[
        int | None,
        typer.Option(help="Simulate workers that see the state this number of updates late."),
    ] = None,
    labels_file: Annotated[
        str | None,
        typer.Option(help="The labels of a file or folder of columns, one on each line.", metavar="PATH"),
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
        typer.Option(help="Width of the kernel: a number (default 1), or scale."),
    ] = None,
    draws: Annotated[int | None, typer.Option(help="Random features an iteration proposes; default 100.")] = None,
    q: Annotated[int | None, typer.Option(help="Inputs of each random feature; default: all.")] = None,
) -> None:
    """The names are those of `thresher.sparse_rf.settings.SparseRFSettings`."""


#: Give a command the settings of all methods; it gets those that were used in ``settings``.
with_method_options = with_options(
    "settings",
    _several,
    _online,
    _budgeted,
    _fgm,
    _substitution,
    _sparse_rf,
    convert={
        "sketch": sketch_shape,
        "step": number_or_word,
        "gamma": number_or_word,
        "lam": numbers,
        "scale": lambda text: None if text == "none" else text,
    },
    rename={"refit_C": "refit", "jobs": "n_jobs"},
)
