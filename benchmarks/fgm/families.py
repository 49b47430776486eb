"""fgm over products of columns: rows shaped like kddb and real-sim, and planted products of three."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from itertools import combinations_with_replacement
from math import comb
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import interleaved, python, ratios, spread, table
from thresher import Polynomial, _native, select
from thresher.columns.in_memory import InMemoryColumns
from thresher.core.memory import peak_resident, resident
from thresher.sources.registry import as_source

#: Rows, columns, entries a row, planted pairs; and how many of the rows have each pair.
KDDB = (1_000_000, 4_590_000, 29, 10)
REAL_SIM = (32_309, 20_958, 52)
SHARE = 0.004


class Planted(NamedTuple):
    """Rows, labels, and the columns whose products decide them."""

    x: Any
    y: Any
    products: list[tuple[int, ...]]


def zipf(rows: int, columns: int, length: int, rng: Any) -> Any:
    """The columns of each row: the column of rank r is met with a frequency of 1/r."""
    drawn = np.exp(rng.random((rows, length), dtype=np.float32) * np.float32(np.log(columns)))
    return np.minimum(drawn.astype(np.int64) - 1, columns - 1)


def compressed(drawn: Any, columns: int) -> Any:
    """Rows of ones; a column that was drawn twice stands there once."""
    import scipy.sparse as sp

    drawn.sort(axis=1)
    fresh = np.ones(drawn.shape, bool)
    fresh[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
    indptr = np.concatenate([[0], np.cumsum(fresh.sum(axis=1))])
    return sp.csr_matrix((np.ones(indptr[-1], np.float32), drawn[fresh], indptr), shape=(len(drawn), columns))


def planted(rows: int, columns: int, length: int, count: int, *, parts: int = 2, seed: int = 0) -> Planted:
    """Products of columns of middle rank, together in some rows and (all but one of them) in others too, so that only
    the whole product tells the label."""
    rng = np.random.default_rng(seed)
    drawn = zipf(rows, columns, length, rng)
    chosen = rng.choice(np.arange(200, 5000), (count, parts), replace=False)
    for product in chosen:
        drawn[rng.choice(rows, int(SHARE * rows), replace=False)[:, None], np.arange(parts)] = product
        for left_out in range(parts):
            some = rng.choice(rows, int(1.5 * SHARE * rows), replace=False)[:, None]
            drawn[some, np.arange(parts, 2 * parts - 1)] = np.delete(product, left_out)
    x = compressed(drawn, columns)
    by_column = x[:, chosen.ravel()].tocsc()
    margin = rng.normal(size=rows)
    for i in range(count):
        together = np.asarray(by_column[:, i * parts : (i + 1) * parts].sum(axis=1)).ravel() == parts
        margin += (2.5 if i % 2 else -2.5) * together
    return Planted(x, np.where(margin > 0, 1.0, -1.0), [tuple(sorted(product.tolist())) for product in chosen])


def stored(x: Any, threads: int = 0, *, unit: bool = True) -> InMemoryColumns:
    """The columns of a matrix."""
    pool = _native.ThreadPool(threads)
    store = _native.ColumnStore()
    for batch, _ in as_source(x, np.zeros(x.shape[0])).batches():
        store.add(batch.indptr, batch.keys, batch.values)
    store.finish(pool, None)
    return InMemoryColumns(store, pool, power=1.0 if unit else 0.0)


def by_hand(x: Any, residual: Any, columns: Any) -> dict[tuple[int, ...], float]:
    """The scores of all pairs of these columns, formed."""
    dense = x[:, columns].tocsc()
    scores = {}
    for a, b in combinations_with_replacement(range(len(columns)), 2):
        both = dense[:, [a]].multiply(dense[:, [b]]).tocsc()
        if both.nnz:
            scores[tuple(sorted((int(columns[a]), int(columns[b]))))] = float(
                residual[both.indices].sum() ** 2 / both.nnz
            )
    return scores


def plainly(x: Any, residual: Any, most: int) -> tuple[float, Any]:
    """Seconds and best scores of `plain_products.cpp`, compiled for this processor; its columns are made before."""
    by_column = x.tocsc()
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(__file__).parent / "plain_products.cpp", f"{folder}/plain.so"
        compiler = os.environ.get("CXX", "c++").split()
        subprocess.run([*compiler, "-O3", "-march=native", "-shared", "-fPIC", source, "-o", made], check=True)
        plain = ctypes.CDLL(made).plain_products
    kinds = (np.int64, np.int32, np.int64, np.int32)
    given = (x.indptr, x.indices, by_column.indptr, by_column.indices)
    arrays = [np.ascontiguousarray(array, dtype) for array, dtype in zip(given, kinds, strict=True)]
    best, wide = np.zeros(most), np.ascontiguousarray(residual, np.float64)
    started = time.perf_counter()
    plain(
        *(ctypes.c_void_p(array.ctypes.data) for array in arrays),
        ctypes.c_int64(x.shape[1]),
        ctypes.c_void_p(wide.ctypes.data),
        ctypes.c_int64(most),
        ctypes.c_void_p(best.ctypes.data),
    )
    return time.perf_counter() - started, best


def kddb_analysis() -> dict[str, Any]:
    """Seconds of one analysis, and whether what the planted columns give by hand is found."""
    data = planted(*KDDB)
    residual = data.y - data.y.mean()
    columns = np.unique(np.ravel(data.products))
    seconds: dict[str, float] = {}
    seconds["a plain version, one thread"], plain = plainly(data.x, residual, 10)
    one, both = stored(data.x, 1), stored(data.x)
    for name, family in (
        ("one thread, without pruning", Polynomial(2, prune=False).build(one)),
        ("both cores, without pruning", Polynomial(2, prune=False).build(both)),
        ("both cores", Polynomial(2).build(both)),
    ):
        started = time.perf_counter()
        (found,) = family.top(residual[None, :], 10)
        seconds[name] = time.perf_counter() - started
        stats, parts = family.search_stats(), [term.parts for term in family.expansion(found.ids).terms]
        del family
    scores = by_hand(data.x, residual, columns)
    floor = float(found.scores[-1]) / data.x.shape[0] * (1 - 1e-9)
    strongest = [pair for pair, score in scores.items() if score > floor and len(set(pair)) == 2]
    missed = [pair for pair in strongest if pair not in parts]
    same = bool(np.allclose(plain, found.scores / data.x.shape[0], rtol=1e-9))
    return {"seconds": seconds, "stats": stats, "strongest": len(strongest), "missed": len(missed), "same": same}


def training(parts: int, shape: tuple[int, int, int, int], k: int, B: int) -> dict[str, Any]:
    """A whole training over products of so many columns: seconds, memory, what was found."""
    data = planted(*shape, parts=parts)
    before, started = resident(), time.perf_counter()
    found = select(data.x, data.y, k=k, B=B, method="fgm", preset="fixed", family=Polynomial(parts))
    seconds = time.perf_counter() - started
    chosen = {term.parts for term in found.space.expansion.terms}
    return {
        "seconds": seconds,
        "grown": peak_resident() - before,
        "peak": peak_resident(),
        "found": sum(product in chosen for product in data.products),
        "planted": len(data.products),
        "iterations": len(found.provenance["path"]),
        "search": found.provenance["search"],
    }


def real_sim_rows() -> tuple[Any, Any]:
    """Rows of unit length with numbers above zero, and labels by chance: the residual that prunes least."""
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    x = compressed(zipf(*REAL_SIM, rng), REAL_SIM[1])
    x.data = (0.1 + rng.random(x.nnz)).astype(np.float32)
    lengths = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags(1.0 / lengths) @ x, dtype=np.float32), np.sign(rng.normal(size=x.shape[0]))


def by_scipy(x: Any, residual: Any, most: int) -> Any:
    """The best scores of unscaled products, by forming X'DX."""
    import scipy.sparse as sp

    upper = sp.triu(x.T.tocsr() @ sp.diags(residual) @ x, format="coo")
    scores = upper.data**2 * np.where(upper.row == upper.col, 1.0, 2.0)
    best = np.argpartition(-scores, most)[:most]
    return np.sort(scores[best])[::-1]


