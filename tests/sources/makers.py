"""Every kind of source: those of files and of data in memory, and those made from other sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tests.reference.core.hashing import bucket_sign
from tests.reference.sources import products
from tests.sources import (  # noqa: F401 - they register their kinds
    cache_makers,
    file_makers,
    memory_makers,
    named_makers,
    run_makers,
    sequence_makers,
    table_makers,
)
from tests.sources.rows import KINDS, Expected, Kind
from thresher.core.batch import Cursor
from thresher.core.feature_space import Hashing
from thresher.core.terms import Coordinate, Expansion, Term
from thresher.core.units import Units
from thresher.sources.base import Prefetched, Source
from thresher.sources.transforms.expand import Expanded
from thresher.sources.transforms.hash_features import Hashed
from thresher.sources.transforms.holdout import HeldOut, hold_out
from thresher.sources.transforms.interactions import Interactions
from thresher.sources.transforms.row_range import RowRange
from thresher.sources.transforms.standardize import Standardized
from thresher.sources.transforms.weights import Weighted

_CLASS_WEIGHT = {0.0: 2.0, 2.0: 0.25}


def weighted_rows(expected: list[Expected]) -> list[Expected]:
    return [replace(row, weight=row.weight * _CLASS_WEIGHT.get(row.y, 1.0)) for row in expected]


def in_buckets(expected: list[Expected]) -> list[Expected]:
    """The rows with every feature replaced by its bucket of eleven, its value with the sign it has there."""
    out = []
    for row in expected:
        places = [bucket_sign(key, 3, 11) for key in row.keys]
        keys = tuple(bucket for bucket, _ in places)
        values = tuple(sign * value for (_, sign), value in zip(places, row.values, strict=True))
        out.append(replace(row, names=tuple(f"bucket {key}" for key in keys), keys=keys, values=values))
    return out


#: Units of the second and fifth column of a matrix; that of the fifth has no centre, so that its zeros stay zeros.
_UNITS = Units(np.array([1, 4], np.uint64), np.array([0.5, 0.0]), np.array([2.0, 4.0]))


def in_units(expected: list[Expected]) -> list[Expected]:
    """The rows with these columns in their units: the second one is in every row, at its end."""
    out = []
    for row in expected:
        x = dict(zip(row.keys, row.values, strict=True))
        values = {key: value / 4 if key == 4 else value for key, value in x.items() if key != 1}
        values[1] = (x.get(1, 0.0) - 0.5) / 2
        out.append(
            replace(row, names=tuple(f"x{key}" for key in values), keys=tuple(values), values=(*values.values(),))
        )
    return out


#: Features made of the second, third and fifth column of a matrix.
_TERMS = (Term(70, (1,)), Term(71, (1, 4)), Term(72, (2, 2, 4)), Term(73, (4,), Coordinate("step", 1.0, 2.0)))


def made_of_others(expected: list[Expected]) -> list[Expected]:
    """The rows with these features instead of their own, those that are zero left out."""
    out = []
    for row in expected:
        x = dict(zip(row.keys, row.values, strict=True))
        values = {70: x.get(1, 0.0), 71: x.get(1, 0.0) * x.get(4, 0.0), 72: x.get(2, 0.0) ** 2 * x.get(4, 0.0)}
        values[73] = float(abs(x.get(4, 0.0)) >= 2.0)
        kept = {key: float(np.float32(value)) for key, value in values.items() if value}
        names = tuple({70: "x1", 71: "x1 × x4", 72: "x2² × x4", 73: "x4 ≥ 2"}[key] for key in kept)
        out.append(replace(row, names=names, keys=tuple(kept), values=tuple(kept.values())))
    return out


def with_products(
    combinations: list[list[int]], squares: bool = False, group: Callable[[str], int] = lambda name: 0
) -> Callable[[list[Expected]], list[Expected]]:
    """The rows with products of their features; ``group`` is that of a feature by its name."""

    def expect(expected: list[Expected]) -> list[Expected]:
        out = []
        for row in expected:
            groups = [group(name) for name in row.names]
            formed = products.expanded(list(row.keys), list(row.values), combinations, squares, groups)
            names = tuple(products.product_name([row.names[i] for i in parts]) for _, _, parts in formed)
            keys, values = tuple(key for key, _, _ in formed), tuple(value for _, value, _ in formed)
            out.append(replace(row, names=names, keys=keys, values=values))
        return out

    return expect


def _over(
    base: str, change: Callable[[Source], Source], order: str = "same", expect: Any = None, shards: int = 1
) -> Kind:
    kind = KINDS[base]
    bare = kind.unlabelled
    return Kind(
        lambda folder, rows: change(kind.make(folder, rows)),
        kind.expect if expect is None else lambda rows: expect(kind.expect(rows)),
        order,
        None if bare is None else lambda folder, rows: change(bare(folder, rows)),
        shards,
    )


def _shuffled(source: Source) -> Source:
    return source.shuffled(3, rows=7, features=30)


def _training(source: Source) -> Source:
    return hold_out(source, 0.4, seed=1)[0]


def _test(source: Source) -> Source:
    return hold_out(source, 0.4, seed=1)[1]


def _weighted(source: Source) -> Source:
    return Weighted(source, _CLASS_WEIGHT)


def _long_chains(base: str) -> dict[str, Kind]:
    return {
        f"ahead(shuffled(training({base})))": _over(
            base, lambda s: Prefetched(_shuffled(_training(s)), depth=1), "some"
        ),
        f"weighted(test(ahead({base})))": _over(
            base, lambda s: _weighted(_test(Prefetched(s))), "some", weighted_rows, KINDS[base].shards
        ),
    }


KINDS["standardized(csr-i32)"] = _over(
    "csr-i32", lambda s: Standardized(s, _UNITS), expect=in_units, shards=KINDS["csr-i32"].shards
)
# Lines, names, arrays, records and parsed rows in every combination; kinds that are built on these in long ones.
for _base in ("arrow-table", "fragments", "csv-files", "stored(vw-plain)"):
    KINDS.update(_long_chains(_base))
for _base in ("libsvm-files", "vw-plain", "csr-i32", "fasta-files", "cached(libsvm-files)"):
    _pieces = KINDS[_base].shards
    _in_memory = _base == "csr-i32"
    KINDS.update(
        {
            f"shuffled({_base})": _over(_base, _shuffled, "permuted", shards=10 if _in_memory else 1),
            f"training({_base})": _over(_base, _training, "some", shards=_pieces),
            f"test({_base})": _over(_base, _test, "some", shards=_pieces),
            f"weighted({_base})": _over(_base, _weighted, expect=weighted_rows, shards=_pieces),
            f"ahead({_base})": _over(_base, Prefetched, shards=_pieces),
            f"hashed({_base})": _over(_base, lambda s: Hashed(s, Hashing(11, 3)), expect=in_buckets, shards=_pieces),
            **_long_chains(_base),
            f"shuffled(shuffled({_base}))": _over(_base, lambda s: _shuffled(_shuffled(s)), "permuted"),
            f"test(shuffled({_base}))": _over(_base, lambda s: HeldOut(_shuffled(s), 0.5, held=True), "some"),
        }
    )


KINDS.update(
    {
        "shuffled(text-folders)": _over("text-folders", _shuffled, "permuted", shards=10),
        "ahead(shuffled(training(text-jsonl)))": _over(
            "text-jsonl", lambda s: Prefetched(_shuffled(_training(s))), "some"
        ),
        "shuffled(parquet-files)": _over("parquet-files", _shuffled, "permuted"),
    }
)

KINDS["first(libsvm-gz)"] = _over("libsvm-gz", lambda s: RowRange(s, Cursor(), 3), expect=lambda rows: rows[:3])
KINDS["expanded(csr-i32)"] = _over(
    "csr-i32", lambda s: Expanded(s, Expansion(_TERMS)), expect=made_of_others, shards=KINDS["csr-i32"].shards
)

_PAIRS, _TRIPLES = [[0, 0]], [[0, 0], [0, 0, 0]]

for _base in ("libsvm-files", "vw-plain", "csr-i32"):
    _pieces = KINDS[_base].shards
    KINDS.update(
        {
            f"pairs({_base})": _over(_base, Interactions, expect=with_products(_PAIRS), shards=_pieces),
            f"triples({_base})": _over(
                _base,
                lambda s: Interactions(s, 3, squares=True),
                expect=with_products(_TRIPLES, squares=True),
                shards=_pieces,
            ),
            # A stretch of one row each, since a row of more is refused.
            f"one-by-one({_base})": _over(
                _base, lambda s: Interactions(s, max_features=45), expect=with_products(_PAIRS), shards=_pieces
            ),
            f"one-by-one(shuffled({_base}))": _over(
                _base, lambda s: Interactions(_shuffled(s), max_features=45), "permuted", with_products(_PAIRS)
            ),
            f"ahead(shuffled(pairs(training({_base}))))": _over(
                _base,
                lambda s: Prefetched(_shuffled(Interactions(_training(s)))),
                "some",
                with_products(_PAIRS),
            ),
            f"shuffled(test(pairs({_base})))": _over(
                _base, lambda s: _shuffled(_test(Interactions(s))), "some", with_products(_PAIRS)
            ),
        }
    )


def _groups(**numbers: int) -> Callable[[str], int]:
    return lambda name: numbers.get(name.partition("^")[0].partition("=")[0], numbers.get("rest", -1))


KINDS.update(
    {
        "groups(vw-plain)": _over(
            "vw-plain",
            lambda s: Interactions(s, groups=[("user", "user"), ("n3", "user")]),
            expect=with_products([[0, 1], [1, 1]], group=_groups(n3=0, user=1)),
            shards=10,
        ),
        "default-namespace(vw-plain)": _over(
            "vw-plain",
            lambda s: Interactions(s, groups=[("", "user", "user")]),
            expect=with_products([[0, 1, 1]], group=_groups(user=1, rest=0)),
            shards=10,
        ),
        "groups(arrow-table)": _over(
            "arrow-table",
            lambda s: Interactions(
                s, groups=[["n1", "città"], ("colour", "città", "code"), ("n1", "n1")], squares=True
            ),
            expect=with_products([[0, 2, 1], [2, 3], [3, 3]], True, _groups(code=0, colour=1, città=2, n1=3)),
            shards=10,
        ),
        "groups(csv-plain)": _over(
            "csv-plain",
            lambda s: Interactions(s, groups=[("colour", "n1"), ("n1", "n1")]),
            expect=with_products([[0, 1], [1, 1]], group=_groups(colour=0, n1=1)),
        ),
        "groups(csr-i32)": _over(
            "csr-i32",
            lambda s: Interactions(s, groups=[(7, 3), (1, "x8", 7)]),
            expect=with_products([[0, 2, 3], [1, 2]], group=_groups(x1=0, x3=1, x7=2, x8=3)),
            shards=10,
        ),
        "groups(libsvm-files)": _over(
            "libsvm-files",
            lambda s: Interactions(s, groups=[("10", "20"), (20, 80)]),
            expect=with_products([[0, 1], [1, 2]], group=_groups(**{"10": 0, "20": 1, "80": 2})),
            shards=3,
        ),
    }
)
