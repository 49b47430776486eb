"""`thresher.select`: from data to named features in one call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from thresher.core.interim import Callback
from thresher.core.labels import check_class_weight
from thresher.core.losses import get_loss
from thresher.core.memory import DEFAULT_CACHE_SIZE, Report, Watch
from thresher.core.storage.atomic import check_not_read, check_writable
from thresher.errors import SettingsError
from thresher.fit import Choose, Finish, Fit, chosen_k, logged
from thresher.guess import Guesser
from thresher.methods import (
    Data,
    MakeRun,
    MethodSpec,
    check_keep,
    classes_before_fit,
    first_loss,
    get_method,
    split_settings,
)
from thresher.run import RunOptions, check_readable_again
from thresher.selection.selection import Selection
from thresher.sources.base import DEFAULT_ROWS
from thresher.sources.registry import as_source
from thresher.training_rows import TrainingRows, held_rows, named_features, reading_options

if TYPE_CHECKING:
    from thresher.selection.report.run_report import RunReport
    from thresher.substitution.arriving.feature_stream import FeatureStream
    from thresher.trust.repeats import Repeats


def select(
    data: Any,
    y: Any = None,
    *,
    k: int | str | None = None,
    method: str = "mission",
    loss: str | None = None,
    task: str = "auto",
    memory: str | int | None = None,
    interactions: int | Sequence[Sequence[str | int]] = 1,
    fit_intercept: bool = True,
    per_class: bool = False,
    multilabel: bool = False,
    classes: Sequence[Any] | None = None,
    random_state: int = 0,
    sample_weight: Any = None,
    class_weight: Mapping[Any, float] | str | None = None,
    target: str | int | None = None,
    test: Any = None,
    holdout: float | None = None,
    holdout_by: str | None = None,
    holdout_last: float | None = None,
    format: str | None = None,
    on_error: str = "stop",
    cache: str | os.PathLike[str] | bool | None = None,
    cache_size: str | int = DEFAULT_CACHE_SIZE,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 30.0,
    restart: bool = False,
    output: str | os.PathLike[str] | None = None,
    batch_rows: int = DEFAULT_ROWS,
    calibrate: bool = True,
    fdr: float | None = None,
    splits: int | None = None,
    stand_ins: bool | float = False,
    collapse: bool = False,
    stability: int | None = None,
    expected_false: float | None = None,
    permutations: int | None = None,
    decoys: int | None = None,
    keep: Sequence[str | int] | str | None = None,
    drop: Sequence[str | int] | str | None = None,
    progress: Report | None = None,
    callback: Callback | None = None,
    report: str | os.PathLike[str] | RunReport | None = None,
    **settings: Any,
) -> Selection:
    """Find the ``k`` features that matter most, and name them.

    Parameters
    ----------
    data : path, Source, ndarray, SciPy matrix, DataFrame, ray.data.Dataset, list of texts or FeatureStream
        The examples. Paths may be globs, folders, compressed files, a list, or ``"-"`` for standard input. A list of
        strings holds texts if ``y`` comes with it; a 1d array or a series of strings always does. ``os`` and
        its baselines also accept a `thresher.FeatureStream`, or a ``.npy`` or Parquet file, read column by column.
    y : array-like, optional
        Labels of data in memory; files contain theirs.
    k : int or "auto"
        The number of features to keep, at most. Optional for ``sparse-rf``. ``auto`` (online methods and ``fgm``): the
        fewest features, up to ``k_max=``, whose loss on held-out rows is within one standard error of the least; see
        `thresher.choose_k`. ``selection.k_curve`` has the curve. The answer is that of the same call with the number.
    method : str
        ``mission`` and its baselines ``iht``, ``batch-iht`` and ``hashing``; the budgeted methods ``b-arda``,
        ``b-amd``, ``ofs``, ``sofs``, ``l1-arda`` and ``ada-fobos``; ``fgm``, the Feature Generating Machine;
        ``sparse-rf``, Sparse Random Features; for features that arrive one by one ``os``, Online Substitution, and its
        baselines ``grafting``, ``grafting-light``, ``naive-l0``, ``naive-l1`` and ``alpha-investing``. ``auto``:
        ``mission``, ``b-arda``, ``os`` and ``fgm`` learn a sample with their default settings, and the best on
        held-out rows of it learns all rows; ``provenance["race"]`` has the scores, see `thresher.race`.
    loss : str, optional
        ``logistic``, ``hinge``, ``squared_hinge`` for two classes; ``softmax`` for several (or ``rest:squared_hinge``,
        one vs. rest); ``squared``, ``huber:delta`` for regression. Default: by the labels. For two classes ``logistic``
        for mission and its baselines, ``squared_hinge`` for the others; for several ``softmax`` for mission and its
        baselines, one vs. rest for the others; for numbers ``squared``.
    task : {"auto", "classes", "numbers"}
        What the labels are, if there is no ``loss``. ``auto``: text and whole numbers of at most 20 values are classes,
        other numbers are numbers. A guess of anything but two classes is logged; ``provenance["task"]`` has it.
    memory : str or int
        The most memory the fit may use, planned before the first row: ``"64MB"``. Default: 64 MB for online methods, no
        limit for the others. With a limit, fgm and sparse-rf read the data again in every iteration if their columns do
        not fit. Without one, budgeted methods keep the sums of every feature seen on top of the plan.
    interactions : {1, 2, 3} or list of tuples
        2: add products of two features of a row; 3: also of three. ``[("user", "ad")]``: only products of a feature
        of one group and a feature of the other, see `thresher.sources.transforms.interactions.Interactions`. They
        are formed row by row, and named ``a × b``.
    fit_intercept : bool
        Learn an intercept.
    per_class : bool
        With several classes, ``k`` features for each rather than ``k`` by the norm across all.
    multilabel : bool
        Rows have any number of labels; each label is a binary problem.
    classes : sequence, optional
        The labels, if there may be more than two. Default: read from the data first.
    random_state : int
        The random seed: the same data, settings and seed give the same result to the bit.
    sample_weight : array-like or str, optional
        The weight of each row, for data in memory; the weight column of a table in a file.
    class_weight : mapping or "balanced", optional
        The weight of each class; ``balanced`` reads the labels once to count them.
    target : str or int, optional
        The label column of a DataFrame or of a table in a file.
    test : like data (or a pair X, y), optional
        Data to score at the end; the scores (see `thresher.core.scores.metrics`) are in
        ``selection.provenance["test"]``.
    holdout : float, optional
        Instead of ``test``: hold out this fraction of the rows, chosen by a hash of their content. Of fragments of
        sequences, regions are held out that no training fragment overlaps. ``provenance["holdout"]`` says which.
    holdout_by : str, optional
        Keep all rows with the same value of this column on one side (default: a fifth of the values is held out). For
        tables and data frames, where the column is no feature unless ``numeric``, ``categorical``, ``times`` or
        ``texts`` name it; for LIBSVM files, ``qid``.
    holdout_last : float, optional
        Hold out this fraction of the rows at the end of the data, in the order of the files, which takes a pass to
        count them unless their number is known.
    format, on_error
        How to read files, see `thresher.scan`.
    cache : path or True, optional
        Parse the data once and keep its rows in this folder (True: the user's cache folder). Later passes and runs
        read them from there, and standard input can be read several times. The result is the same.
    cache_size : str or int
        The most bytes of all files in that folder; the least recently used are removed first. Without a cache, the
        most bytes of the temporary file through which sorted rows are shuffled that cannot be read out of order.
    checkpoint : path, optional
        Written every ``every`` seconds and on Ctrl-C, resumed if it exists, removed at the end.
    restart : bool
        Discard an existing checkpoint.
    output : path, optional
        Save the selection to this ``.thr`` file, before the checkpoint is removed. Its folder is tested before the
        first row is read; an existing file stays until the new one is complete.
    batch_rows : int
        Rows per batch; the result does not depend on it.
    calibrate : bool
        Calibrate the probabilities of a classifier: on rows held out of a further fit of the selected features, or on
        the progressive margins of an online method, see `thresher.selection.calibration`.
    fdr : float, optional
        Keep only features of which at most this share is expected to be false, such as 0.1. One half of the rows gives
        ``k`` candidates, and both halves must agree on them; ``k`` is at most a tenth of a half's rows. Each feature
        has a q-value, and ``provenance["fdr"]`` has the candidates that were cut. Not for ``sparse-rf``, ``hashing``
        and streams of features. ``docs/trust.md`` says what is guaranteed.
    splits : int, optional
        Divide the rows into halves this number of times, and keep what the splits agree on; default 1.
    stand_ins : bool or float
        After the fit, find the columns of the data that are nearly the same as a selected feature: with an absolute
        cosine of at least this number, 0.5 to 1 (True: 0.9). ``selection.stand_ins`` has their names and cosines. It
        takes three more readings. Not for ``sparse-rf``, ``hashing`` and streams of features.
    collapse : bool
        With ``stand_ins``, keep only the strongest of selected features that are stand-ins of each other, and fit the
        features that stay once more.
    stability : int, optional
        Divide the rows into two halves this number of times (complementary pairs, such as 50), and fit each half.
        ``selection.frequencies`` has the share of these fits that select each feature, and ``provenance["stability"]``
        the threshold. The answer is the ordinary fit. Not for ``sparse-rf``, ``hashing``, groups, streams of features,
        workers, and families of ``fgm`` but columns.
    expected_false : float, optional
        With ``stability``: the largest expected number of false features among those that reach the threshold, under
        the assumptions that ``docs/trust.md`` states; default 1.
    permutations : int, optional
        Repeat the fit this number of times with labels that are drawn by chance. ``provenance["chance"]`` has the
        scores on the held-out rows (or the progressive ones), the largest weights, and a p-value.
    decoys : int, optional
        Repeat the fit this number of times with a decoy beside each feature, a copy with the values of other rows that
        cannot matter. ``provenance["decoys"]`` has the numbers that are selected. A diagnostic, no error control. Not
        for ``sparse-rf``, ``hashing``, groups, streams of features, and families of ``fgm`` but columns.
    keep : list of str, optional
        Features that are in the answer whatever their weights are; ``k`` counts them. For ``mission``, ``iht``,
        ``batch-iht``, ``b-arda``, ``b-amd``, ``ofs``, ``sofs``, ``fgm`` and ``os``. Names, files of names
        (``"@features.txt"``, one a line), and of tables and matrices patterns of columns, such as ``"user_*"``.
    drop : list of str, optional
        Features that the fit never sees: names (of a table also columns, with all features made from them), patterns,
        or files of either. In patterns ``*`` is any number of characters and ``?`` any one. A backslash makes ``*``,
        ``?``, a first ``@`` or a backslash an ordinary character. A product with a dropped part is dropped.
    progress : callable, optional
        Called with a `Progress` after every batch, in every phase of the fit.
    callback : callable, optional
        Called with a `thresher.core.interim.Interim` while the method learns: after every batch of ``batch_rows`` rows
        (of ``os`` every block of features, of ``fgm`` and ``sparse-rf`` every iteration, of several workers every
        round, with ``fdr`` every split), once there is a model. It has ``rows``, ``passes``, ``seconds`` and
        ``selection()``, the selection so far, which is built only when called. If it returns True, the fit ends as
        if it were complete. The result is the same as without it. After an error in it, ``checkpoint`` is written.
    report : path, optional
        Write a report to this HTML file, see `Selection.report`: with the rows that were held out, if any. While the
        fit goes on, the file is rewritten every ``every`` seconds with the answer so far, and a browser refreshes it.
        Requires the extra ``thresher[report]``.
    settings
        The method's settings. Online methods: `thresher.online.settings.OnlineSettings`; fgm:
        `thresher.fgm.settings.FGMSettings`; sparse-rf: `thresher.sparse_rf.settings.SparseRFSettings`; os and its
        baselines: `thresher.substitution.settings.SubstitutionSettings`. All but the online methods also have
        ``n_jobs``; fgm and sparse-rf have ``validation`` (like ``test``; the iteration, or ``lam``, with the best score
        is the result); os has ``labels_file`` for a stream of features; online methods and os
        have ``cluster``, where their workers run (`thresher.run.RunOptions`).
        The options for reading files: those of `thresher.scan_fasta` (``kmer``, ``canonical``, ``fragments``, …) for
        FASTA and FASTQ, of `thresher.scan_csv` (``numeric``, ``schema``, …) for tables, and of `thresher.scan_text`
        (``text``, ``words``, …) for text, also in memory.

    Returns
    -------
    Selection
        What looks wrong in the data (an identifier among the columns, a copy of the target, …) is logged, and is in
        ``provenance["warnings"]``; ``docs/sources.md`` has the rules.

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 50))
    >>> y = X[:, 7] - X[:, 31] > 0
    >>> sorted(th.select(X, y, k=2).names)
    ['x31', 'x7']
    """
    arguments = locals()  # before any other name
    if report is not None:
        from thresher.selection.report.run_report import RunReport

        if not isinstance(report, RunReport):
            report = arguments["report"] = RunReport(report, every)
    if method == "auto":
        from thresher.race import select_best

        return select_best(select, **arguments)
    if output is not None:
        check_writable(output)
    if report is not None:
        callback = report.after(callback)
    spec, seed, watch = get_method(method), int(random_state), Watch(progress)
    named = named_features(keep, drop)
    own, reading = split_settings(method, settings)
    checks = {
        "fdr": fdr,
        "splits": splits,
        "stability": stability,
        "expected_false": expected_false,
        "stand_ins": stand_ins,
        "collapse": collapse,
        "permutations": permutations,
        "decoys": decoys,
    }
    in_halves = fdr is not None or splits is not None
    k, choose = _number_of_features(spec, method, k, own.pop("k_max", None), in_halves=in_halves)
    make_run, repeats = _with_checks(spec, method, seed, checks)
    loss_given, labels, guesser = loss is not None, None, None
    loss = first_loss(spec, loss, task, None if multilabel else classes)
    if not loss_given and task != "numbers" and classes is None and not multilabel:
        guesser = Guesser(spec, task, class_weight is not None, memory, watch)
        if checkpoint is not None and not restart and os.path.exists(checkpoint):
            loss, labels = guesser.from_checkpoint(checkpoint)
    check_class_weight(class_weight, get_loss(loss), multilabel=multilabel)
    method_settings = spec.make_settings(
        method=method,
        k=k,
        loss=loss,
        fit_intercept=fit_intercept,
        per_class=per_class,
        multilabel=multilabel,
        seed=seed,
        **own,
    )
    options = RunOptions(
        memory=memory,
        n_jobs=own.get("n_jobs", -1),
        workers=own.get("workers", 1),
        cluster=own.get("cluster"),
        interactions=interactions,
        multilabel=multilabel,
        class_weight=class_weight,
        may_be_numbers=guesser is not None and task == "auto" and loss != spec.numbers,
        cache=cache or True,
        cache_size=cache_size,
        checkpoint=checkpoint,
        every=every,
        restart=restart,
        batch_rows=batch_rows,
        calibrate=calibrate,
        watch=watch,
        callback=callback,
    )
    if named is not None:
        if named.keep is not None:
            check_keep(spec, method_settings, auto=choose is not None, fdr=in_halves, cluster=options.cluster)
            named.check_number(k)
        named.check_products(interactions)
    held = held_rows(holdout, holdout_by, holdout_last, test)
    finish = Finish(output=output, task=None if loss_given else task, named=named, repeats=repeats, report=report)

    if (stream := _feature_stream(spec, data, target, on_error)) is not None:
        if held is not None:
            raise SettingsError("`holdout` requires rows, and the data is a stream of features: pass `test`")
        if named is not None:
            stream = named.of_stream(stream, k)
            options = replace(options, keep=named.kept)
        if test is not None:
            tested = as_source(*(test if isinstance(test, tuple) else (test,)), target=target)
            finish = replace(finish, test=tested)
        given = Data(stream, y=_stream_labels(y, own.get("labels_file")), sample_weight=sample_weight)
        return Fit(make_run, method_settings, options, guesser)(given, finish)

    reading = reading_options(
        data, reading, format, on_error, multilabel=multilabel, seed=seed, sample_weight=sample_weight
    )
    source = as_source(data, y, target=target, **reading)
    if named is not None:
        source = named.of_source(source, k)
        options = replace(options, keep=named.kept, dropped=named.drop is not None)
    rows = TrainingRows.of(source)
    if output is not None:
        check_not_read(output, rows.files.paths)
    warnings = logged(source.warnings())
    rows = rows.grouped(held, reading, watch)
    if cache is not None and cache is not False:
        rows = rows.cached(cache, cache_size, watch)
    if spec.online:
        check_readable_again(rows.source, needed=class_weight == "balanced", why="balanced class weights")
    if guesser is not None and not rows.source.rewindable:
        rows = rows._replace(source=guesser.peeked(rows.source))
    every_row = rows.labelled
    if labels is None:
        labels = classes_before_fit(spec, every_row, loss, classes, multilabel=multilabel, memory=memory, watch=watch)
    rows = rows.divided(seed)
    if test is not None:
        rows = rows._replace(test=rows.other(test, target, reading, number=1))
    if (validation := own.get("validation")) is not None:
        options = replace(options, validation=rows.other(validation, target, reading, number=2))
    doubted = get_loss(loss) if loss_given and classes is None and not multilabel else None
    finish = replace(finish, rows=rows, test=rows.test, warnings=warnings, doubted=doubted, online=spec.online)
    return Fit(make_run, method_settings, options, guesser, choose)(Data(rows.source, labels), finish, every_row)


def _number_of_features(
    spec: MethodSpec, method: str, k: Any, k_max: int | None, *, in_halves: bool
) -> tuple[Any, Choose | None]:
    """The number of features, or the most of them and what chooses their number."""
    auto = k == "auto"
    if auto and "k_max" not in spec.own:
        raise SettingsError(f'{method} has no `k="auto"`: pass a number as `k`, or choose mission, b-arda or fgm')
    if k_max is not None or not isinstance(k, (int, type(None))):
        from thresher.choose_k import check_k_max

        k = check_k_max(k, k_max)
    if auto and in_halves:
        raise SettingsError("`fdr` chooses among `k` candidates: pass their number as `k`")
    return k, partial(chosen_k, spec, k_max=k_max) if auto else None


def _with_checks(spec: MethodSpec, method: str, seed: int, checks: dict[str, Any]) -> tuple[MakeRun, list[Repeats]]:
    """What makes the run, with checks around it if any is asked for; and the fits to repeat after it."""
    if all(value is None or value is False for value in checks.values()):
        return spec.make_run, []
    from thresher.trust.checks import with_checks

    return with_checks(spec, method, seed, checks)


def _feature_stream(spec: MethodSpec, data: Any, target: Any, on_error: str) -> FeatureStream | None:
    """The stream of features that the data is, for a method that accepts one."""
    if not spec.feature_streams:
        return None
    from thresher.substitution.arriving.feature_stream import stream_of

    return stream_of(data, target=target, on_error=on_error)


def _stream_labels(y: Any, file: Any) -> Any:
    from thresher.substitution.arriving.feature_stream import stream_labels

    return stream_labels(y, file)