def real_sim_memory(name: str) -> int:
    """What one analysis takes beyond the columns."""
    x, residual = real_sim_rows()
    if name == "scipy":
        wide = x.astype(np.float64)
        before = resident()
        by_scipy(wide, residual, 10)
        return peak_resident() - before
    columns = stored(x, unit=False)
    before = resident()
    family = Polynomial(2, r=0.0).build(columns)
    family.top(residual[None, :], 10)
    return resident() - before  # it gives nothing back before it is done with


def real_sim() -> dict[str, Any]:
    """Seconds in turns, and whether both give the same."""
    x, residual = real_sim_rows()
    wide = x.astype(np.float64)
    unscaled = Polynomial(2, r=0.0).build(stored(x, unit=False))
    scaled = Polynomial(2).build(stored(x))
    contenders: dict[str, Callable[[], object]] = {
        "unscaled columns": lambda: unscaled.top(residual[None, :], 10),
        "scaled columns": lambda: scaled.top(residual[None, :], 10),
        "scipy.sparse": lambda: by_scipy(wide, residual, 10),
    }
    seconds = interleaved(contenders, repeats=3)
    same = np.allclose(unscaled.top(residual[None, :], 10)[0].scores, by_scipy(wide, residual, 10), rtol=1e-4)
    return {"seconds": seconds, "same": bool(same)}


