"""Checkpoints as files: round trips, what must be the same, and nonsense."""

import json
import os

import numpy as np
import pytest

import thresher as th
from tests.core.storage.test_container import forge
from thresher.core.batch import Cursor
from thresher.core.storage import container
from thresher.core.storage.checkpoint import Checkpoint
from thresher.errors import FileFormatError, ResumeError

IDENTITY = {"data": "abc", "k": 5, "loss": "logistic", "step": 0.1}


def make(**changed):
    fields = {
        "identity": IDENTITY,
        "passes_done": 1,
        "cursor": Cursor(part=1, offset=77, line=3, row=9, skip=2, inner=Cursor(row=4), read=99, skipped=1),
        "labels": [0.0, "é\udcff"],
        "engine": {"weights": np.array([0.1, -0.2]), "keys": np.array([1, 2**64 - 1], np.uint64)},
    }
    return Checkpoint(**{**fields, **changed})


def test_saving_and_loading_changes_nothing(tmp_path):
    saved = make()
    saved.save(tmp_path / "c")
    loaded = Checkpoint.load(tmp_path / "c", IDENTITY)
    assert loaded.identity == saved.identity
    assert loaded.passes_done == 1
    assert loaded.cursor == saved.cursor
    assert (loaded.cursor.read, loaded.cursor.skipped) == (99, 1)
    assert loaded.labels == saved.labels
    assert loaded.engine.keys() == saved.engine.keys()
    for name, array in saved.engine.items():
        assert loaded.engine[name].tobytes() == array.tobytes()


def test_an_identity_of_numpy_numbers_and_tuples_is_still_the_same(tmp_path):
    identity = {"k": np.int64(5), "sketch": (3, 1024), "step": np.float64(0.1), "limit": float("inf")}
    make(identity=identity).save(tmp_path / "c")
    assert Checkpoint.load(tmp_path / "c", identity).passes_done == 1
    with pytest.raises(ResumeError, match="sketch"):
        Checkpoint.load(tmp_path / "c", {**identity, "sketch": (3, 2048)})


@pytest.mark.parametrize(
    ("now", "message"),
    [
        ({**IDENTITY, "k": 6}, "k: 5 there, 6 now"),
        ({**IDENTITY, "data": "abd"}, "data: 'abc' there, 'abd' now"),
        ({**IDENTITY, "new": 1}, "new: None there, 1 now"),
        ({"data": "abc", "k": 5, "loss": "logistic"}, "step: 0.1 there, None now"),
    ],
)
def test_another_run_learns_what_differs(tmp_path, now, message):
    make().save(tmp_path / "c")
    with pytest.raises(ResumeError, match=message) as error:
        Checkpoint.load(tmp_path / "c", now)
    assert "`restart=True`" in str(error.value)


def test_damage_and_truncation_are_noticed(tmp_path):
    path = tmp_path / "c"
    make().save(path)
    raw = path.read_bytes()
    for at in range(0, len(raw), 5):
        for damaged in (raw[:at], raw[:at] + bytes([raw[at] ^ 0x10]) + raw[at + 1 :]):
            path.write_bytes(damaged)
            with pytest.raises(FileFormatError):
                Checkpoint.load(path, IDENTITY)


def meta_of(**changed):
    cursor = {"part": 0, "offset": 0, "line": 0, "row": 0, "skip": 0, "read": 0, "skipped": 0, "inner": None}
    return {"identity": IDENTITY, "passes_done": 0, "cursor": cursor, "labels": [], **changed}


def nested(depth):
    cursor = None
    for _ in range(depth):
        cursor = {**meta_of()["cursor"], "inner": cursor}
    return cursor


