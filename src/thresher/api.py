"""The front door: from data to named features in one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thresher.core.progress import Progress
from thresher.errors import SettingsError
from thresher.methods import Given, Job, Work, classes_of, divided, kind_of
from thresher.selection.scoring import evaluate
from thresher.selection.selection import Selection
from thresher.sources.base import DEFAULT_ROWS, Source
from thresher.sources.cache.cached import DEFAULT_SIZE, cached
from thresher.sources.registry import as_source, is_paths
from thresher.sources.transforms.holdout import hold_out
from thresher.substitution.arriving.feature_stream import stream_of
from thresher.substitution.arriving.file_readers import read_labels
from thresher.working_set.run_settings import RunSettings


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a fit; ``selection`` is what had been found by then (None before two classes were seen)."""

    selection: Selection | None = None


def select(
    data: Any,
    y: Any = None,
    *,
    k: int | None = None,
    method: str = "mission",
    loss: str | None = None,
    memory: str | int | None = None,
    interactions: int | Sequence[Sequence[str | int]] = 1,
    intercept: bool = True,
    per_class: bool = False,
    multilabel: bool = False,
    classes: Sequence[Any] | None = None,
    random_state: int = 0,
    sample_weight: Any = None,
    class_weight: Mapping[Any, float] | str | None = None,
    target: str | int | None = None,
    test: Any = None,
    holdout: float | None = None,
    format: str | None = None,
    on_error: str = "stop",
    cache: str | os.PathLike[str] | bool | None = None,
    cache_size: str | int = DEFAULT_SIZE,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 30.0,
    restart: bool = False,
    batch_rows: int = DEFAULT_ROWS,
    progress: Callable[[Progress], None] | None = None,
    **settings: Any,
) -> Selection:
    """Find the ``k`` features that matter most, and name them.

    Parameters
    ----------
    data : path, Source, ndarray, SciPy matrix, DataFrame or FeatureStream
        The examples. Paths may be globs, folders, compressed, several, or ``"-"``. For ``os`` and its rivals also a
        `thresher.FeatureStream`, or what makes one: a ``.npy`` or Parquet file, read column by column.
    y : array-like, optional
        Labels, for data in memory; files bring their own.
    k : int
        Features to keep. Fewer are returned where fewer are found. ``sparse-rf`` does without.
    method : str
        ``mission``, ``iht``, ``batch-iht``, ``hashing``; under a budget ``b-arda``, ``b-amd``, ``ofs``, ``sofs``,
        ``l1-arda``, ``ada-fobos``; ``fgm``, the Feature Generating Machine; ``sparse-rf``, functions of the features
        drawn at random; or for features that arrive one by one ``os``, Online Substitution, and its rivals
        ``grafting``, ``grafting-light``, ``naive-l0``, ``naive-l1`` and ``alpha-investing``.
    loss : str, optional
        Unasked ``squared_hinge``, and ``logistic`` for mission and its rivals. ``logistic``, ``hinge``,
        ``squared_hinge`` for two classes, ``softmax`` for several (or ``rest:squared_hinge``, each against the rest),
        ``squared``, ``huber:delta`` for numbers.
    memory : str or int
        What may be held, planned before the first row and kept: ``"64MB"``. Unasked 64 MB, and for fgm and sparse-rf
        as much as their columns take; with less, these go through the data again and again. The budgeted methods
        (``b-arda`` and after it) keep something of every feature seen: that comes on top unless memory is given.
    interactions : {1, 2, 3} or list of tuples
        2: products of two features of a row are features too; 3: also of three. ``[("user", "ad")]``: only
        products of a feature of one of these groups and one of the other, see
        `thresher.sources.transforms.interactions.Interactions`. They are formed row by row, and named ``a × b``.
    intercept : bool
        Learn a constant too.
    per_class : bool
        With several classes, ``k`` features for each rather than ``k`` by the norm across all.
    multilabel : bool
        Rows have any number of labels; each label is a yes-or-no question of its own.
    classes : sequence, optional
        The labels, where there may be more than two. Without it they are read from the data first.
    random_state : int
        Where all randomness comes from: same data, settings and seed give the same bits.
    sample_weight : array-like or str, optional
        Importance of each row, for data in memory; or the column of a table in a file that holds it.
    class_weight : mapping or "balanced", optional
        Importance of each class; ``balanced`` reads the labels once to count them.
    target : str or int, optional
        The column of a DataFrame or of a table in a file that holds the labels.
    test : like data (or a pair X, y), optional
        Data to score on at the end; the scores, see `thresher.core.metrics`, are in
        ``selection.provenance["test"]``.
    holdout : float, optional
        Instead of ``test``: hold out this fraction of the rows, chosen by a hash of their content.
    format, on_error
        How to read files, see `thresher.scan`.
    cache : path or True, optional
        Parse the data once and keep its rows in this folder (True: the user's cache folder): later passes and runs
        read them from there, and standard input can be gone through several times. The answer is the same.
    cache_size : str or int
        What the files in that folder may take together; those not used for longest are removed to make room.
    checkpoint : path, optional
        Written every ``every`` seconds and on Ctrl-C, resumed from if it is there, removed at the end.
    restart : bool
        Discard a checkpoint that is there.
    batch_rows : int
        Rows a batch; the answer does not depend on it.
    progress : callable, optional
        Called with a `Progress` after every batch.
    settings
        The method's own settings. Of mission, its rivals and the budgeted methods ``step``, ``sketch``, ``active``,
        ``passes``, ``minibatch``, ``shuffle``, ``l2``, ``decay``, ``lazy``, ``eta``, ``lam``, ``delta``,
        ``truncation``, ``tune``, ``groups``, ``keep_names``: see `thresher.online.settings.OnlineSettings`
        (``shuffle``: mix the rows, those in memory all, those of files through a buffer; unasked it does);
        ``refit_intercept``: with two classes and a budget, read the data once more at the end, for the intercept
        (unasked where there are several passes).
        Of fgm `thresher.fgm.settings.FGMSettings`; of sparse-rf
        `thresher.sparse_rf.settings.SparseRFSettings`; of os and its rivals
        `thresher.substitution.settings.SubstitutionSettings`. These three also take ``threads`` (0 is all
        cores; the answer does not depend on it), fgm a ``family`` (such as `thresher.Groups`, or ``"polynomial:2"``),
        fgm and sparse-rf a ``validation`` (like test; the best iteration, or ``lam``, is the answer), os a
        ``labels_file`` for a stream of features.
        And how data is read: ``kmer``, ``canonical``, ``fragments`` and the other options of `thresher.scan_fasta`,
        for FASTA and FASTQ; ``numeric``, ``schema`` and the others of `thresher.scan_csv`, for tables; ``text``,
        ``words`` and the others of `thresher.scan_text`, for texts.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import numpy as np, thresher as th
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 50))
    >>> y = X[:, 7] - X[:, 31] > 0
    >>> sorted(th.select(X, y, k=2).names)
    ['x31', 'x7']
    """
    kind = kind_of(method)
    own, reading = divided(method, settings)
    seed = int(random_state)
    loss = loss or kind.loss
    how = RunSettings(
        memory=memory,
        threads=own.get("threads", 0),
        multilabel=multilabel,
        class_weight=class_weight,
        checkpoint=checkpoint,
        every=every,
        restart=restart,
        batch_rows=batch_rows,
    )
    make = kind.prepare(
        Job(
            method=method,
            k=k,
            loss=loss,
            intercept=intercept,
            per_class=per_class,
            seed=seed,
            interactions=interactions,
            how=how,
            own=own,
        )
    )
    if test is not None and holdout is not None:
        raise SettingsError("pass test or holdout, not both")
    held: Source | None = None
    stream = stream_of(data, target=target, on_error=on_error) if kind.streams else None
    if stream is not None:
        if holdout is not None:
            raise SettingsError("rows are held out of examples, not of features that arrive: pass test")
        if test is not None:
            held = as_source(*(test if isinstance(test, tuple) else (test,)), target=target)
        y = _labels(own, y)
        return _finished(make(Given(stream, y=y, sample_weight=sample_weight)), held, progress, checkpoint)
    if reading and isinstance(data, Source):
        raise SettingsError(f"a source says itself how it is read: leave out {', '.join(reading)}")
    reading |= {"format": format, "on_error": on_error}
    if is_paths(data):
        reading["multilabel"] = multilabel
    if reading.get("fragments") is not None:
        reading.setdefault("seed", seed)
    if sample_weight is not None:  # for a table in a file it is a column, which may be called weight too
        reading["weight"] = sample_weight
    source = as_source(data, y, target=target, **reading)
    if cache is not None and cache is not False:
        source = cached(source, cache, size=cache_size)
    labels = classes_of(source, loss, classes, multilabel=multilabel) if kind.online else None
    if holdout is not None:
        source, held = hold_out(source, holdout, seed=seed)
    elif test is not None:
        if reading.get("fragments") is not None:
            reading["seed"] += 1  # not the fragments that were learned from, should the genomes be the same
        held = _test_source(test, source, target, reading)
    validation = own.get("validation")
    scored = None if validation is None else _test_source(validation, source, target, reading)
    return _finished(make(Given(source, labels, scored)), held, progress, checkpoint)


