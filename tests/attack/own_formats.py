"""Damaged and crafted files of our own: selections, parsed rows, checkpoints."""

from __future__ import annotations

import contextlib
import copy
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import thresher as th
from tests.attack.checks import Wrong, read_rows
from tests.attack.crafting import crafted, odd_array, odd_json
from tests.attack.mutations import damaged
from tests.attack.texts import CSV, FASTA, LIBSVM, VW, Case
from tests.selection.makers import assert_same
from thresher.core.memory import Progress
from thresher.sources.arrays import DenseSource
from thresher.sources.cache import codec
from thresher.sources.cache.source import scan_cache
from thresher.writers.registry import write_source

_RNG = np.random.default_rng(5)
X = np.where(_RNG.random((60, 12)) < 0.6, _RNG.normal(size=(60, 12)), 0.0).astype(np.float32)
Y = np.where(X[:, 0] - X[:, 3] > 0, 1.0, -1.0)
#: A small fit of each family of methods.
FITS: tuple[dict[str, Any], ...] = (
    {"method": "mission", "k": 5, "sketch": (3, 64), "passes": 3},
    {"method": "hashing", "k": 5, "sketch": (1, 64), "passes": 3},
    {"method": "b-arda", "k": 5, "passes": 3},
    {"method": "sofs", "k": 5, "passes": 3},
    {"method": "l1-arda", "k": 9, "lam": 0.01, "passes": 3},
    {"method": "fgm", "k": 6, "B": 1},
    {"method": "sparse-rf", "k": 4, "draws": 8, "max_iter": 4},
    {"method": "os", "k": 4, "scans": 3},
    {"method": "os", "k": 4, "scans": 3, "loss": "squared", "refit": 0.1},
    {"method": "os", "k": 4, "scans": 3, "workers": 2, "staleness": 1},
    {"method": "grafting", "k": 9, "lam": 0.01, "scans": 3},
    {"method": "alpha-investing", "k": 9, "loss": "squared", "scans": 1},
)


def _finite(selection: th.Selection) -> th.Selection:
    if not (np.isfinite(selection.weights).all() and np.isfinite(selection.intercept).all()):
        raise Wrong("weights that are not finite")
    return selection


def thr(folder: Path) -> Case:
    path, out = folder / "s.thr", folder / "s.tsv"
    made = [th.select(X, Y, **fit) for fit in FITS]
    made.append(th.select(X, np.arange(len(X)) % 3, k=4, passes=1, loss="softmax"))
    files = []
    for selection in made:
        selection.save(path)
        files.append(path.read_bytes())

    def case(rng: random.Random) -> object:
        if rng.random() < 0.5:
            number = rng.randrange(len(files))
            path.write_bytes(damaged(rng, [files[number]]))
            assert_same(th.load(path), made[number])
            return None
        path.write_bytes(crafted(rng, files))
        selection = _finite(th.load(path))
        repr(selection)
        selection.export(out)
        return selection.predict(X)

    return case


def thc(folder: Path) -> Case:
    sources = {
        "t.vw": th.scan_vw,
        "t.svm": th.scan_libsvm,
        "t.csv": lambda at: th.scan_csv(at, target=0),
        "t.tsv": lambda at: th.scan_csv(at, target=0),
        "t.fa": lambda at: th.scan_fasta(at, kmer=(2, 5)),
    }
    texts = {"t.vw": VW[0], "t.svm": LIBSVM[0], "t.csv": CSV[0], "t.tsv": CSV[1], "t.fa": FASTA[0]}
    made = []
    for name, scan in sources.items():
        (folder / name).write_bytes(texts[name])
        made.append(scan(folder / name))
    made.append(th.scan_libsvm(folder / "t.svm", multilabel=True))
    made.append(DenseSource(X, np.arange(len(X) * 3).reshape(-1, 3) % 2))
    path = folder / "t.thc"
    files, rows = [], []
    for source in made:
        write_source(source, path)
        files.append(path.read_bytes())
        rows.append(read_rows(random.Random(1), scan_cache(path)))

    def case(rng: random.Random) -> object:
        number = rng.randrange(len(files))
        if rng.random() < 0.4:
            path.write_bytes(damaged(rng, [files[number]]))
            if read_rows(random.Random(1), scan_cache(path)) != rows[number]:
                raise Wrong("other rows than were written")
            return None
        path.write_bytes(_crafted_rows(rng, files[number]))
        source = scan_cache(path)
        if rng.random() < 0.3:
            return _finite(th.select(source, k=3, passes=1, memory="16MB"))
        return read_rows(rng, source)

    return case


