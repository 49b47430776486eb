"""Select the features that matter, name them, and save them.

Methods:

- `mission`: any number of features in fixed memory (default); baselines: `iht`, `batch-iht`, `hashing`
- `b-arda`, `b-amd`, `ofs`, `sofs`, `l1-arda`, `ada-fobos`: online, with at most k weights at any time
- `fgm`: exact, for columns, groups, polynomials and kernels that fit into memory or are read repeatedly
- `sparse-rf`: random features of a kernel, instead of a kernel machine
- `os`: features that arrive one by one; baselines: `grafting`, `grafting-light`, `naive-l0`, `naive-l1`, \
`alpha-investing`
- `auto`: mission, b-arda, os and fgm learn a sample; the best on held-out rows of it learns all rows

Examples:

`thresher select clicks.vw.gz -k 1000 --memory 64MB --holdout 0.1 -o clicks.thr`

`thresher select table.csv --target y -k 20`

`thresher select clicks.tsv.zst --schema criteo -k 5000`

`thresher select reviews.jsonl --text body --target stars -k 200`

`thresher select columns.parquet --target y --method os -k 100`

`thresher select table.csv --target y --method sparse-rf --kernel laplacian --gamma scale --lam 10`

`thresher select genomes/*.fa.gz --kmer 12 --fragments 200 -k 1000`
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.main import INTERRUPTED, fail, one_or_many
from thresher.cli.method_options import with_method_options
from thresher.cli.options import (
    CHECKPOINTS,
    FILES,
    MODEL,
    SCORES,
    Collapse,
    Data,
    Decoys,
    Drop,
    ExpectedFalse,
    Fdr,
    Features,
    Format,
    Interactions,
    Keep,
    Keys,
    Memory,
    Method,
    OnError,
    Output,
    Pairs,
    Permutations,
    Splits,
    StandIns,
    number_or_word,
    seconds,
    which_interactions,
    whole_or_word,
)
from thresher.cli.reading_options import with_reading_options
from thresher.methods import default_losses


@with_reading_options
@with_method_options
def select(
    data: Data,
    k: Features = None,
    method: Method = "mission",
    loss: Annotated[
        str | None,
        typer.Option(
            help="logistic, hinge, squared_hinge (two classes); softmax (several); squared, huber:DELTA (regression). "
            f"For several classes and numbers see --task. Default: {default_losses()}.",
            metavar="NAME",
            rich_help_panel=MODEL,
        ),
    ] = None,
    task: Annotated[
        str,
        typer.Option(
            help="What the labels are: classes or numbers. auto: text and up to 20 whole numbers are classes. "
            "Several classes: softmax, or each against the rest; numbers: squared.",
            metavar="NAME",
            rich_help_panel=MODEL,
        ),
    ] = "auto",
    memory: Memory = None,
    interactions: Interactions = None,
    per_class: Annotated[
        bool, typer.Option("--per-class", help="With several classes, k features for each.", rich_help_panel=MODEL)
    ] = False,
    multilabel: Annotated[
        bool, typer.Option("--multilabel", help="Rows have any number of labels.", rich_help_panel=MODEL)
    ] = False,
    classes: Annotated[
        str | None,
        typer.Option(
            help="The labels, if there are more than two; default: read from the data.",
            metavar="A,B,C",
            rich_help_panel=MODEL,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The random seed.", rich_help_panel=MODEL)] = 0,
    class_weight: Annotated[
        str | None,
        typer.Option(help="balanced, or weights as 1=5,-1=1.", metavar="WEIGHTS", rich_help_panel=MODEL),
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate/--no-calibrate", help="Calibrate the probabilities of classes.", rich_help_panel=MODEL
        ),
    ] = True,
    keep: Keep = None,
    drop: Drop = None,
    fdr: Fdr = None,
    splits: Splits = None,
    stand_ins: StandIns = None,
    collapse: Collapse = False,
    stability: Pairs = None,
    expected_false: ExpectedFalse = None,
    permutations: Permutations = None,
    decoys: Decoys = None,
    test: Annotated[
        str | None,
        typer.Option(help="Labelled data to score at the end.", metavar="DATA", rich_help_panel=SCORES),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            help="Hold out and score this fraction of the rows, chosen by a hash of their content; of --fragments, of "
            "the regions of the sequences.",
            rich_help_panel=SCORES,
        ),
    ] = None,
    holdout_by: Annotated[
        str | None,
        typer.Option(
            help="Hold out whole groups of rows: those of one value in this column of a table (then no feature), "
            "or qid of LIBSVM. Default fraction: 0.2.",
            metavar="COLUMN",
            rich_help_panel=SCORES,
        ),
    ] = None,
    holdout_last: Annotated[
        float | None,
        typer.Option(
            help="Hold out and score this fraction of the rows at the end of the data.", rich_help_panel=SCORES
        ),
    ] = None,
    format: Format = None,
    on_error: OnError = "stop",
    cache: Annotated[
        bool,
        typer.Option(
            "--cache",
            help="Parse once and keep the rows for later passes and runs; for pipes too.",
            rich_help_panel=FILES,
        ),
    ] = False,
    cache_dir: Annotated[
        str | None,
        typer.Option(
            help="The folder of these rows; default: the user's cache folder.", metavar="PATH", rich_help_panel=FILES
        ),
    ] = None,
    cache_size: Annotated[
        str,
        typer.Option(
            help="The most bytes in that folder; the least recently used rows are removed first.",
            rich_help_panel=FILES,
        ),
    ] = "20GB",
    checkpoint: Annotated[
        str | None,
        typer.Option(
            help="Save the state to this file, and resume if it exists; removed at the end.",
            metavar="PATH",
            rich_help_panel=CHECKPOINTS,
        ),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            help="The interval between saves, and reports: 30s (default), 5m, 1h.", rich_help_panel=CHECKPOINTS
        ),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Discard an existing checkpoint.", rich_help_panel=CHECKPOINTS)
    ] = False,
    output: Output = None,
    report: Annotated[
        str | None,
        typer.Option(
            help="Write a report to this HTML file, and rewrite it every --every while the fit goes on.", metavar="PATH"
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="The number of features to show at the end.")] = 20,
    keys: Keys = False,
    *,
    settings: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    from thresher.api import select as select_features
    from thresher.errors import UnwritableError
    from thresher.fit import Interrupted
    from thresher.report.progress import show_progress
    from thresher.report.text import print_selection

    try:
        with show_progress() as progress:
            selection = select_features(
                one_or_many(data),
                k=None if k is None else whole_or_word(k),
                method=method,
                loss=loss,
                task=task,
                memory=memory,
                interactions=which_interactions(interactions) if interactions else 1,
                per_class=per_class,
                multilabel=multilabel,
                classes=None if classes is None else [number_or_word(label) for label in classes.split(",")],
                random_state=seed,
                class_weight=_class_weight(class_weight),
                test=test,
                holdout=holdout,
                holdout_by=holdout_by,
                holdout_last=holdout_last,
                calibrate=calibrate,
                keep=keep or None,
                drop=drop or None,
                fdr=fdr,
                splits=splits,
                stand_ins=False if stand_ins is None else stand_ins,
                collapse=collapse,
                stability=stability,
                expected_false=expected_false,
                permutations=permutations,
                decoys=decoys,
                format=format,
                on_error=on_error,
                cache=cache_dir or cache,
                cache_size=cache_size,
                checkpoint=checkpoint,
                every=seconds(every) if every else 30.0,
                restart=restart,
                output=output,
                report=_report(report, seconds(every) if every else 30.0),
                progress=progress,
                **settings,
                **reading,
            )
    except Interrupted as interrupted:
        if interrupted.selection is not None:
            print_selection(interrupted.selection, top=top, keys=keys, run=progress.last)
        saved = f"; {interrupted.saved} is saved: repeat the command to continue" if interrupted.saved else ""
        kept = f". {output} was not written" if output else ""
        fail(f"{interrupted}{saved}{kept}", INTERRUPTED)
        return
    except UnwritableError as error:
        if error.selection is not None:  # hours of learning: show the answer at least
            print_selection(error.selection, top=top, keys=keys, run=progress.last)
        raise
    print_selection(selection, top=top, keys=keys, run=progress.last, saved=output)


def _report(path: str | None, every: float) -> Any:
    """The report of the fit, with the command line that made it."""
    if path is None:
        return None
    import shlex
    import sys

    from thresher.selection.report.run_report import RunReport

    return RunReport(path, every, command=shlex.join(["thresher", *sys.argv[1:]]))


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
            raise SettingsError(f"--class-weight must be balanced, or weights as 1=5,-1=1, got {pair!r}") from None
    return weights