def _child(call: str) -> Any:
    """A part in a process of its own, so that its memory is its own."""
    return json.loads(python(f"import json\nfrom benchmarks.fgm import families as f\nprint(json.dumps(f.{call}))"))


def run() -> str:
    """The three comparisons."""
    one, whole = _child("kddb_analysis()"), _child("training(2, f.KDDB, 100, 10)")
    three = _child("training(3, (100_000, 100_000, 30, 10), 30, 5)")
    near = _child("real_sim()")
    memory = {name: _child(f"real_sim_memory({name!r})") for name in ("ours", "scipy")}
    rows, columns, length, pairs = KDDB
    stats, gb = one["stats"], 2**30
    lines = [[name, f"{seconds:.2f}"] for name, seconds in one["seconds"].items()]
    turns = near["seconds"]
    near_lines = [[name, spread(turns[name]), spread(ratios(turns["scipy.sparse"], turns[name]), 1)] for name in turns]
    visited = three["search"]["scored"] / three["iterations"] / comb(100_000, 3)
    return "\n\n".join(
        [
            "## fgm: products of columns",
            f"Rows shaped like kddb: {rows:,} rows of {length} ones among {columns:,} Zipf columns, "
            f"{columns**2 / 2:.0e} pairs. {pairs} pairs determine the label, and each of their columns is as frequent "
            "without its partner. One exact worst-case analysis, the best 10 of all columns, squares and pairs:",
            table(["analysis", "seconds"], lines),
            "The plain version (`benchmarks/fgm/plain_products.cpp`) visits the columns in order and keeps one sum per "
            f"partner in one long array. Same best scores: {'yes' if one['same'] else 'no'}.",
            f"Of {stats['columns']:,} columns that occur, {stats['entered']:,} could have a product among the best, "
            f"and {stats['scored']:,} products were scored. Computed directly, {one['strongest']} pairs of the "
            f"planted columns score above the tenth best; {one['missed']} of them were missed.",
            f"A complete training run, k = 100 and B = 10: {whole['iterations']} iterations in {whole['seconds']:.1f} "
            f"s; memory grew by {whole['grown'] / gb:.2f} GB to {whole['peak'] / gb:.2f} GB (rows included); "
            f"{whole['found']} of {whole['planted']} planted pairs found.",
            f"Rows shaped like real-sim: {REAL_SIM[0]:,} rows of {REAL_SIM[2]} numbers among {REAL_SIM[1]:,} columns, "
            "random labels. scipy.sparse forms X'DX and takes the best 10 unscaled products; with scaled columns it "
            "would have to form a second product.",
            table(["analysis", "seconds", "scipy.sparse takes times as long"], near_lines),
            f"Same answer: {'yes' if near['same'] else 'no'}. Memory of one analysis beyond the columns: "
            f"{memory['ours'] / 2**20:.0f} MB; scipy.sparse: {memory['scipy'] / 2**20:.0f} MB.",
            "Products of three: 100,000 rows of 30 ones among 100,000 columns, with 10 planted triples whose pairs "
            f"are more frequent than the triples. k = 30 and B = 5: {three['found']} of {three['planted']} found in "
            f"{three['iterations']} iterations and {three['seconds']:.1f} s. Each iteration scored "
            f"{three['search']['scored'] // three['iterations']:,} products, {visited:.1e} of all.",
        ]
    )
