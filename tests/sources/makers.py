"""Every kind of source: those of files and of data in memory, and those made from other sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.sources import file_makers, memory_makers, sequence_makers  # noqa: F401 - they register their kinds
from tests.sources.rows import KINDS, Expected, Kind
from thresher.sources.combine import HeldOut, ReadAhead, Weighted, hold_out
from thresher.sources.source import Source

_CLASS_WEIGHT = {0.0: 2.0, 2.0: 0.25}


def weighted_rows(expected: list[Expected]) -> list[Expected]:
    return [replace(row, weight=row.weight * _CLASS_WEIGHT.get(row.y, 1.0)) for row in expected]


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


for _base in ("libsvm-files", "vw-plain", "csr-i32", "arrow-table", "fasta-files", "fragments"):
    _pieces = KINDS[_base].shards
    _in_memory = _base in ("csr-i32", "arrow-table", "fragments")
    KINDS.update(
        {
            f"shuffled({_base})": _over(_base, _shuffled, "permuted", shards=10 if _in_memory else 1),
            f"training({_base})": _over(_base, _training, "some", shards=_pieces),
            f"test({_base})": _over(_base, _test, "some", shards=_pieces),
            f"weighted({_base})": _over(_base, _weighted, expect=weighted_rows, shards=_pieces),
            f"ahead({_base})": _over(_base, ReadAhead, shards=_pieces),
            f"ahead(shuffled(training({_base})))": _over(
                _base, lambda s: ReadAhead(_shuffled(_training(s)), depth=1), "some"
            ),
            f"weighted(test(ahead({_base})))": _over(
                _base, lambda s: _weighted(_test(ReadAhead(s))), "some", weighted_rows, _pieces
            ),
            f"shuffled(shuffled({_base}))": _over(_base, lambda s: _shuffled(_shuffled(s)), "permuted"),
            f"test(shuffled({_base}))": _over(_base, lambda s: HeldOut(_shuffled(s), 0.5, held=True), "some"),
        }
    )