def _crafted_rows(rng: random.Random, raw: bytes) -> bytes:
    """A file of parsed rows with something else in one record batch or description, and true checksums."""
    reader = pa.ipc.open_file(pa.BufferReader(raw))
    about = json.loads(reader.schema.metadata[b"thresher"])
    records = [reader.get_batch(i) for i in range(reader.num_record_batches)]
    number = rng.randrange(len(records) + 1)
    if number == len(records):
        about = odd_json(rng, about)
    else:
        records[number] = _odd_record(rng, records[number])
    sink = pa.BufferOutputStream()
    metadata = {"thresher": json.dumps(about)}
    compression = rng.choice((None, None, None, "zstd"))
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(sink, reader.schema.with_metadata(metadata), options=options) as writer:
        for record in records:
            writer.write_batch(record)
    return sink.getvalue().to_pybytes()


def _odd_record(rng: random.Random, record: Any) -> Any:
    columns = codec._columns(record)
    arrays = {name: codec._array(name, columns[name]) for name in codec._ARRAYS}
    lists = {name: columns[name][0].as_py() for name in codec._LISTS}
    cursor, summary = columns["cursor"][0].as_py(), columns["summary"][0].as_py()
    present = [name for name, array in arrays.items() if array is not None]
    style = rng.random()
    if style < 0.7 and present:
        name = rng.choice(present)
        arrays[name] = odd_array(rng, arrays[name]).ravel().astype(codec._ARRAYS[name], casting="unsafe")
    elif style < 0.8:
        name = rng.choice(sorted(arrays))
        arrays[name] = None if arrays[name] is not None else np.zeros(rng.choice((0, 1, 30)), codec._ARRAYS[name])
    elif style < 0.9:
        name = rng.choice(sorted(lists))
        lists[name] = rng.choice((None, [], [b""], [b"\xff"] * 30, [*(lists[name] or []), b"more"]))
    elif summary:
        summary = json.dumps(odd_json(rng, json.loads(summary)))
    else:
        cursor = rng.choice((json.dumps(odd_json(rng, json.loads(cursor))), "", "[" * 2000, '{"inner": ' * 500))
    return codec._record(arrays, lists, cursor, summary)


class _StopAfter:
    """A progress callback that interrupts a fit."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def __call__(self, progress: Progress) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def checkpoint(folder: Path) -> Case:
    path = folder / "run.ckpt"
    saved: list[tuple[dict[str, Any], bytes, th.Selection]] = []
    for fit in FITS:
        how = {**fit, "batch_rows": 20} if "scans" not in fit else fit
        for steps in (2, 4, 6):  # some methods have no state to save after their first steps
            with contextlib.suppress(KeyboardInterrupt):
                th.select(X, Y, **how, checkpoint=path, progress=_StopAfter(steps))
            if path.exists():
                raw = path.read_bytes()
                saved.append((how, raw, th.select(X, Y, **how, checkpoint=path)))
                break

    def case(rng: random.Random) -> object:
        how, raw, answer = rng.choice(saved)
        how = copy.deepcopy(how)
        if rng.random() < 0.3:
            path.write_bytes(damaged(rng, [raw]))
            assert_same(th.select(X, Y, **how, checkpoint=path), answer)
            return None
        path.write_bytes(crafted(rng, [raw]))
        return _finite(th.select(X, Y, **how, checkpoint=path))

    return case
