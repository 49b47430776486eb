"""Sources that a run makes for itself: blocks in another order, rows behind an external shuffle, watched passes."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from itertools import accumulate
from pathlib import Path
from unittest.mock import patch

from tests.sources import file_makers  # noqa: F401 - what these are made from
from tests.sources.rows import KINDS, Row
from thresher.core.batch import Batch
from thresher.core.memory import ReadLimits, Watch
from thresher.core.sparse_scales import SparseScales
from thresher.sources.base import Source
from thresher.sources.cache import in_blocks
from thresher.sources.cache.external_shuffle import ExternalShuffle, Mixing, ShuffleLimits
from thresher.sources.cache.folder import CacheFolder
from thresher.sources.cache.in_blocks import InBlocks
from thresher.sources.text.line_formats import LibsvmSource
from thresher.sources.text.text_blocks import TextBlocks
from thresher.sources.transforms.peeked import FirstLabels, Peeked
from thresher.sources.transforms.sample import take_sample
from thresher.sources.transforms.scale_features import ScaledFeatures
from thresher.sources.transforms.watched import Watched

_BLOCK = 40


class SmallBlocks(LibsvmSource):
    """LIBSVM files in blocks of 40 bytes, so that small files have many of them."""

    def blocks(self) -> TextBlocks:
        whole = TextBlocks.of(self)
        assert whole is not None
        sizes = [end - part.begin for part, end in zip(self.parts, whole.ends, strict=True)]
        counts = [max(1, -(-size // _BLOCK)) for size in sizes]
        return replace(whole, size=_BLOCK, before=list(accumulate(counts, initial=0)))


def _in_small_blocks(folder: Path, rows: list[Row]) -> Source:
    source = KINDS["libsvm-plain"].make(folder, rows)
    return SmallBlocks(**{field.name: getattr(source, field.name) for field in fields(LibsvmSource) if field.init})


def _is_the_line(where: str, batch: Batch, row: int) -> bool:
    """Whether a message names a line of a LIBSVM file that has the features and the label of a row."""
    named = re.fullmatch(r"(.+), line (\d+)", where)
    assert named is not None, where
    label, *features = Path(named[1]).read_text().splitlines()[int(named[2]) - 1].split("#")[0].split()
    keys = [int(feature.split(":")[0]) for feature in features]
    assert batch.y is not None
    return float(label) == batch.y[row] and keys == batch.keys[batch.indptr[row] : batch.indptr[row + 1]].tolist()


def _behind_a_shuffle(folder: Path, rows: list[Row]) -> ExternalShuffle:
    """Rows that are in order and cannot be read out of order, in a temporary file of small blocks."""
    source = KINDS["libsvm-gz"].make(folder, rows)
    limits = ShuffleLimits(rows=7, features=30, reading=ReadLimits(), has_classes=True)
    mixing = Mixing(known=True, why="they are in order")
    outer = ExternalShuffle(source, CacheFolder.at(folder / "cache", 1 << 20), limits, mixing)
    with patch.object(in_blocks, "SMALLEST_BLOCK", _BLOCK):
        blocks = outer.mixed_blocks()
    assert blocks is not None
    assert blocks.count > 2
    return outer


def _register() -> None:
    plain, packed = KINDS["libsvm-plain"], KINDS["libsvm-gz"]
    KINDS["permuted(libsvm-plain)"] = replace(
        plain,
        make=lambda folder, rows: _in_small_blocks(folder, rows).permuted(3),
        order="permuted",
        unlabelled=None,
        shards=1,
        leads_back=_is_the_line,
    )
    KINDS["in-blocks(libsvm-plain)"] = replace(
        plain, make=lambda folder, rows: InBlocks(_in_small_blocks(folder, rows)), unlabelled=None
    )
    KINDS["in-blocks(libsvm-gz)"] = replace(
        packed, make=lambda folder, rows: InBlocks(packed.make(folder, rows)), unlabelled=None
    )
    KINDS["watched(libsvm-plain)"] = replace(
        plain, make=lambda folder, rows: Watched(plain.make(folder, rows), Watch(), "reading"), unlabelled=None
    )
    KINDS["peeked(libsvm-plain)"] = replace(
        plain,
        make=lambda folder, rows: Peeked(plain.make(folder, rows), FirstLabels(lambda labels: None)),
        unlabelled=None,
    )
    KINDS["scaled(libsvm-plain)"] = replace(
        plain, make=lambda folder, rows: ScaledFeatures(plain.make(folder, rows), SparseScales()), unlabelled=None
    )
    KINDS["sample(libsvm-plain)"] = replace(
        plain,
        make=lambda folder, rows: take_sample(plain.make(folder, rows), 3, rows=10_000, values=1 << 30),
        order="permuted",
        unlabelled=None,
        shards=1,
        leads_back=lambda where, batch, row: where.endswith("of a sample"),
    )
    KINDS["external-shuffle(libsvm-gz)"] = replace(packed, make=_behind_a_shuffle, unlabelled=None)
    KINDS["mixed(libsvm-gz)"] = replace(
        packed,
        make=lambda folder, rows: _behind_a_shuffle(folder, rows).permuted(3),
        order="permuted",
        unlabelled=None,
        shards=1,
    )


_register()
