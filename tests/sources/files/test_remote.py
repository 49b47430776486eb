"""Files elsewhere: against a web server and an S3 server on this machine, and fsspec's files in memory."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import thresher as th
from tests.sources.files.web_server import Site, web_server
from tests.sources.reading import exactly, read
from thresher.core.memory import MB, ReadLimits
from thresher.errors import DataError, MissingExtraError, UnreadableError
from thresher.sources.files import remote, remote_ranges
from thresher.sources.files.paths import Stream, find_parts, is_remote

fsspec = pytest.importorskip("fsspec", reason="pip install 'thresher[remote]'")

TEXT = b"".join(b"%d | w%d:%d v%d\n" % (i % 2, i % 97, i % 13 + 1, i) for i in range(20_000))


@pytest.fixture
def site() -> Iterator[Site]:
    pytest.importorskip("aiohttp", reason="pip install 'thresher[remote]'")
    with web_server() as site:
        yield site


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_RETRY_DELAYS", (0.0, 0.0))
    monkeypatch.setattr(remote, "_MAX_PIECE", 1 << 16)  # several pieces of a small file
    remote.stored_bytes.cache_clear()
    remote_ranges.divisible.cache_clear()


@pytest.fixture
def local(tmp_path: Path) -> Path:
    (tmp_path / "rows.vw").write_bytes(TEXT)
    return tmp_path / "rows.vw"


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The rows of a file here."""
    path = tmp_path_factory.mktemp("local") / "rows.vw"
    path.write_bytes(TEXT)
    return exactly(read(th.scan(path), want_names=True))


@pytest.mark.parametrize("path", ["s3://b/k.vw", "https://h/x", "memory://a", "simplecache::s3://b/k", "gs://b/k"])
def test_what_is_an_address(path: str) -> None:
    assert is_remote(path)


@pytest.mark.parametrize("path", ["a.vw", "/a/b", "C:\\a\\b", "c:/a", "-", "a::b"[1:], "https:/x"])
def test_what_is_a_path(path: str) -> None:
    assert not is_remote(path)


@pytest.mark.parametrize("change", [bytes, gzip.compress, lzma.compress, bz2.compress])
@pytest.mark.parametrize(("ranges", "sized"), [(True, True), (False, True), (False, False)])
def test_the_rows_of_a_web_page_are_those_of_the_file(
    site: Site, expected: list[str], change: Any, ranges: bool, sized: bool
) -> None:
    site.ranges, site.sized = ranges, sized
    stored = change(TEXT)
    source = th.scan(site.put("rows.vw", stored))
    assert exactly(read(source, want_names=True)) == expected
    assert source.total_bytes == (len(stored) if sized else None)
    assert source.rewindable


def test_going_on_from_a_cursor(site: Site) -> None:
    for name, content in (("rows.vw", TEXT), ("rows.vw.gz", gzip.compress(TEXT))):
        source = th.scan(site.put(name, content)).limited(ReadLimits(block=50_000))
        everything, done = exactly(read(source)), 0
        for batch, cursor in source.batches(3000):
            done += len(batch)
            site.asked.clear()
            rest = source.batches(3000, start=cursor)
            assert exactly(row for row in read(source, start=cursor)) == everything[done:]
            rest.close()  # type: ignore[attr-defined]