def _labels(own: Mapping[str, Any], y: Any) -> Any:
    """The labels of a stream: given, or in a file; None where the stream has its own."""
    file = own.get("labels_file")
    if y is not None or file is None:
        return y
    return read_labels(file) if isinstance(file, (str, os.PathLike)) else file


def _finished(
    work: Work,
    held: Source | None,
    progress: Callable[[Progress], None] | None,
    checkpoint: str | os.PathLike[str] | None,
) -> Selection:
    """Run to the end, score, and take the checkpoint away."""
    try:
        work.run(progress)
    except KeyboardInterrupt:
        interrupted = Interrupted(f"stopped after {work.so_far()}")
        if work.usable():
            interrupted.selection = work.selection()
        raise interrupted from None
    selection = work.selection()
    if held is not None:
        selection.provenance["test"] = evaluate(selection, work.limited(held))
    if checkpoint is not None and os.path.exists(checkpoint):
        os.unlink(checkpoint)
    return selection


def _test_source(test: Any, source: Source, target: Any, reading: dict[str, Any]) -> Source:
    """The data to score on, read as that to learn from was."""
    reading = {name: value for name, value in reading.items() if name != "weight" or is_paths(test)}
    if isinstance(test, tuple):
        return as_source(*test, **reading)
    recipe = source.reading()
    if recipe is not None and is_paths(test):
        return as_source(test, like=recipe, format=reading["format"], on_error=reading["on_error"])
    return as_source(test, target=target, **reading)
