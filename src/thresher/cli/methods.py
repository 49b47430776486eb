"""The settings that only some methods have."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.common import number_or_word, sketch_shape
from thresher.cli.options import with_options

_ONLINE, _BUDGET = "mission and its rivals", "Under a budget: b-arda, b-amd, ofs, sofs, l1-arda, ada-fobos"
_FGM, _OS, _DRAWN = "fgm", "As columns arrive: os and its rivals", "sparse-rf"
_SEVERAL = "Several methods"


def _online(
    sketch: Annotated[
        str | None,
        typer.Option(
            help="Shape of mission's sketch, as 3x262144, instead of planning it.",
            metavar="ROWSxWIDTH",
            rich_help_panel=_ONLINE,
        ),
    ] = None,
    active: Annotated[
        str | None,
        typer.Option(
            help="mission's table: exact weights (unasked), or sketch (the paper's own form).", rich_help_panel=_ONLINE
        ),
    ] = None,
    passes: Annotated[
        int | None, typer.Option(help="How often to go through the data.", rich_help_panel=_ONLINE)
    ] = None,
    step: Annotated[
        str | None,
        typer.Option(
            help="Step along each example's gradient: auto, a number, adaptive:RATE or RATE/sqrt.",
            rich_help_panel=_ONLINE,
        ),
    ] = None,
    minibatch: Annotated[
        int | None, typer.Option(help="Rows whose gradients are averaged before a step.", rich_help_panel=_ONLINE)
    ] = None,
    shuffle: Annotated[
        bool | None,
        typer.Option("--shuffle/--no-shuffle", help="Mix the rows through a buffer; unasked.", rich_help_panel=_ONLINE),
    ] = None,
    l2: Annotated[
        float | None,
        typer.Option(
            help="Decay of all weights: each step first multiplies by 1 - step * l2.", rich_help_panel=_ONLINE
        ),
    ] = None,
    decay: Annotated[
        float | None,
        typer.Option(help="Each step multiplies the weights not kept by this.", rich_help_panel=_ONLINE),
    ] = None,
    lazy: Annotated[
        float | None,
        typer.Option(help="By what share a newcomer must beat the weakest kept; 0 is exact.", rich_help_panel=_ONLINE),
    ] = None,
) -> None:
    """Their names are those of `thresher.online.settings.OnlineSettings`."""


def _budgeted(
    delta: Annotated[
        float | None, typer.Option(help="Smoothing of the evidence; 0.01 unless given.", rich_help_panel=_BUDGET)
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Try several eta and lam at once.", rich_help_panel=_BUDGET)
    ] = False,
    truncation: Annotated[
        str | None,
        typer.Option(
            help="b-arda and b-amd: rank by weight and evidence (adaptive, unasked) or by weight (naive).",
            rich_help_panel=_BUDGET,
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="b-arda, b-amd: keep whole groups, which k then counts: source (namespaces, columns), or a file with "
            "the indices of a group on each line.",
            metavar="source|PATH",
            rich_help_panel=_BUDGET,
        ),
    ] = None,
    keep_names: Annotated[
        bool | None,
        typer.Option(
            "--keep-names/--no-keep-names",
            help="b-arda, l1-arda, ada-fobos, groups: keep the names of all features seen (unasked they are), or look "
            "for those selected by another reading.",
            rich_help_panel=_BUDGET,
        ),
    ] = None,
    refit_intercept: Annotated[
        bool | None,
        typer.Option(
            "--refit-intercept/--no-refit-intercept",
            help="Two classes: read the data once more at the end, for the intercept; unasked with several passes.",
            rich_help_panel=_BUDGET,
        ),
    ] = None,
) -> None:
    """Their names are those of `thresher.online.settings.OnlineSettings`."""


def _several(
    eta: Annotated[
        float | None,
        typer.Option(
            help="Step of a budgeted method or of os; by the scale of the data if not given.", rich_help_panel=_SEVERAL
        ),
    ] = None,
    lam: Annotated[
        str | None,
        typer.Option(
            help="Regulariser of a budgeted method or of grafting; of sparse-rf what a weight pays (1 unless given), "
            "several as 100,10,1 with --validation.",
            rich_help_panel=_SEVERAL,
        ),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(
            help="fgm: end once an iteration gains no more than this share; sparse-rf: solve to this gap.",
            rich_help_panel=_SEVERAL,
        ),
    ] = None,
    refit: Annotated[
        bool | None,
        typer.Option(
            "--refit/--no-refit",
            help="Fit what was selected once more: fgm if asked, os unless told not to.",
            rich_help_panel=_SEVERAL,
        ),
    ] = None,
    validation: Annotated[
        str | None,
        typer.Option(
            help="Labelled data; the iteration of fgm, or lam of sparse-rf, that scores best on it is kept.",
            metavar="DATA",
            rich_help_panel=_SEVERAL,
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            help="fgm, sparse-rf, os: all cores unless given. The answer is the same.", rich_help_panel=_SEVERAL
        ),
    ] = None,
) -> None:
    """Named alike wherever they occur."""


def _fgm(
    B: Annotated[
        int | None,
        typer.Option("--B", help="Features proposed at a time; a tenth of k unless given.", rich_help_panel=_FGM),
    ] = None,
    C: Annotated[
        float | None, typer.Option("--C", help="Weight of the loss; 10 unless given.", rich_help_panel=_FGM)
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            help="linear, groups:FILE or tree:FILE (a line of columns a group), polynomial:2, hik:100, additive:chi2, "
            "spectrum:prefix; several beside each other with +, or times each other with *, as in "
            "'linear:columns=0-9 * linear:columns=age|bmi'.",
            rich_help_panel=_FGM,
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            help="norm (unasked) scales columns alike, none leaves them, root is half way.", rich_help_panel=_FGM
        ),
    ] = None,
    inner_tol: Annotated[
        float | None, typer.Option(help="How exactly each small problem is solved.", rich_help_panel=_FGM)
    ] = None,
    iterations: Annotated[int | None, typer.Option(help="At most so many.", rich_help_panel=_FGM)] = None,
    refit_C: Annotated[
        float | None, typer.Option("--refit-C", help="Refit, with this weight of the loss.", rich_help_panel=_FGM)
    ] = None,
    solver: Annotated[
        str | None, typer.Option(help="apg (unasked), or mkl: in the dual, for few rows.", rich_help_panel=_FGM)
    ] = None,
) -> None:
    """Their names are those of `thresher.fgm.settings.FGMSettings`."""


def _streaming(
    scans: Annotated[
        int | None, typer.Option(help="How often to go through the features; 3 unless given.", rich_help_panel=_OS)
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="The step as a share of the longest safe one.", rich_help_panel=_OS)
    ] = None,
    m: Annotated[
        float | None, typer.Option("--m", help="Kept features move by a step divided by this.", rich_help_panel=_OS)
    ] = None,
    c: Annotated[
        float | None,
        typer.Option("--c", help="How much the objective must fall for a newcomer: 0 to 1.", rich_help_panel=_OS),
    ] = None,
    check: Annotated[
        bool | None,
        typer.Option(
            "--check/--no-check", help="Refuse newcomers for which the objective would rise.", rich_help_panel=_OS
        ),
    ] = None,
    order: Annotated[
        str | None, typer.Option(help="Features come as given (unasked), or random.", rich_help_panel=_OS)
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Threads that share the features (Asy-OS).", rich_help_panel=_OS)
    ] = None,
    staleness: Annotated[
        int | None,
        typer.Option(help="Simulate workers that see the others' state so many updates late.", rich_help_panel=_OS),
    ] = None,
    labels_file: Annotated[
        str | None,
        typer.Option(
            help="The labels of a file or folder of columns, one a line.", metavar="PATH", rich_help_panel=_OS
        ),
    ] = None,
) -> None:
    """Their names are those of `thresher.substitution.settings.SubstitutionSettings`."""


def _drawn(
    kernel: Annotated[
        str | None,
        typer.Option(
            help="gaussian (unasked), laplacian, perceptron, matern:1.5, arc-cosine, maclaurin, polynomial:2, binning.",
            rich_help_panel=_DRAWN,
        ),
    ] = None,
    gamma: Annotated[
        str | None,
        typer.Option(help="Width of the kernel; a number (1 unless given), or scale.", rich_help_panel=_DRAWN),
    ] = None,
    draws: Annotated[
        int | None, typer.Option(help="Functions drawn at a time; 100 unless given.", rich_help_panel=_DRAWN)
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="How often they are drawn; 20 unless given.", rich_help_panel=_DRAWN)
    ] = None,
    q: Annotated[
        int | None, typer.Option(help="Inputs that a function looks at; all unless given.", rich_help_panel=_DRAWN)
    ] = None,
) -> None:
    """Their names are those of `thresher.sparse_rf.settings.SparseRFSettings`."""


def _as_settings(used: dict[str, Any]) -> dict[str, Any]:
    """The options that were used, as `thresher.select` takes them."""
    out = dict(used)
    if "sketch" in out:
        out["sketch"] = sketch_shape(out["sketch"])
    for name in ("step", "gamma"):
        if name in out:
            out[name] = number_or_word(out[name])
    if "lam" in out:
        out["lam"] = _numbers(out["lam"])
    if "refit_C" in out:
        out["refit"] = out.pop("refit_C")
    if "scale" in out:
        out["scale"] = None if out["scale"] == "none" else out["scale"]
    return out


def _numbers(text: str) -> float | list[float]:
    """``10`` to a number, ``100,10,1`` to several."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        from thresher.errors import SettingsError

        raise SettingsError(f"lam is a number, or several as 100,10,1, not {text!r}") from None
    return numbers[0] if len(numbers) == 1 else numbers


#: Give a command the settings of all methods; it gets those that were used in ``settings``.
with_settings = with_options("settings", _as_settings, _several, _online, _budgeted, _fgm, _streaming, _drawn)
