"""Groups of k-mers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from tests.fgm.families.helpers import same_model, stopped
from thresher import _native
from thresher.columns.in_memory import InMemoryColumns
from thresher.core.kmers import Kmers
from thresher.errors import SettingsError
from thresher.fgm.families.kmer_spectrum import Spectrum


def sequences(folder: Path, rows: int = 120, length: int = 40) -> str:
    """Two classes of records: with and without ``GATT``."""
    rng = np.random.default_rng(0)
    lines = []
    for i in range(rows):
        letters = "".join(rng.choice(list("ACGT"), length)).replace("GATT", "GACC")
        if i % 2:
            at = int(rng.integers(0, length - 4))
            letters = letters[:at] + "GATT" + letters[at + 4 :]
        lines.append(f">r{i}\n{letters}")
    path = folder / "rows.fa"
    path.write_text("\n".join(lines) + "\n")
    (folder / "labels.tsv").write_text("".join(f"r{i}\t{'yes' if i % 2 else 'no'}\n" for i in range(rows)))
    return str(path)


def prefixes(name: str, letters: int) -> str:
    return name.split(":")[-1][:letters]


@pytest.mark.parametrize(
    ("by", "kept", "options"),
    [
        ("length", lambda name: len(name), {}),
        ("prefix,letters=2", lambda name: prefixes(name, 2), {}),
        ("position", lambda name: name.split(":")[0], {"positional": True}),
    ],
)
def test_groups_are_those_of_the_names(by: str, kept: Any, options: Any, tmp_path: Path) -> None:
    path = sequences(tmp_path)
    reading = {"kmer": [1, 2, 4], "labels": str(tmp_path / "labels.tsv"), **options}
    found = th.select(path, k=2, B=1, C=0.01, method="fgm", preset="fixed", family=f"spectrum:{by}", **reading)
    source = th.scan(path, **reading)
    keys = np.unique(np.concatenate([batch.keys for batch, _ in source.batches()]))
    members: dict[Any, list[int]] = {}
    for key, name in zip(keys.tolist(), source.space.decode(keys), strict=True):
        members.setdefault(kept(name), []).append(key)
    groups = th.Groups([np.array(keys, np.uint64) for keys in members.values()])
    twin = th.select(path, k=2, B=1, C=0.01, method="fgm", preset="fixed", family=groups, **reading)
    assert sorted(found.names) == sorted(twin.names)
    assert np.allclose(np.sort(found.weights), np.sort(twin.weights), atol=1e-9)
    if by != "position":
        assert {"length": 4, "prefix,letters=2": "GA"}[by] in {kept(name) for name in found.names}
    assert len(found.predict(path)) == 120


@pytest.mark.parametrize(
    "by", ["prefix,letters=2", "prefix,letters=2,by_size=true", "linear + spectrum:prefix,letters=3"]
)
def test_out_of_core_equals_in_memory_bitwise(by: str, tmp_path: Path) -> None:
    path = sequences(tmp_path, 500)
    names = [f"r{i}\t{('no', 'yes', 'perhaps')[i % 2 + (i % 12 == 1)]}\n" for i in range(500)]
    (tmp_path / "labels.tsv").write_text("".join(names))
    family = by if "+" in by else f"spectrum:{by}"
    reading = {"kmer": [1, 2, 4], "labels": str(tmp_path / "labels.tsv")}
    given = {
        "k": 4,
        "B": 1,
        "method": "fgm",
        "preset": "fixed",
        "family": family,
        "class_weight": {"yes": 2.0},
        **reading,
    }
    whole = th.select(path, **given)
    again = th.select(path, memory="1MB", batch_rows=23, n_jobs=1, **given)
    assert whole.classes == ["no", "perhaps", "yes"]
    assert (
        again.provenance["plan"]["columns"] != whole.provenance["plan"]["columns"]
    )  # out of core: the memory available
    assert same_model(again, whole)


def test_it_resumes_where_it_was_stopped(tmp_path: Path) -> None:
    path, saved = sequences(tmp_path), tmp_path / "saved"
    reading = {"kmer": [1, 2, 4], "labels": str(tmp_path / "labels.tsv")}
    given = {"k": 3, "B": 1, "method": "fgm", "preset": "fixed", "family": "spectrum:prefix,letters=2", **reading}
    whole = th.select(path, **given)
    stopped(path, saved, given)
    assert same_model(th.select(path, checkpoint=saved, **given), whole)


def test_too_many_groups_are_refused(tmp_path: Path) -> None:
    path = sequences(tmp_path)
    reading = {"kmer": 12, "labels": str(tmp_path / "labels.tsv")}
    with pytest.raises(th.SettingsError, match="group by fewer letters"):
        th.select(
            path, k=2, method="fgm", preset="fixed", memory="250KB", family="spectrum:prefix,letters=12", **reading
        )


def test_invalid_spectra_are_refused() -> None:
    with pytest.raises(th.SettingsError, match="needs k-mers"):
        th.select(np.eye(4), [0, 1, 0, 1], k=1, method="fgm", preset="fixed", family="spectrum")
    with pytest.raises(th.SettingsError, match="k-mers can be grouped by"):
        Spectrum("letter")
    with pytest.raises(th.SettingsError, match="letters must be at least 1"):
        Spectrum(letters=0)


def test_groups_of_keys_refuse_a_dense_matrix() -> None:
    dense = InMemoryColumns(_native.DenseColumns64(np.eye(3)), _native.ThreadPool(1))
    with pytest.raises(SettingsError, match="groups of keys need sparse columns"):
        Spectrum(kmers=Kmers((2,))).build(dense)
