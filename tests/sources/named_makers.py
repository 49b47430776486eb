"""Sources without some features, with labels drawn by chance, with decoys, and datasets of Ray Data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from tests.sources import memory_makers, table_makers  # noqa: F401 - what these are made from
from tests.sources.ray_datasets import Dataset
from tests.sources.rows import KINDS, Expected, Kind, Row
from thresher.core.batch import Batch
from thresher.sources.base import Source
from thresher.sources.files.paths import Part
from thresher.sources.named_features import NamedFeatures
from thresher.sources.tables.ray_dataset import RayDatasetSource
from thresher.sources.transforms.decoys import RowSample, WithDecoys, decoy_keys, real_keys
from thresher.sources.transforms.drawn_labels import DrawnLabels, LabelSample


def _dropped(base: str, entry: str, matches: Callable[[str], bool]) -> Kind:
    kind = KINDS[base]

    def make(folder: Path, rows: list[Row]) -> Source:
        named = NamedFeatures.of(None, [entry])
        assert named is not None
        return named.of_source(kind.make(folder, rows), 1)

    def expect(rows: list[Row]) -> list[Expected]:
        return [_without(row, matches) for row in kind.expect(rows)]

    return replace(kind, make=make, expect=expect, unlabelled=None)


def _without(row: Expected, matches: Callable[[str], bool]) -> Expected:
    stays = [i for i, name in enumerate(row.names) if not matches(name)]
    names, keys, values = (tuple(part[i] for i in stays) for part in (row.names, row.keys, row.values))
    return replace(row, names=names, keys=keys, values=values)


def _by_chance(folder: Path, rows: list[Row]) -> Source:
    """One label to draw from, so that the rows are known."""
    source = KINDS["libsvm-plain"].make(folder, rows)
    sample = LabelSample(source, 0)
    sample.labels = np.array([7.0])
    return DrawnLabels(source, sample, 0, 0)


#: The features of the only row of a sample, and their values.
_DECOYS, _OF_DECOYS = np.array([3, 5], np.uint64), np.array([2.0, 0.5], np.float32)


def _with_decoys(folder: Path, rows: list[Row]) -> Source:
    """One row to take decoys from, so that all rows have the same ones."""
    source = KINDS["libsvm-plain"].make(folder, rows)
    sample = RowSample(source, 0, 1)
    sample.complete, sample.words = True, np.zeros(1, np.uint64)
    sample.rows, sample.copies = Batch(np.array([0, 2]), _DECOYS, _OF_DECOYS), np.ones(2, np.uint32)
    return WithDecoys(source, sample, 0)


def _beside_decoys(row: Expected) -> Expected:
    keys = [*real_keys(np.array(row.keys, np.uint64)).tolist(), *decoy_keys(_DECOYS).tolist()]
    return replace(row, keys=tuple(keys), names=tuple(map(str, keys)), values=(*row.values, *_OF_DECOYS.tolist()))


def _ray_dataset(folder: Path, rows: list[Row]) -> Source:
    stored = KINDS["parquet"].make(folder, rows)
    table = pq.read_table(stored.parts[0].path)
    return RayDatasetSource(parts=(Part("dataset"),), encoder=stored.encoder, on_error="stop", dataset=Dataset(table))


KINDS.update(
    {
        "dropped(vw-plain)": _dropped("vw-plain", "*2", lambda name: name.endswith("2")),
        "dropped(libsvm-plain)": _dropped("libsvm-plain", "40", lambda name: name == "40"),
        "masked(ndarray-f64)": _dropped("ndarray-f64", "x3", lambda name: name == "x3"),
        "by-chance(libsvm-plain)": replace(
            KINDS["libsvm-plain"],
            make=_by_chance,
            expect=lambda rows: [replace(row, y=7.0) for row in KINDS["libsvm-plain"].expect(rows)],
            unlabelled=None,
        ),
        "decoys(libsvm-plain)": replace(
            KINDS["libsvm-plain"],
            make=_with_decoys,
            expect=lambda rows: [_beside_decoys(row) for row in KINDS["libsvm-plain"].expect(rows)],
            unlabelled=None,
        ),
        "ray-dataset": replace(KINDS["parquet"], make=_ray_dataset, unlabelled=None, shards=1),
    }
)
