"""The container: round trips, damage, forgery, and writing all or nothing."""

import errno
import hashlib
import json
import os
import stat
import struct
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from thresher.core.storage import container
from thresher.core.storage.atomic import write_atomically
from thresher.errors import FileFormatError, UnwritableError

HEAD = struct.Struct("<8sIIQ")
DTYPES = ["<f4", "<f8", "<i8", "<u2", "<u4", "<u8", "|u1"]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
arrays = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=5))
)


def forge(header, data=b"", *, version=1, header_size=None, total=None):
    """A file with a right checksum, whatever else is in it."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-(HEAD.size + len(text)) % 8)
    size = HEAD.size + len(text) + len(data) + 32 if total is None else total
    body = HEAD.pack(container.MAGIC, version, len(text) if header_size is None else header_size, size) + text + data
    return body + hashlib.blake2b(body, digest_size=32).digest()


def header_of(**sections):
    return {"kind": "test", "meta": {}, "arrays": sections}


def section(dtype="<f8", shape=(2,), offset=0, size=16):
    return {"dtype": dtype, "shape": list(shape), "offset": offset, "bytes": size}


def small():
    return container.Content("test", {"a": [1, None, "é"]}, {"x": np.arange(3.0), "y": np.arange(5, dtype=np.uint8)})


# ── round trips ──────────────────────────────────────────────────────────────────────────────────


@given(st.text(), st.dictionaries(st.text(), json_values, max_size=4), st.dictionaries(st.text(), arrays, max_size=4))
def test_what_goes_in_comes_out(kind, meta, stored):
    raw = container.encode(container.Content(kind, meta, stored))
    back = container.decode(raw)
    assert back.kind == kind
    assert back.meta == meta
    assert back.arrays.keys() == stored.keys()
    for name, array in stored.items():
        assert back.arrays[name].dtype == array.dtype
        assert back.arrays[name].shape == array.shape
        assert back.arrays[name].tobytes() == array.tobytes()
    assert container.encode(back) == raw


@given(st.lists(st.binary(max_size=9), max_size=6))
def test_strings_round_trip(strings):
    assert container.unpack_strings(*container.pack_strings(strings)) == strings


def test_big_endian_and_strided_arrays_are_stored_in_order():
    content = container.Content("test", {}, {"x": np.arange(8, dtype=">f8")[::2]})
    assert container.decode(container.encode(content)).arrays["x"].tolist() == [0.0, 2.0, 4.0, 6.0]


def test_the_order_of_members_does_not_change_the_bytes():
    a = container.Content("test", {"b": 1, "a": 2}, {"y": np.zeros(1), "x": np.ones(1)})
    b = container.Content("test", {"a": 2, "b": 1}, {"x": np.ones(1), "y": np.zeros(1)})
    assert container.encode(a) == container.encode(b)


def test_numpy_numbers_tuples_and_what_is_not_finite_are_made_plain():
    meta = {"k": np.int64(5), "pair": (1, 2), "array": np.arange(2), "bad": [np.nan, float("inf")], 3: np.True_}
    back = container.decode(container.encode(container.Content("test", meta, {}))).meta
    assert back == {"k": 5, "pair": [1, 2], "array": [0, 1], "bad": [None, None], "3": True}
    assert type(back["k"]) is int


def test_arrays_of_other_types_are_not_stored():
    with pytest.raises(TypeError, match="object"):
        container.encode(container.Content("test", {}, {"x": np.array([None])}))


# ── damage ───────────────────────────────────────────────────────────────────────────────────────


def test_every_flipped_bit_is_noticed():
    raw = container.encode(small())
    for at in range(len(raw)):
        for flip in (1, 2, 4, 8, 16, 32, 64, 128, 255):
            damaged = bytearray(raw)
            damaged[at] ^= flip
            with pytest.raises(FileFormatError):
                container.decode(bytes(damaged))


def test_every_truncation_and_addition_is_noticed():
    raw = container.encode(small())
    for size in range(len(raw)):
        with pytest.raises(FileFormatError):
            container.decode(raw[:size])
    for more in (b"\0", b"\n", raw):
        with pytest.raises(FileFormatError, match="appended"):
            container.decode(raw + more)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(raw):
    for text in (raw, container.MAGIC + raw):
        with pytest.raises(FileFormatError):
            container.decode(text)


# ── forgery: the checksum is right, the content is not ───────────────────────────────────────────

FORGED = {
    "no JSON": b"{",
    "not UTF-8": b'{"kind": "\xff"}',
    "no object": [],
    "a number": 7,
    "nothing": b"",
    "no members": {},
    "no meta": {"kind": "test", "arrays": {}},
    "kind is no string": {"kind": 1, "meta": {}, "arrays": {}},
    "meta is no object": {"kind": "test", "meta": [], "arrays": {}},
    "arrays is no object": {"kind": "test", "meta": {}, "arrays": []},
    "array is no object": header_of(x=3),
    "array lacks members": header_of(x={"dtype": "<f8"}),
    "NaN": b'{"kind": "test", "meta": {"a": NaN}, "arrays": {}}',
    "Infinity": b'{"kind": "test", "meta": {"a": -Infinity}, "arrays": {}}',
    "member twice": b'{"kind": "test", "kind": "test", "meta": {}, "arrays": {}}',
    "member twice, inside": b'{"kind": "test", "meta": {"a": {"b": 1, "b": 2}}, "arrays": {}}',
    "array twice": b'{"kind": "test", "meta": {}, "arrays": {"x": 1, "x": 1}}',
    "deep lists": b'{"kind": "test", "arrays": {}, "meta": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "endless number": b'{"kind": "test", "meta": {"a": ' + b"9" * 10_000 + b'}, "arrays": {}}',
    "objects": header_of(x=section("O")),
    "pickles": header_of(x=section("|O8")),
    "strings": header_of(x=section("<U4")),
    "big endian": header_of(x=section(">f8")),
    "a list of types": header_of(x=section(["<f8"])),
    "no type": header_of(x=section(None)),
    "huge": header_of(x=section(shape=[2**60])),
    "huge, twice": header_of(x=section(shape=[2**40, 2**40], size=2**83)),
    "huge and empty": header_of(x=section(shape=[0, 2**62], size=16)),
    "huge beyond sizes": header_of(x=section(shape=[0, 2**64], size=0)),
    "overflowing to the right size": header_of(x=section("|u1", shape=[2**32 + 1, 2**32], size=2**32)),
    "negative shape": header_of(x=section(shape=[-2])),
    "twice negative shape": header_of(x=section(shape=[-1, -2])),
    "fractional shape": header_of(x=section(shape=[2.0])),
    "a true shape": header_of(x=section("|u1", shape=[True], size=1)),
    "shape of text": header_of(x={**section(), "shape": "2"}),
    "shape is a number": header_of(x={**section(), "shape": 2}),
    "three dimensions": header_of(x=section(shape=[1, 1, 2])),
    "negative offset": header_of(x=section(offset=-8)),
    "unaligned": header_of(x=section("|u1", offset=1, shape=[2], size=2)),
    "text as offset": header_of(x=section(offset="0")),
    "infinite offset": json.dumps(header_of(x=section(offset=12345))).encode().replace(b"12345", b"1e999"),
    "past the end": header_of(x=section(offset=24)),
    "far past the end": header_of(x=section(offset=2**62)),
    "empty past the end": header_of(x=section(shape=[0], offset=40, size=0)),
    "size does not fit": header_of(x=section(size=8)),
    "negative size": header_of(x=section(size=-16)),
    "overlapping": header_of(x=section(), y=section(offset=8)),
    "the same place": header_of(x=section(), y=section()),
}


@pytest.mark.parametrize("header", FORGED.values(), ids=FORGED.keys())
def test_forged_headers_are_refused_without_allocating(header):
    raw = forge(header, bytes(32))
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError):
            container.decode(raw)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # JSON itself, however deep, takes a little per byte.
    assert peak < 1_000_000 + 20 * len(raw)


def test_the_forger_can_write_a_good_file():
    content = container.decode(forge(header_of(x=section(), y=section(offset=16)), bytes(32)))
    assert content.arrays["x"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"version": 2}, "Upgrade"),
        ({"version": 2**32 - 1}, "Upgrade"),
        ({"version": 0}, "format 0"),
        ({"header_size": 2**32 - 1}, "header"),
        ({"header_size": 3}, "header"),
        ({"header_size": 0}, "header"),
        ({"total": 2**64 - 1}, "cut short"),
        ({"total": 0}, "appended"),
    ],
)
def test_forged_sizes_and_versions_are_refused(how, message):
    with pytest.raises(FileFormatError, match=message):
        container.decode(forge({"kind": "test", "meta": {}, "arrays": {}}, **how))


@pytest.mark.parametrize(
    ("offsets", "text"),
    [
        (np.zeros(0, np.int64), np.zeros(0, np.uint8)),
        (np.array([1, 2]), np.zeros(2, np.uint8)),
        (np.array([0, 3]), np.zeros(2, np.uint8)),
        (np.array([0, 2, 1, 2]), np.zeros(2, np.uint8)),
        (np.array([0, -1, 2]), np.zeros(2, np.uint8)),
        (np.array([0.0, np.nan, 2.0]), np.zeros(2, np.uint8)),
        (np.array([[0, 2]]), np.zeros(2, np.uint8)),
        (np.array([0, 2]), np.zeros(2)),
    ],
)
def test_stored_names_out_of_order_are_refused(offsets, text):
    with pytest.raises(FileFormatError, match="names"):
        container.unpack_strings(offsets, text)


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def test_reading_says_which_file(tmp_path):
    path = tmp_path / "a.thr"
    with pytest.raises(FileFormatError, match=r"a\.thr: cannot be read \(No such file"):
        container.read(path, "test")
    with pytest.raises(FileFormatError, match="cannot be read"):
        container.read(tmp_path, "test")
    path.write_bytes(b"1 3:4\n" * 1000)
    with pytest.raises(FileFormatError, match=r"a\.thr: not a Thresher file"):
        container.read(path, "test")
    path.write_bytes(b"")
    with pytest.raises(FileFormatError, match="not a Thresher file"):
        container.read(path, "test")
    container.write(path, small())
    with pytest.raises(FileFormatError, match=r"a\.thr: this is a 'test' file, a 'selection' file is needed"):
        container.read(path, "selection")
    assert container.read(path, "test").meta == small().meta


def test_a_file_that_is_not_ours_is_not_read_whole(tmp_path):
    path = tmp_path / "large"
    with open(path, "wb") as file:
        file.truncate(1 << 40)  # takes no room on the disk
    with pytest.raises(FileFormatError, match="not a Thresher file"):
        container.read(path, "test")


class Interrupting(Exception):
    pass


def half_way(file):
    file.write(b"half")
    raise Interrupting


def test_a_writer_that_fails_half_way_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.thr"
    for error in (Interrupting, KeyboardInterrupt):
        with pytest.raises(error):
            write_atomically(path, lambda file, error=error: (file.write(b"x"), (_ for _ in ()).throw(error)))
    assert os.listdir(tmp_path) == []
    path.write_bytes(b"old")
    with pytest.raises(Interrupting):
        write_atomically(path, half_way)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.thr"]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch, failing):
    path = tmp_path / "a.thr"
    container.write(path, small())
    old = path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, failing, full)
    with pytest.raises(OSError, match="No space left"):
        container.write(path, container.Content("other", {}, {}))
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["a.thr"]


def test_a_file_that_cannot_be_encoded_leaves_the_old_one(tmp_path):
    path = tmp_path / "a.thr"
    container.write(path, small())
    with pytest.raises(TypeError):
        container.write(path, container.Content("test", {"a": object()}, {}))
    assert container.read(path, "test").meta == small().meta
    assert os.listdir(tmp_path) == ["a.thr"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions as on Unix")
def test_the_usual_permissions(tmp_path):
    old = os.umask(0o027)
    try:
        container.write(tmp_path / "a.thr", small())
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(tmp_path / "a.thr").st_mode) == 0o640


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link.thr"
    link.symlink_to(tmp_path / "there" / "a.thr")
    container.write(link, small())
    assert link.is_symlink()
    assert os.listdir(tmp_path / "there") == ["a.thr"]
    assert container.read(link, "test").meta == small().meta


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has /dev/full")
def test_devices_are_written_to_and_stay_devices():
    container.write("/dev/null", small())
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(OSError, match="No space left"):
        container.write("/dev/full", small())


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(OSError, match="directory"):
        container.write(tmp_path, small())
    with pytest.raises(UnwritableError, match="No such file or directory"):
        container.write(tmp_path / "no" / "such" / "a.thr", small())
    assert os.listdir(tmp_path) == []
