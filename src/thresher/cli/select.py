"""Find the features that matter, name them, and save them.

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

from thresher.cli.main import INTERRUPTED, fail
from thresher.cli.method_options import with_method_options
from thresher.cli.options import (
    Data,
    Format,
    Interactions,
    Memory,
    Method,
    OnError,
    Output,
    number_or_word,
    one_or_many,
    seconds,
    which_interactions,
)
from thresher.cli.reading_options import with_reading_options


@with_reading_options
@with_method_options
def select(
    data: Data,
    k: Annotated[
        int | None, typer.Option("-k", "--features", help="The number of features to keep; optional for sparse-rf.")
    ] = None,
    method: Method = "mission",
    loss: Annotated[
        str | None,
        typer.Option(
            help="logistic, hinge, squared_hinge (two classes); softmax (several); squared, huber:DELTA (numbers). "
            "Default: logistic for mission, iht, batch-iht and hashing, squared_hinge for the other methods."
        ),
    ] = None,
    memory: Memory = None,
    interactions: Interactions = None,
    per_class: Annotated[bool, typer.Option("--per-class", help="With several classes, k features for each.")] = False,
    multilabel: Annotated[bool, typer.Option("--multilabel", help="Rows have any number of labels.")] = False,
    classes: Annotated[
        str | None,
        typer.Option(help="The labels, for softmax; without it they are read from the data first.", metavar="A,B,C"),
    ] = None,
    fit_intercept: Annotated[bool, typer.Option(help="Learn an intercept.")] = True,
    seed: Annotated[int, typer.Option(help="The seed of all randomness.")] = 0,
    class_weight: Annotated[
        str | None, typer.Option(help="balanced, or LABEL=WEIGHT,LABEL=WEIGHT.", metavar="WEIGHTS")
    ] = None,
    test: Annotated[str | None, typer.Option(help="Labelled data to score on at the end.", metavar="DATA")] = None,
    holdout: Annotated[
        float | None, typer.Option(help="Hold out this fraction of the rows to score on, by a hash of their content.")
    ] = None,
    format: Format = None,
    on_error: OnError = "stop",
    cache: Annotated[
        bool, typer.Option("--cache", help="Parse once and keep the rows for later passes and runs; for pipes too.")
    ] = False,
    cache_dir: Annotated[
        str | None, typer.Option(help="Keep them in this folder, not in the user's cache folder.", metavar="PATH")
    ] = None,
    cache_size: Annotated[
        str, typer.Option(help="The most that folder may take; the least recently used rows are removed first.")
    ] = "20GB",
    checkpoint: Annotated[
        str | None,
        typer.Option(help="Save the state here, resume from it; removed at the end.", metavar="PATH"),
    ] = None,
    every: Annotated[str, typer.Option(help="How often to save the checkpoint: 30s, 5m.")] = "30s",
    restart: Annotated[bool, typer.Option("--restart", help="Discard a checkpoint that is there.")] = False,
    output: Output = None,
    top: Annotated[int, typer.Option(help="Features to show at the end.")] = 20,
    *,
    settings: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    from thresher.api import Interrupted
    from thresher.api import select as select_features
    from thresher.core.container import check_folder
    from thresher.report.progress import show_progress
    from thresher.report.table import print_selection

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
                interactions=which_interactions(interactions),
                per_class=per_class,
                multilabel=multilabel,
                classes=None if classes is None else [number_or_word(label) for label in classes.split(",")],
                fit_intercept=fit_intercept,
                random_state=seed,
                class_weight=_class_weight(class_weight),
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
                **settings,
                **reading,
            )
    except Interrupted as interrupted:
        if interrupted.selection is not None:
            print_selection(interrupted.selection, top=top, run=progress.last)
        saved = f"; {checkpoint} is saved: repeat the command to continue" if checkpoint else ""
        kept = f". {output} was not written" if output else ""
        fail(f"{interrupted}{saved}{kept}", INTERRUPTED)
        return
    if output is not None:
        selection.save(output)
    print_selection(selection, top=top, run=progress.last, saved=output)


def _class_weight(text: str | None) -> dict[object, float] | str | None:
    if text is None or text == "balanced":
        return text
    from thresher.errors import SettingsError

    weights: dict[object, float] = {}
    for pair in text.split(","):
        label, _, weight = pair.rpartition("=")
        try:
            weights[number_or_word(label)] = float(weight)
        except ValueError:
            raise SettingsError(f"not a class weight: {pair!r}; write for example 1=5,-1=1") from None
    return weights