def test_only_what_is_needed_is_fetched(site: Site) -> None:
    """Reading on from the middle fetches from there; the first rows take the first pieces."""
    url = site.put("rows.vw", TEXT)
    source = th.scan(url).limited(ReadLimits(block=1000))
    reading = source.batches(10)
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert max(end for _, end in site.asked) <= 2 << 16
    cursors = [cursor for _, cursor in source.batches(1000)]
    middle = cursors[len(cursors) // 2]
    site.asked.clear()
    next(source.batches(10, start=middle))
    begins = {begin for begin, _ in site.asked}
    assert middle.offset in begins
    assert not [begin for begin in begins if 1 << 16 < begin < middle.offset]  # the first piece, and one ahead


def test_selecting_and_resuming(site: Site, local: Path, tmp_path: Path) -> None:
    from tests.online.test_select import _StopAt

    url = site.put("rows.vw.gz", gzip.compress(TEXT))
    packed = local.with_name("rows.vw.gz")
    packed.write_bytes(gzip.compress(TEXT))
    expected = th.select(packed, k=10, passes=2)
    assert th.select(url, k=10, passes=2).weights.tolist() == expected.weights.tolist()
    options: dict[str, Any] = {"k": 10, "passes": 2, "checkpoint": tmp_path / "c", "batch_rows": 1000}
    with pytest.raises(th.Interrupted):
        th.select(url, **options, progress=_StopAt(27))
    resumed = th.select(url, **options, cache=tmp_path / "cache")
    assert resumed.weights.tolist() == expected.weights.tolist()
    site.asked.clear()
    th.select(url, k=10, passes=2, cache=tmp_path / "cache")
    assert len(site.asked) <= 2  # the first bytes show the format; the rows are here


def test_the_cache_is_written_anew_when_the_file_changed(site: Site, tmp_path: Path) -> None:
    url = site.put("rows.vw", TEXT)
    source = th.scan(url, cache=tmp_path / "cache")
    before, fingerprint = read(source), source.fingerprint()
    site.put("rows.vw", TEXT.replace(b"w5:", b"w6:", 1))
    assert source.fingerprint() != fingerprint
    assert read(source) != before
    assert exactly(read(source)) == exactly(read(th.scan(url)))


@pytest.mark.parametrize("change", [bytes, gzip.compress])
def test_a_lost_connection_is_taken_up_again(site: Site, local: Path, change: Any) -> None:
    url = site.put("rows.vw", change(TEXT))
    expected = exactly(read(th.scan(local)))
    site.cut_after, site.cuts = 1000, 2
    assert exactly(read(th.scan(url))) == expected
    assert site.cuts == 0


@pytest.mark.parametrize("change", [bytes, gzip.compress, lzma.compress])
@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_connection_that_stays_lost_names_the_place(site: Site, change: Any, on_error: Any) -> None:
    """Also where bad lines are skipped: nothing is wrong with the data."""
    content = change(TEXT + TEXT)
    url = site.put("rows.vw", content)
    source = th.scan(url, on_error=on_error)
    site.cut_after, site.cuts = 1000, 10**6
    told = rf"{url}: reading failed at byte 0 of {len(content)}, after 3 tries \(.*Check the connection"
    with pytest.raises(UnreadableError, match=told):
        read(source)


def test_a_stream_that_breaks_off_cannot_go_on(site: Site) -> None:
    url = site.put("rows.vw", TEXT)
    site.ranges, site.cut_after, site.cuts = False, 200_000, 10**6
    with pytest.raises(UnreadableError, match=r"failed at byte \d+ of \d+, and the server supports no byte ranges"):
        read(th.scan(url))


def test_it_breaks_off_in_the_middle(site: Site) -> None:
    url = site.put("rows.vw", TEXT)
    rows = 0
    with pytest.raises(UnreadableError, match=r"reading failed at byte (65536|131072|196608) of"):
        for batch, _ in th.scan(url).limited(ReadLimits(block=1000)).batches(10):
            rows += len(batch)
            site.cut_after, site.cuts = 1000, 10**6
    assert 1000 < rows < 20_000


def test_what_is_not_there(site: Site) -> None:
    for url in (f"{site.address}/nothing.vw", "memory://no/rows.vw"):
        with pytest.raises(UnreadableError, match=rf"{url}: there is no such file"):
            read(th.scan(url))
    with pytest.raises(UnreadableError, match=r"127\.0\.0\.1:9/rows\.vw: there is no such file .*Check the address"):
        read(th.scan("http://127.0.0.1:9/rows.vw"))
    with pytest.raises(UnreadableError, match="nosuch"):
        th.scan("nosuch://a/b.vw")


@pytest.fixture
def memory() -> Iterator[Any]:
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


def test_globs_and_folders(memory: Any, site: Site, tmp_path: Path) -> None:
    for number, text in ((2, TEXT[:1000]), (10, TEXT[:500]), (1, TEXT[:2000])):
        text = text.rpartition(b"\n")[0] + b"\n"
        (tmp_path / f"part{number}.vw").write_bytes(text)
        memory.pipe(f"/data/part{number}.vw.gz", gzip.compress(text))
        site.put(f"data/part{number}.vw", text)
    memory.pipe("/data/inside/other.vw", b"1 | a\n")
    memory.pipe("/data/.hidden", b"")
    expected = exactly(read(th.scan(tmp_path / "part*.vw")))
    assert len(expected) > 100
    for url in ("memory://data/part*.vw.gz", "memory://data", f"{site.address}/data/part*.vw"):
        parts = find_parts(url)
        assert [part.name.rpartition("/")[2].partition(".")[0] for part in parts] == ["part1", "part2", "part10"]
        assert exactly(read(th.scan(url))) == expected
    for url, told in (("memory://data/no*", "no file matches"), ("memory://data/inside/no?", "no file matches")):
        with pytest.raises(DataError, match=told):
            th.scan(url)
    memory.mkdir("/empty")
    with pytest.raises(DataError, match="has no files"):
        th.scan("memory://empty")


def test_fingerprints(memory: Any, site: Site) -> None:
    """By size and tag: another content of the same size is another file, the same content the same."""
    first = th.scan(site.put("rows.vw", TEXT)).fingerprint()
    assert th.scan(site.put("again.vw", TEXT)).fingerprint() == first
    assert th.scan(site.put("rows.vw", TEXT.replace(b"w5", b"w6"))).fingerprint() != first
    memory.pipe("/rows.vw", TEXT)
    source = th.scan("memory://rows.vw")
    before = source.fingerprint()
    assert source.fingerprint() == before
    memory.pipe("/rows.vw", TEXT[:100])
    assert source.fingerprint() != before


def test_sequences_elsewhere(memory: Any, tmp_path: Path) -> None:
    for name, letters in (("alpha", b"ACGTTGCA" * 40), ("beta", b"GGATCCAT" * 40)):
        record = b">one\n" + letters + b"\n>two\n" + letters[3:] + b"\n"
        (tmp_path / f"{name}.fa").write_bytes(record)
        memory.pipe(f"/genomes/{name}.fa.gz", gzip.compress(record))
    here, there = (th.scan(path, kmer=5) for path in (str(tmp_path / "*.fa"), "memory://genomes/*.fa.gz"))
    assert exactly(read(there)) == exactly(read(here))


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.csv", "x.jsonl"])
def test_tables_elsewhere(memory: Any, tmp_path: Path, name: str) -> None:
    rows = [{"y": float(i % 2), "a": float(i), "c": "uv"[i % 2]} for i in range(500)]
    table = pa.Table.from_pylist(rows)
    path = tmp_path / name
    if name.endswith("parquet"):
        pq.write_table(table, path)
    elif name.endswith("arrow"):
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    elif name.endswith("csv"):
        pc.write_csv(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    memory.pipe(f"/tables/{name}", path.read_bytes())
    here, there = (th.scan(place, target="y") for place in (str(path), f"memory://tables/{name}"))
    assert exactly(read(there)) == exactly(read(here))


def test_a_large_file_is_not_held(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_MAX_PIECE", 4 * MB)
    url = site.put("rows.vw", TEXT * 70)
    with Stream(url, window_limit=4 * MB) as stream:
        tracemalloc.start()
        block, total = bytearray(MB), 0
        while n := stream.readinto(memoryview(block)):
            total += n
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert total == 70 * len(TEXT) > 20 * MB
    # The server answers from this process too: what it writes is a slice of the file.
    assert peak < 8 * MB


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(MissingExtraError, match=r"gs://b/k\.vw: reading gs:// needs.*pip install 'thresher\[gcs\]'"):
        th.scan("gs://b/k.vw")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match=r"needs fsspec: pip install 'thresher\[remote\]'"):
        th.scan("s3://b/k.vw")


@pytest.fixture(scope="module")
def bucket() -> Iterator[Any]:
    """A bucket of an S3 server on this machine."""
    pytest.importorskip("s3fs", reason="pip install 'thresher[s3]'")
    moto = pytest.importorskip("moto.server", reason="pip install 'moto[server]'")
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    how = {"key": "test", "secret": "test", "endpoint_url": f"http://{host}:{port}"}
    fsspec.config.conf["s3"] = how
    files = fsspec.filesystem("s3")
    files.mkdir("bucket")
    yield files
    del fsspec.config.conf["s3"]
    files.close_session(files.loop, files.s3)
    server.stop()


def test_s3(bucket: Any, local: Path, tmp_path: Path) -> None:
    bucket.pipe("bucket/data/part1.vw", TEXT[: TEXT.index(b"\n", 100_000) + 1])
    bucket.pipe("bucket/data/part2.vw.gz", gzip.compress(TEXT[TEXT.index(b"\n", 100_000) + 1 :]))
    expected = exactly(read(th.scan(local)))
    for url in ("s3://bucket/data/*", "s3://bucket/data", "s3://bucket/data/part?.vw*"):
        assert exactly(read(th.scan(url))) == expected
    plain = th.select(local, k=10, shuffle=False)
    kept = th.select("s3://bucket/data/*", k=10, shuffle=False, cache=tmp_path / "cache")
    assert kept.weights.tolist() == plain.weights.tolist()
    source = th.scan("s3://bucket/data/part1.vw")
    before = source.fingerprint()
    bucket.pipe("bucket/data/part1.vw", TEXT[:99_999] + b"\n")
    assert source.fingerprint() != before
    with pytest.raises(UnreadableError, match=r"s3://bucket/data/part9\.vw: there is no such file"):
        read(th.scan("s3://bucket/data/part9.vw"))


SECRETS = ("s3cretuser", "pa55word", "t0kenvalue")


def with_secrets(site: Site, name: str) -> str:
    user, password, token = SECRETS
    return site.address.replace("http://", f"http://{user}:{password}@") + f"/{name}?token={token}&x.y=1"


def test_no_password_of_an_address_is_stored(site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Neither in the selection and its exports, nor in a checkpoint, a cache, a log line or a representation."""
    caplog.set_level("INFO")
    site.put("rows.vw", TEXT + b"not a row\n")
    url = with_secrets(site, "rows.vw")
    seen: list[Any] = []
    options: dict[str, Any] = {"k": 3, "on_error": "skip", "cache": tmp_path / "cache", "passes": 2, "refit": False}
    found = th.select([url, url], **options, checkpoint=tmp_path / "c", every=0, progress=seen.append)
    with pytest.raises(KeyboardInterrupt):
        th.select(url, k=3, passes=2, refit=False, checkpoint=tmp_path / "kept", every=0, progress=_interrupt())
    found.save(tmp_path / "a.thr")
    found.export(tmp_path / "a.json")
    texts = [repr(found), str(found.provenance), caplog.text, repr(th.scan(url)), *map(str, seen)]
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in written} > {"a.thr", "a.json", "kept"}
    texts += [f"{path}{path.read_bytes()!r}" for path in written]
    assert not [(secret, text[:300]) for secret in SECRETS for text in texts if secret in text]
    assert f"http://***@{site.address[7:]}/rows.vw?token=***&x.y=***" in found.provenance["data"]
    assert list(found.provenance["skipped_files"]) == [f"http://***@{site.address[7:]}/rows.vw?token=***&x.y=***"]


def _interrupt() -> Any:
    calls = iter(range(3))

    def stop(_: Any) -> None:
        if next(calls) == 2:
            raise KeyboardInterrupt

    return stop


@pytest.mark.parametrize("name", ["missing.vw", "cut.vw", "cut.vw.gz", "bad.vw", "empty.vw", "data", "t.parquet"])
def test_no_error_shows_the_password_of_an_address(site: Site, name: str) -> None:
    contents = {
        "cut.vw": TEXT,
        "cut.vw.gz": gzip.compress(TEXT)[:1000],
        "bad.vw": b"|\n x\n",
        "empty.vw": b"",
        "data": b"?\n",
        "t.parquet": b"PAR1 damaged",
    }
    if name in contents:
        site.put(name, contents[name])
    if name == "cut.vw":
        site.cut_after, site.cuts = 100, 99
    with pytest.raises(DataError) as caught:
        th.select(with_secrets(site, name), k=3, target="y" if name == "t.parquet" else None)
    assert not [secret for secret in SECRETS if secret in str(caught.value)]
    assert f"{name}?token=***" in str(caught.value)


def test_the_label_of_sequences_is_the_name_without_the_query(site: Site) -> None:
    site.put("ecoli.fa", b">a\nACGTACGTACGTACGT\n")
    [(batch, _)] = th.scan(with_secrets(site, "ecoli.fa")).batches()
    assert batch.y is not None
    assert batch.y.tolist() == ["ecoli"]


def test_a_file_of_an_earlier_version_shows_no_password(tmp_path: Path) -> None:
    from tests.selection.makers import make

    old = make([1.0, -1.0])
    old.provenance["data"] = "http://user:pa55word@host/f.vw?token=t0kenvalue and 3 more"
    old.save(tmp_path / "old.thr")
    assert th.load(tmp_path / "old.thr").provenance["data"] == "http://***@host/f.vw?token=*** and 3 more"


def test_workers_read_ranges_of_remote_files(memory: Any, site: Site, tmp_path: Path) -> None:
    """Blocks and shards have the rows of the file, each once; ranges are requested, and not the whole file."""
    from thresher.sources.text.line_formats import LineSource

    (tmp_path / "rows.vw").write_bytes(TEXT)
    here = th.scan(tmp_path / "rows.vw")
    memory.pipe("/rows.vw", TEXT)
    for url in ("memory://rows.vw", (tmp_path / "rows.vw").as_uri(), site.put("rows.vw", TEXT)):
        whole = th.scan(url)
        assert isinstance(whole, LineSource)
        assert whole.blocks() is None
        assert len(whole.shards(3)) == 1
        source = whole.in_ranges()
        parts = source.shards(3)
        assert len(parts) == 3
        assert [row for part in parts for row in exactly(read(part))] == exactly(read(here))
        blocks = source.blocks()
        assert blocks is not None
        assert blocks.count > 3
        mixed = [source.permuted(1).nth_part(part, 2) for part in range(2)]
        rows = [row for part in mixed for row in exactly(read(part, want_names=True))]
        assert rows != exactly(read(here, want_names=True))
        assert sorted(rows) == sorted(exactly(read(here, want_names=True)))
        assert source.fingerprint() == whole.fingerprint()


def test_workers_have_the_same_answer_from_remote_files(memory: Any, site: Site, tmp_path: Path) -> None:
    how: dict[str, Any] = {"k": 10, "workers": 2, "sync": 300, "passes": 1, "refit": False, "memory": "4MB"}
    memory.pipe("/rows.vw", TEXT)
    memory.pipe("/rows.vw.gz", gzip.compress(TEXT))
    found = [th.select(url, **how) for url in ("memory://rows.vw", site.put("rows.vw", TEXT))]
    assert found[0].provenance["workers"]["count"] == 2
    assert found[0].names == found[1].names
    assert found[0].weights.tolist() == found[1].weights.tolist()
    assert th.scan("memory://rows.vw.gz").in_ranges().blocks() is None
    fgm = {"k": 5, "method": "fgm", "preset": "fixed"}
    assert th.select("memory://rows.vw", workers=3, **fgm).names == th.select("memory://rows.vw", **fgm).names


def test_long_and_malformed_lines_of_remote_blocks(memory: Any, tmp_path: Path) -> None:
    text = TEXT[:150_000] + b"1 | " + b" ".join(b"long%d" % i for i in range(4000)) + b"\n" + TEXT[150_000:]
    text = text.replace(b"\n1 | w5:", b"\nno | w5:", 3)
    (tmp_path / "rows.vw").write_bytes(text)
    memory.pipe("/rows.vw", text)
    here, there = th.scan(tmp_path / "rows.vw", on_error="skip"), th.scan("memory://rows.vw", on_error="skip")
    assert sorted(exactly(read(there.in_ranges().permuted(3)))) == sorted(exactly(read(here)))
    with pytest.raises(DataError, match=r"rows.vw: line \d+( behind byte \d+)?, column 1: the label"):
        list(th.scan("memory://rows.vw").in_ranges().permuted(3).batches())


def test_a_server_without_ranges_is_read_from_the_beginning(site: Site) -> None:
    site.ranges = False
    source = th.scan(site.put("rows.vw", TEXT)).in_ranges()
    assert source.blocks() is None
    assert len(source.shards(2)) == 1
