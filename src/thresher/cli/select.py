"""Find the features that matter, name them, and keep the answer.

Examples:

`thresher select clicks.vw.gz -k 1000 --memory 64MB --holdout 0.1 -o clicks.thr`

`thresher select table.csv --target y -k 20`

`thresher select clicks.tsv.zst --schema criteo -k 5000`

`thresher select reviews.jsonl --text body --target stars --loss softmax -k 200`

`thresher select columns.parquet --target y --method os -k 100`

`thresher select table.csv --target y --method sparse-rf --kernel laplacian --gamma scale --lam 10`

`thresher select genomes/*.fa.gz --kmer 12 --fragments 200 -k 1000`
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.common import (
    INTERRUPTED,
    Active,
    Data,
    Format,
    Interactions,
    Memory,
    Method,
    OnError,
    Output,
    Sketch,
    fail,
    one_or_many,
    seconds,
    sketch_shape,
    which_interactions,
)
from thresher.cli.sequences import with_sequences


@with_sequences
def select(
    data: Data,
    k: Annotated[
        int | None, typer.Option("-k", "--features", help="How many features to keep; sparse-rf does without.")
    ] = None,
    method: Method = "mission",
    loss: Annotated[
        str | None,
        typer.Option(
            help="logistic, hinge, squared_hinge (two classes); softmax (several); squared, huber:DELTA. Unasked "
            "logistic, and squared_hinge for fgm."
        ),
    ] = None,
    memory: Memory = None,
    sketch: Sketch = None,
    active: Active = "exact",
    interactions: Interactions = None,
    passes: Annotated[int, typer.Option(help="How often to go through the data.")] = 1,
    step: Annotated[
        str, typer.Option(help="Step along each example's gradient: auto, a number, adaptive:RATE or RATE/sqrt.")
    ] = "auto",
    minibatch: Annotated[int, typer.Option(help="Rows whose gradients are averaged before a step.")] = 1,
    l2: Annotated[float, typer.Option(help="Decay of all weights: each step first multiplies by 1 - step * l2.")] = 0.0,
    decay: Annotated[float, typer.Option(help="Each step multiplies the weights not kept by this.")] = 1.0,
    lazy: Annotated[float, typer.Option(help="Reorder the table only for changes of this share; 0 is exact.")] = 0.0,
    eta: Annotated[
        float | None, typer.Option(help="Step of a budgeted method; by the scale of the data if not given.")
    ] = None,
    lam: Annotated[
        str | None,
        typer.Option(
            help="Regulariser of a budgeted method; of sparse-rf what a weight pays (1 unless given), several as "
            "100,10,1 with --validation."
        ),
    ] = None,
    delta: Annotated[float, typer.Option(help="Smoothing of a budgeted method's evidence.")] = 1e-2,
    tune: Annotated[bool, typer.Option("--tune", help="Try several eta and lam of a budgeted method at once.")] = False,
    truncation: Annotated[
        str, typer.Option(help="b-arda and b-amd: rank by weight and evidence (adaptive) or by weight (naive).")
    ] = "adaptive",
    per_class: Annotated[bool, typer.Option("--per-class", help="With several classes, k features for each.")] = False,
    multilabel: Annotated[bool, typer.Option("--multilabel", help="Rows have any number of labels.")] = False,
    classes: Annotated[
        str | None,
        typer.Option(
            help="The labels, where there may be more than two, instead of reading them first.", metavar="A,B,C"
        ),
    ] = None,
    shuffle: Annotated[bool, typer.Option(help="Mix the rows through a buffer.")] = True,
    intercept: Annotated[bool, typer.Option(help="Learn a constant too.")] = True,
    seed: Annotated[int, typer.Option(help="Where all randomness comes from.")] = 0,
    class_weight: Annotated[
        str | None, typer.Option(help="balanced, or LABEL=WEIGHT,LABEL=WEIGHT.", metavar="WEIGHTS")
    ] = None,
    B: Annotated[
        int | None, typer.Option("--B", help="fgm: features proposed at a time; a tenth of k unless given.")
    ] = None,
    C: Annotated[float, typer.Option("--C", help="fgm: weight of the loss.")] = 10.0,
    family: Annotated[
        str, typer.Option(help="fgm: linear, polynomial:2, hik:100, additive:chi2, spectrum:prefix, or several with +.")
    ] = "linear",
    scale: Annotated[
        str, typer.Option(help="fgm: norm scales columns alike, none leaves them, root is half way.")
    ] = "norm",
    tol: Annotated[
        float,
        typer.Option(help="fgm: end once an iteration gains no more than this share; sparse-rf: solve to this gap."),
    ] = 0.0,
    inner_tol: Annotated[float, typer.Option(help="fgm: how exactly each small problem is solved.")] = 1e-3,
    iterations: Annotated[int | None, typer.Option(help="fgm: at most so many.")] = None,
    refit: Annotated[
        bool | None, typer.Option(help="Fit what was selected once more: fgm if asked, os unless told not to.")
    ] = None,
    scans: Annotated[int | None, typer.Option(help="os: how often to go through the features; 3 unless given.")] = None,
    rate: Annotated[
        float | None, typer.Option(help="os: the share of the longest safe step; 0.95 unless given.")
    ] = None,
    m: Annotated[float | None, typer.Option("--m", help="os: kept features move by the m-th part of a step.")] = None,
    c: Annotated[float | None, typer.Option("--c", help="os: how much the loss must fall for a newcomer.")] = None,
    check: Annotated[
        bool | None, typer.Option("--check/--no-check", help="os: refuse newcomers for which the loss would rise.")
    ] = None,
    order: Annotated[str | None, typer.Option(help="os: features come as given, or in random order.")] = None,
    workers: Annotated[int | None, typer.Option(help="os: threads that share the features (Asy-OS).")] = None,
    staleness: Annotated[
        int | None, typer.Option(help="os: simulate workers that see the others' state so many updates late.")
    ] = None,
    labels_file: Annotated[
        str | None, typer.Option(help="os: the labels of a file or folder of columns, one a line.", metavar="PATH")
    ] = None,
    kernel: Annotated[
        str,
        typer.Option(
            help="sparse-rf: gaussian, laplacian, perceptron, matern:1.5, arc-cosine, maclaurin, polynomial:2, binning."
        ),
    ] = "gaussian",
    gamma: Annotated[str, typer.Option(help="sparse-rf: width of the kernel; a number, or scale.")] = "1.0",
    draws: Annotated[int, typer.Option(help="sparse-rf: functions drawn at a time.")] = 100,
    rounds: Annotated[int, typer.Option(help="sparse-rf: how often they are drawn.")] = 20,
    q: Annotated[int | None, typer.Option(help="sparse-rf: inputs that a function looks at; all unless given.")] = None,
    validation: Annotated[
        str | None,
        typer.Option(
            help="Labelled data; the iteration of fgm, or lam of sparse-rf, that scores best on it is kept.",
            metavar="DATA",
        ),
    ] = None,
    threads: Annotated[int, typer.Option(help="fgm, sparse-rf: threads; 0 is all cores. The answer is the same.")] = 0,
    test: Annotated[str | None, typer.Option(help="Labelled data to score on at the end.", metavar="DATA")] = None,
    holdout: Annotated[
        float | None, typer.Option(help="Instead: hold out this fraction of the rows, by a hash of their content.")
    ] = None,
    format: Format = None,
    on_error: OnError = "stop",
    cache: Annotated[
        bool, typer.Option("--cache", help="Parse once and keep the rows: for later passes and runs, and for pipes.")
    ] = False,
    cache_dir: Annotated[
        str | None, typer.Option(help="Keep them in this folder, not in the user's cache folder.", metavar="PATH")
    ] = None,
    cache_size: Annotated[
        str, typer.Option(help="What that folder may take; what was not used for longest goes first.")
    ] = "20GB",
    checkpoint: Annotated[
        str | None, typer.Option(help="Save here now and then, resume from here, removed at the end.", metavar="PATH")
    ] = None,
    every: Annotated[str, typer.Option(help="How often to save the checkpoint: 30s, 5m.")] = "30s",
    restart: Annotated[bool, typer.Option("--restart", help="Discard a checkpoint that is there.")] = False,
    output: Output = None,
    top: Annotated[int, typer.Option(help="Features to show at the end.")] = 20,
    *,
    sequences: dict[str, Any],
) -> None:
    from thresher.container import check_folder
    from thresher.report.progress import show_progress
    from thresher.report.table import print_selection
    from thresher.selecting import Interrupted
    from thresher.selecting import select as select_features

    if output is not None:
        check_folder(output)
    try:
        with show_progress() as progress:
            selection = select_features(
                one_or_many(data),
                k=k,
                method=method,
                loss=loss,
                memory=memory,
                sketch=sketch_shape(sketch),
                active=active,
                interactions=which_interactions(interactions),
                passes=passes,
                step=_number_or_word(step),
                minibatch=minibatch,
                l2=l2,
                decay=decay,
                lazy=lazy,
                eta=eta,
                lam=_numbers(lam),
                delta=delta,
                truncation=truncation,
                tune=tune,
                per_class=per_class,
                multilabel=multilabel,
                classes=None if classes is None else [_number_or_word(label) for label in classes.split(",")],
                shuffle=shuffle,
                intercept=intercept,
                random_state=seed,
                class_weight=_class_weight(class_weight),
                B=B,
                C=C,
                family=family,
                scale=None if scale == "none" else scale,
                tol=tol,
                inner_tol=inner_tol,
                iterations=iterations,
                refit=refit,
                scans=scans,
                rate=rate,
                m=m,
                c=c,
                check=check,
                order=order,
                workers=workers,
                staleness=staleness,
                labels_file=labels_file,
                kernel=kernel,
                gamma=_number_or_word(gamma),
                draws=draws,
                rounds=rounds,
                q=q,
                validation=validation,
                threads=threads,
                test=test,
                holdout=holdout,
                format=format,
                on_error=on_error,
                cache=cache_dir or cache,
                cache_size=cache_size,
                checkpoint=checkpoint,
                every=seconds(every),
                restart=restart,
                progress=progress,
                **sequences,
            )
    except Interrupted as interrupted:
        if interrupted.selection is not None:
            print_selection(interrupted.selection, top=top, run=progress.last)
        saved = f"; {checkpoint} is saved: the same command goes on from there" if checkpoint else ""
        kept = f". {output} was not written" if output else ""
        fail(f"{interrupted}{saved}{kept}", INTERRUPTED)
        return
    if output is not None:
        selection.save(output)
    print_selection(selection, top=top, run=progress.last, saved=output)


def _number_or_word(step: str) -> str | float:
    try:
        return float(step)
    except ValueError:
        return step


def _numbers(text: str | None) -> float | list[float] | None:
    """``10`` to a number, ``100,10,1`` to several."""
    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        from thresher.errors import SettingsError

        raise SettingsError(f"lam is a number, or several as 100,10,1, not {text!r}") from None
    return numbers[0] if len(numbers) == 1 else numbers


def _class_weight(text: str | None) -> dict[object, float] | str | None:
    if text is None or text == "balanced":
        return text
    from thresher.errors import SettingsError

    weights: dict[object, float] = {}
    for pair in text.split(","):
        label, _, weight = pair.rpartition("=")
        try:
            weights[_number_or_word(label)] = float(weight)
        except ValueError:
            raise SettingsError(f"not a class weight: {pair!r}; write for example 1=5,-1=1") from None
    return weights