FORGED = [
    {"identity": None},
    {"identity": [1]},
    {"identity": "abc"},
    {"passes_done": None},
    {"passes_done": -1},
    {"passes_done": 1.5},
    {"passes_done": True},
    {"passes_done": "1"},
    {"cursor": None},
    {"cursor": {}},
    {"cursor": []},
    {"cursor": {**meta_of()["cursor"], "row": -1}},
    {"cursor": {**meta_of()["cursor"], "past": 1 << 40}},  # reading began so many rows before the first
    {"cursor": {**meta_of()["cursor"], "row": "1"}},
    {"cursor": {**meta_of()["cursor"], "row": None}},
    {"cursor": {**meta_of()["cursor"], "column": 1}},
    {"cursor": {**meta_of()["cursor"], "inner": 3}},
    {"cursor": {**meta_of()["cursor"], "inner": {}}},
    {"cursor": nested(100)},
    {"labels": None},
    {"labels": "ab"},
    {"labels": [None]},
    {"labels": [["a"]]},
]


@pytest.mark.parametrize("changed", FORGED, ids=lambda changed: json.dumps(changed)[:60])
def test_forged_meta_is_refused(tmp_path, changed):
    header = {"kind": "checkpoint", "meta": meta_of(**changed), "arrays": {}}
    (tmp_path / "c").write_bytes(forge(header))
    with pytest.raises(FileFormatError, match="not a valid checkpoint"):
        Checkpoint.load(tmp_path / "c", IDENTITY)


@pytest.mark.parametrize("missing", list(meta_of()))
def test_missing_meta_is_refused(tmp_path, missing):
    meta = meta_of()
    del meta[missing]
    (tmp_path / "c").write_bytes(forge({"kind": "checkpoint", "meta": meta, "arrays": {}}))
    with pytest.raises(FileFormatError, match="not a valid checkpoint"):
        Checkpoint.load(tmp_path / "c", IDENTITY)


def test_forged_meta_in_order_loads(tmp_path):
    (tmp_path / "c").write_bytes(forge({"kind": "checkpoint", "meta": meta_of(cursor=nested(3)), "arrays": {}}))
    assert Checkpoint.load(tmp_path / "c", IDENTITY).cursor.inner.inner == Cursor()


def test_a_selection_is_no_checkpoint(tmp_path):
    th.select(np.eye(4), [0, 1, 0, 1], k=2).save(tmp_path / "s.thr")
    with pytest.raises(FileFormatError, match="this is a 'selection' file, a 'checkpoint' file is needed"):
        Checkpoint.load(tmp_path / "s.thr", IDENTITY)


def test_a_failed_save_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    make().save(tmp_path / "c")
    monkeypatch.setattr(container.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        make(passes_done=2).save(tmp_path / "c")
    assert os.listdir(tmp_path) == ["c"]
    assert Checkpoint.load(tmp_path / "c", IDENTITY).passes_done == 1


def test_an_interrupted_run_goes_on_to_the_same_bits(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 20))
    y = x[:, 3] > 0
    asked = {"k": 4, "passes": 3, "batch_rows": 16}
    straight = th.select(x, y, **asked)

    def stop(progress):
        if progress.rows >= 400:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        th.select(x, y, **asked, checkpoint=tmp_path / "c", progress=stop)
    assert os.listdir(tmp_path) == ["c"]
    with pytest.raises(ResumeError, match="k: 4 there, 5 now"):
        th.select(x, y, **{**asked, "k": 5}, checkpoint=tmp_path / "c")
    resumed = th.select(x, y, **asked, checkpoint=tmp_path / "c")
    assert os.listdir(tmp_path) == []
    assert resumed.weights.tobytes() == straight.weights.tobytes()
    assert resumed.intercept.tobytes() == straight.intercept.tobytes()
    assert resumed.keys.tolist() == straight.keys.tolist()


class FullDisk:
    """A disk that is full during some calls of fsync, counted from 1."""

    def __init__(self, monkeypatch, *calls):
        self.calls, self.number = calls, 0
        self.sync = os.fsync
        monkeypatch.setattr(os, "fsync", self)

    def __call__(self, descriptor):
        self.number += 1
        if self.number in self.calls or self.calls == (0,):
            raise OSError(28, "No space left on device")
        self.sync(descriptor)


