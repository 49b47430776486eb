"""Names of all features seen: one pass names every selected feature, whenever it was admitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher as th
from tests.online.test_engine import ROWS, assert_same, learned, whole_batch
from tests.streams import planted, write_vw
from thresher.online.engine import OnlineEngine, OnlineSettings


def forbid_a_second_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if names are still missing at the end of the pass."""

    def find_names(source: Any, keys: Any) -> dict[int, bytes]:
        assert not len(keys)
        return {}

    monkeypatch.setattr("thresher.online.result.find_names", find_names)


@pytest.mark.parametrize("lam", [0.0, 0.05])
def test_a_feature_admitted_long_after_its_row_has_a_name(lam: float) -> None:
    """Features are admitted by drift, or because a kept one weakens; all kept features are named at every step."""
    engine = OnlineEngine(OnlineSettings(k=4, method="b-arda", loss="squared_hinge", eta=0.3, lam=lam))
    batch = whole_batch({})
    kept: set[int] = set()
    late = 0
    for i in range(ROWS):
        learned([i, i + 1], engine)
        found = engine.selected()
        assert found.names == [b"c%02d" % key for key in found.keys.tolist()]
        row = set(batch.keys[batch.indptr[i] : batch.indptr[i + 1]].tolist())
        late += len(set(found.keys.tolist()) - kept - row)
        kept = set(found.keys.tolist())
    assert late > 0


@pytest.mark.parametrize("memory", [None, "4MB"])
def test_one_pass_names_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: str | None) -> None:
    forbid_a_second_pass(monkeypatch)
    path = write_vw(tmp_path / "rows.vw", *planted(rows=600, width=200, support=(3, 77)))
    for options in ({"method": "b-arda", "lam": 0.02}, {"method": "l1-arda", "lam": 0.01}, {"method": "b-amd"}):
        found = th.select(path, k=20, loss="squared_hinge", memory=memory, **options)
        assert found.named == len(found) > 0
        assert found.provenance["plan"]["names"] > 0 if memory and options["method"] != "b-amd" else True


def test_names_survive_groups_resumes_and_a_full_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.vw"
    rng = np.random.default_rng(0)
    lines = [
        f"{y:g} |s{i % 7} {' '.join(f'w{j}' for j in rng.integers(0, 300, 9))}"
        for i, y in enumerate(rng.choice([-1, 1], 300))
    ]
    path.write_text("\n".join(lines) + "\n")

    def stop(progress: Any) -> None:
        if progress.rows >= 100:
            raise KeyboardInterrupt

    forbid_a_second_pass(monkeypatch)
    options: dict[str, Any] = {"k": 3, "method": "b-arda", "groups": "source", "lam": 0.01, "passes": 2}
    whole = th.select(path, **options)
    assert set(whole.provenance["groups"]) <= {f"s{s}^" for s in range(7)}
    assert {name.split("^")[0] + "^" for name in whole.names} == set(whole.provenance["groups"])
    with pytest.raises(th.Interrupted):
        th.select(path, **options, checkpoint=tmp_path / "half", batch_rows=20, progress=stop)
    again = th.select(path, **options, checkpoint=tmp_path / "half")
    assert again.names == whole.names
    assert again.provenance["groups"] == whole.provenance["groups"]


def test_names_that_do_not_fit_are_dropped() -> None:
    few = learned([0, ROWS], method="l1-arda", loss="squared_hinge", lam=0.001, name_room=60)
    every = learned([0, ROWS], method="l1-arda", loss="squared_hinge", lam=0.001)
    assert (
        0 < sum(map(bool, few.selected().names)) < len(few.selected().names) == sum(map(bool, every.selected().names))
    )
    assert few.seen[1] < every.seen[1]
    again = OnlineEngine.from_state(few.settings, few.state())
    assert_same(again, few)
    none = learned([0, ROWS], method="l1-arda", loss="squared_hinge", lam=0.001, keep_names=False)
    assert not any(none.selected().names)
