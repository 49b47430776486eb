"""What every source promises, checked for every kind of source there is."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import thresher.sources
from tests.sources import makers  # noqa: F401 - registers every kind
from tests.sources.reading import exactly, joined, read, rows_of
from tests.sources.rows import KINDS, Kind, Row, example_rows
from thresher.core.batch import Batch, Cursor
from thresher.core.memory import MB, ReadLimits
from thresher.errors import DataError, SettingsError
from thresher.sources.base import Source

ROWS = example_rows()
HUGE = 10**6


#: The checks below, each with a source of its own that nothing has read yet.
PROMISES: list[Callable[[Kind, Source, Path], None]] = []


@pytest.mark.parametrize("name", KINDS)
def test_every_promise(name: str, tmp_path: Path) -> None:
    """One test a kind: a test of its own for each promise takes longer to set up than to run."""
    kind, broken = KINDS[name], []
    for check in PROMISES:
        folder = tmp_path / check.__name__
        folder.mkdir()
        try:
            check(kind, kind.make(folder, ROWS), folder)
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"{name}: {check.__name__}")
            broken.append(error)
    if broken:
        raise BaseExceptionGroup(f"{len(broken)} of {len(PROMISES)} promises are not kept", broken)


def concrete_sources() -> set[type[Source]]:
    """Every class in thresher.sources that can be used as it is."""
    for module in pkgutil.walk_packages(thresher.sources.__path__, "thresher.sources."):
        importlib.import_module(module.name)
    found, queue = set(), [Source]
    while queue:
        subclasses = queue.pop().__subclasses__()
        queue += subclasses
        found |= set(subclasses)
    return {cls for cls in found if cls.__module__.startswith("thresher.sources.") and not inspect.isabstract(cls)}


def test_every_source_has_a_maker(tmp_path):
    made = set()
    for number, kind in enumerate(KINDS.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        source = kind.make(folder, ROWS)
        made.add(type(source))
    missing = concrete_sources() - made
    assert concrete_sources()
    assert not missing, f"register a maker in tests/sources/makers.py for {missing}"


# The rows


@PROMISES.append
def the_rows_are_those_of_the_data(kind, source, folder):
    got = [(row.keys, row.values, row.y, row.weight, row.qid) for row in read(source, want_names=True)]
    expected = [(row.keys, row.values, row.y, row.weight, -1) for row in kind.expect(ROWS)]
    if kind.order == "same":
        assert exactly(got) == exactly(expected)
    elif kind.order == "permuted":
        assert sorted(exactly(got)) == sorted(exactly(expected))
    else:
        left = exactly(expected)
        for row in exactly(got):
            left.remove(row)  # each row at most as often as it is there
        assert 0 < len(got) < len(expected)
    if source.total_rows is not None:
        assert source.total_rows == len(got)


@PROMISES.append
def batch_size_changes_nothing(kind, source, folder):
    everything = exactly(read(source, want_names=True))
    for rows in (1, 2, 7, HUGE):
        batches = list(source.batches(rows, want_names=True))
        assert all(0 < len(batch) <= rows for batch, _ in batches)
        assert exactly(joined(batches)) == everything
        counts = np.cumsum([len(batch) for batch, _ in batches])
        assert [cursor.row for _, cursor in batches] == counts.tolist()


@PROMISES.append
def block_size_changes_nothing(kind, source, folder):
    everything = exactly(read(source, want_names=True))
    for block in (1, 64, MB):
        limited = source.limited(ReadLimits(block=block))
        for rows in (3, HUGE):
            assert exactly(read(limited, rows, want_names=True)) == everything


@PROMISES.append
def a_batch_needs_rows(kind, source, folder):
    for rows in (0, -1):
        with pytest.raises(SettingsError, match="at least one row"):
            next(source.batches(rows))


@PROMISES.append
def where_leads_back_to_the_row(kind, source, folder):
    """Files count lines from 1, data in memory counts rows from 0; also through combinators."""
    for batch, cursor in source.batches(4):
        for row in range(len(batch)):
            where = source.where(cursor, batch, row)
            assert kind.leads_back(where, batch, row), where


# Stopping and going on


@PROMISES.append
def going_on_from_every_cursor(kind, source, folder):
    for number, (rows, block) in enumerate([(1, MB), (HUGE, 64)]):
        _going_on(_again(kind, folder, f"again-{number}", ROWS), rows, block)


def _going_on(source, rows, block):
    limited = source.limited(ReadLimits(block=block))
    batches = list(limited.batches(rows, want_names=True))
    everything = exactly(joined(batches))
    done = 0
    for batch, cursor in [(None, Cursor()), *batches]:
        done += 0 if batch is None else len(batch)
        stored = Cursor.from_dict(json.loads(json.dumps(cursor.to_dict())))
        assert stored == cursor
        rest = list(source.batches(4, start=stored, want_names=True))
        assert exactly(joined(rest)) == everything[done:]
        assert not rest or rest[-1][1].row == len(everything)


@PROMISES.append
def going_on_inside_a_batch(kind, source, folder):
    """`skip` is how a source over this one remembers a place inside a batch."""
    everything = exactly(read(source, want_names=True))
    done, before = 0, Cursor()
    for batch, cursor in source.batches(4, want_names=True):
        for skip in (0, 1, len(batch), len(batch) + 2):
            rest = read(source, 3, start=replace(before, skip=skip), want_names=True)
            assert exactly(rest) == everything[done + skip :]
        done, before = done + len(batch), cursor


@PROMISES.append
def cursors_count_stored_bytes(kind, source, folder):
    reads = [cursor.read for _, cursor in source.batches(2)]
    assert reads == sorted(reads)
    if source.total_bytes is not None:
        assert 0 < reads[-1] <= source.total_bytes


# Dividing


@PROMISES.append
def shards_are_the_whole(kind, source, folder):
    expected = exactly(read(source, want_names=True))
    for n in (1, 2, 3, 10):
        shards = source.shards(n)
        assert min(n, kind.shards) <= len(shards) <= n
        got = exactly(row for shard in shards for row in read(shard, 3, want_names=True))
        assert got == expected
        assert len({shard.fingerprint() for shard in shards}) == len(shards)


@PROMISES.append
def shards_go_on_from_their_cursors(kind, source, folder):
    for shard in source.shards(3):
        everything, done = exactly(read(shard)), 0
        for batch, cursor in shard.limited(ReadLimits(block=64)).batches(2):
            done += len(batch)
            assert exactly(read(shard, start=cursor)) == everything[done:]


@PROMISES.append
def at_least_one_shard(kind, source, folder):
    with pytest.raises(SettingsError, match="number of shards must be at least 1"):
        source.shards(0)


# Pushdown


def _only(rows, keys):
    for row in rows:
        kept = [i for i, key in enumerate(row.keys) if key in keys]
        names = None if row.names is None else tuple(row.names[i] for i in kept)
        yield row._replace(
            keys=tuple(row.keys[i] for i in kept), values=tuple(row.values[i] for i in kept), names=names
        )


@PROMISES.append
def pushdown_is_filtering(kind, source, folder):
    rows = read(source, want_names=True)
    every = sorted({key for row in rows for key in row.keys})
    for keys in ([], every[:1], every[::2], every, [*every[1:3], every[1], 2**64 - 1]):
        only = np.array(keys, dtype=np.uint64)
        for size in (4, HUGE):
            got = read(source, size, keys=only, want_names=True)
            assert exactly(got) == exactly(_only(rows, set(keys)))


@PROMISES.append
def pushdown_goes_on_from_cursors(kind, source, folder):
    keys = np.array(sorted({key for row in read(source) for key in row.keys})[::2], dtype=np.uint64)
    everything, done = exactly(read(source, keys=keys)), 0
    for batch, cursor in source.batches(3, keys=keys):
        done += len(batch)
        assert exactly(read(source, start=cursor, keys=keys)) == everything[done:]


# Names


@PROMISES.append
def names_are_the_true_ones(kind, source, folder):
    true = {key: name for row in kind.expect(ROWS) for key, name in zip(row.keys, row.names, strict=True)}
    batches = [batch for batch, _ in source.batches(5, want_names=True)]
    for batch in batches:
        names = source.space.decode(batch.keys) if source.space.invertible else batch.names.decode()
        assert names == [true[key] for key in batch.keys.tolist()]
    together = Batch.concat(batches)
    if not source.space.invertible:
        assert together.names.decode() == [name for batch in batches for name in batch.names.decode()]
    assert exactly(rows_of(together)) == exactly(row for batch in batches for row in rows_of(batch))


@PROMISES.append
def names_only_when_asked_for(kind, source, folder):
    assert all(batch.names is None for batch, _ in source.batches(want_names=False))


@PROMISES.append
def rows_can_be_taken_in_any_order(kind, source, folder):
    for batch, _ in source.batches(6, want_names=True):
        rows = rows_of(batch)
        order = np.random.default_rng(0).integers(0, len(batch), 9)
        assert exactly(rows_of(batch.take(order))) == exactly(rows[i] for i in order)
        assert exactly(rows_of(batch.take(slice(1, None)))) == exactly(rows[1:])


@PROMISES.append
def rows_can_be_gathered_from_batches(kind, source, folder):
    batches = [batch for batch, _ in source.batches(3, want_names=True)]
    together = Batch.concat(batches)
    order = np.random.default_rng(1).permutation(len(together))
    gathered, taken = Batch.gather(batches, order), together.take(order)
    assert exactly(rows_of(gathered)) == exactly(rows_of(taken))
    if taken.names is not None:
        assert gathered.names.to_bytes() == taken.names.to_bytes()


# Fingerprints


def _again(kind, folder, name: str, rows: list[Row]) -> Source:
    (folder / name).mkdir()
    return kind.make(folder / name, rows)


@PROMISES.append
def fingerprint_is_stable(kind, source, folder):
    assert source.fingerprint() == source.fingerprint()
    assert source.fingerprint() == _again(kind, folder, "again", ROWS).fingerprint()
    assert source.limited(ReadLimits(block=64)).fingerprint() == source.fingerprint()


@PROMISES.append
def fingerprint_sees_changes(kind, source, folder):
    column, value = ROWS[2].features[0]
    changes = {
        "value": [*ROWS[:2], replace(ROWS[2], features=((column, value + 1), *ROWS[2].features[1:])), *ROWS[3:]],
        "label": [*ROWS[:2], replace(ROWS[2], y=7.0), *ROWS[3:]],
        "order": [ROWS[1], ROWS[0], *ROWS[2:]],
        "fewer": ROWS[:-1],
    }
    for what, changed in changes.items():
        assert _again(kind, folder, what, changed).fingerprint() != source.fingerprint(), what


@PROMISES.append
def fingerprint_sees_options(kind, source, folder):
    variants = [source, source.shuffled(1, rows=3, features=9), source.shuffled(2, rows=3, features=9)]
    options = {field.name for field in fields(source)} if is_dataclass(source) else set()
    if "on_error" in options:
        variants.append(replace(source, on_error="skip"))
    if "multilabel" in options:
        variants.append(replace(source, multilabel=True))
    if "kmers" in options:
        variants += [replace(source, kmers=replace(source.kmers, unit=True)), replace(source, labels=None)]
    if "coverage" in options:
        variants += [replace(source, seed=9), replace(source, coverage=2.0), replace(source, length=9)]
    assert len({variant.fingerprint() for variant in variants}) == len(variants)


# Labels


@PROMISES.append
def labels_are_needed_only_when_asked_for(kind, source, folder):
    if kind.unlabelled is None:
        return  # these rows always have labels
    (folder / "bare").mkdir()
    bare = kind.unlabelled(folder / "bare", ROWS)
    with pytest.raises(DataError, match="label"):
        read(bare)
    rows = read(bare, want_labels=False)
    assert rows
    assert all(row.y is None or np.isnan(row.y) for row in rows)