@pytest.mark.parametrize("method", ["mission", "fgm", "os"])
def test_a_full_disk_does_not_end_the_run(tmp_path, monkeypatch, caplog, method):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 20))
    y = x[:, 3] > 0
    how = {"k": 4, "method": method} | ({"passes": 1, "refit": False, "memory": "4MB"} if method == "mission" else {})
    asked = {**how, "batch_rows": 50, "checkpoint": tmp_path / "c", "every": 0.0}
    straight = th.select(x, y, **how)
    disk = FullDisk(monkeypatch, 1)
    went_on = th.select(x, y, **asked)
    assert went_on.weights.tobytes() == straight.weights.tobytes()
    assert f"{tmp_path / 'c'}: cannot be written (No space left on device)" in caplog.text
    assert "The fit goes on" in caplog.text
    assert "not written" not in caplog.text or disk.number == 1
    assert os.listdir(tmp_path) == []
    FullDisk(monkeypatch, 0)
    caplog.clear()
    assert th.select(x, y, **asked).weights.tobytes() == straight.weights.tobytes()
    assert "its last checkpoint was not written" in caplog.text
    assert os.listdir(tmp_path) == []


def test_an_interrupt_with_a_full_disk_does_not_claim_a_checkpoint(tmp_path, monkeypatch):
    def stop(progress):
        raise KeyboardInterrupt

    x, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(th.Interrupted) as saved:
        th.select(x, y, k=2, passes=1, refit=False, checkpoint=tmp_path / "a", progress=stop)
    assert saved.value.saved == str(tmp_path / "a")
    FullDisk(monkeypatch, 0)
    with pytest.raises(th.Interrupted) as unsaved:
        th.select(x, y, k=2, passes=1, refit=False, checkpoint=tmp_path / "b", progress=stop)
    assert unsaved.value.saved is None


def test_a_selection_that_cannot_be_saved_is_not_lost(tmp_path, monkeypatch):
    x, y = np.eye(4), [0, 1, 0, 1]
    (tmp_path / "out.thr").write_bytes(b"old")
    FullDisk(monkeypatch, 1)
    with pytest.raises(th.UnwritableError, match=r"out\.thr: .*No space left.*is unchanged") as error:
        th.select(x, y, k=2, passes=1, refit=False, checkpoint=tmp_path / "c", output=tmp_path / "out.thr")
    assert len(error.value.selection) == 2
    assert (tmp_path / "out.thr").read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["c", "out.thr"]  # the checkpoint is removed only after the file is saved
    found = th.select(x, y, k=2, passes=1, refit=False, checkpoint=tmp_path / "c", output=tmp_path / "out.thr")
    assert th.load(tmp_path / "out.thr").weights.tobytes() == found.weights.tobytes()
    assert os.listdir(tmp_path) == ["out.thr"]


@pytest.mark.parametrize(
    ("method", "settings"),
    [("fgm", {"B": 1}), ("sparse-rf", {"lam": 2, "gamma": 0.1, "draws": 5, "max_iter": 4}), ("os", {"scans": 3})],
)
def test_a_resumed_run_writes_the_bytes_of_a_fresh_one(tmp_path, method, settings):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 20))
    y = x[:, 3] > 0
    asked = {"k": 4, "method": method, **settings}
    th.select(x, y, **asked, output=tmp_path / "straight")

    def stop(progress):
        if progress.passes_done > 1 and not progress.phase:
            raise KeyboardInterrupt

    with pytest.raises(th.Interrupted):
        th.select(x, y, **asked, checkpoint=tmp_path / "c", progress=stop)
    th.select(x, y, **asked, checkpoint=tmp_path / "c", output=tmp_path / "resumed")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "straight").read_bytes()
