"""Standard input, reading on a second thread, and memory: what only a process of its own can show."""

from __future__ import annotations

import gzip
import lzma
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.sources.reading import exactly, read
from thresher.sources.base import Prefetched
from thresher.sources.text.line_formats import scan_libsvm

TEXT = b"".join(b"%d %d:%d\n" % (i % 2, i, i + 1) for i in range(3000))
PATIENCE = 60


def run(script: str, *arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess:
    """Run a script in an interpreter of its own; it must end by itself and not by a signal."""
    command = [sys.executable, "-W", "error", "-c", script, *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=PATIENCE, check=False)


COUNT = """
from thresher.sources.registry import scan
source = scan("-", format="libsvm")
assert not source.rewindable and source.total_bytes is None
print(sum(len(batch) for batch, _ in source.batches(100)), source.describe())
"""


@pytest.mark.parametrize("change", [bytes, gzip.compress, lzma.compress])
def test_standard_input(change):
    done = run(COUNT, stdin=change(TEXT))
    assert done.stdout.split() == [b"3000", b"<stdin>"], done.stderr


def test_standard_input_that_comes_byte_by_byte():
    """The compression shows in the first six bytes, however they come."""
    process = subprocess.Popen([sys.executable, "-c", COUNT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    data = lzma.compress(TEXT)
    for i in range(8):
        process.stdin.write(data[i : i + 1])
        process.stdin.flush()
        time.sleep(0.01 if i else 0.5)  # the first byte waits for the reader
    out, _ = process.communicate(data[8:], timeout=PATIENCE)
    assert out.split() == [b"3000", b"<stdin>"]


def test_standard_input_goes_on_from_a_cursor():
    """With the same data piped in again, by reading up to the place."""
    script = """
from thresher.core.batch import Cursor
from thresher.sources.registry import scan
batches = scan("-", format="libsvm").batches(100, start=Cursor(offset=6, line=1, row=1))
print(sum(len(batch) for batch, _ in batches))
"""
    assert TEXT[:6] == b"0 0:1\n"
    done = run(script, stdin=TEXT)
    assert done.stdout.split() == [b"2999"], done.stderr


@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_standard_input_cannot_be_read_twice(on_error):
    script = f"""
from thresher.errors import DataError
from thresher.sources.registry import scan
source = scan("-", format="libsvm", on_error={on_error!r})
print(sum(len(batch) for batch, _ in source.batches()))
try:
    list(source.batches())
except DataError as error:
    print(error)
"""
    done = run(script, stdin=TEXT)
    first, second = done.stdout.decode().splitlines()
    assert first == "3000"
    assert "<stdin>: no data arrived. It can be read only once" in second


def test_errors_in_standard_input_say_so():
    done = run(COUNT, stdin=b"1 2:3\n1 oops\n")
    assert b"<stdin>: line 2, column 3: " in done.stderr


# Reading ahead


@pytest.fixture
def path(tmp_path) -> Path:
    (tmp_path / "rows").write_bytes(TEXT)
    return tmp_path / "rows"


# Threads of other tests come and go, so these count in a process of their own.
THREADS = """
import gc, sys, time
from pathlib import Path
from thresher.sources.base import Prefetched
from thresher.sources.text.line_formats import scan_libsvm
def threads():  # also those Python knows nothing of
    return len(list(Path("/proc/self/task").iterdir()))
def open_files():
    links = Path("/proc/self/fd").iterdir()
    return sum(link.exists() and link.resolve() == Path(sys.argv[1]).resolve() for link in links)
def settle(count):  # a thread that was joined is listed for a moment more
    until = time.monotonic() + 20
    while threads() > count and time.monotonic() < until:
        time.sleep(0.01)
    return threads() - count, open_files()
source = Prefetched(scan_libsvm(sys.argv[1]))
list(source.batches())  # whatever starts threads once has done so
before = min(time.sleep(0.01) or threads() for _ in range(20))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_closing_half_way_ends_the_thread_and_closes_the_file(path):
    script = """
batches = source.batches(1)
next(batches)
print(threads() - before, open_files())
batches.close()
print(*settle(before))
"""
    done = run(THREADS + script, path)
    assert done.stdout.split() == [b"1", b"1", b"0", b"0"], done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_leaving_a_loop_ends_the_thread(path):
    script = """
for _ in source.batches(1):
    break
gc.collect()
print(*settle(before))
"""
    done = run(THREADS + script, path)
    assert done.stdout.split() == [b"0", b"0"], done.stderr


def test_a_depth_of_one_is_enough(path):
    assert exactly(read(Prefetched(scan_libsvm(path), depth=1), 7)) == exactly(read(scan_libsvm(path)))


@pytest.mark.parametrize("ending", ["", "raise SystemExit(0)", "batches.close()", "del batches"])
def test_the_interpreter_ends_with_one_still_open(path, ending):
    script = f"""
import sys
from thresher.sources.base import Prefetched
from thresher.sources.text.line_formats import scan_libsvm
batches = Prefetched(scan_libsvm(sys.argv[1])).batches(1)
more = Prefetched(scan_libsvm(sys.argv[1]).shuffled(0, rows=10, features=100)).batches(1)
print(len(next(batches)[0]) + len(next(more)[0]), flush=True)
{ending}
"""
    done = run(script, path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"2\n", b"")


# Memory


READ_GROWTH = """
import re, sys
from pathlib import Path
from thresher.sources.registry import scan
def read(path):
    rows = 0
    for batch, _ in scan(path).batches(want_names=True):
        rows += len(batch)
    return rows
def most_held():  # unlike ru_maxrss, this forgets what the process was before it ran this
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])
read(sys.argv[1])
before = most_held()
rows = read(sys.argv[2])
print(rows, most_held() - before)
"""


def growth_in_mb(small: Path, large: Path) -> tuple[int, float]:
    """Rows of the large file, and what reading it took over reading the small one."""
    done = run(READ_GROWTH, small, large)
    rows, kilobytes = done.stdout.split()
    return int(rows), int(kilobytes) / 1024


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("compression", ["plain", "gz", "zst"])
def test_memory_does_not_grow_with_the_file(tmp_path, compression):
    import zstandard

    change = {"plain": bytes, "gz": gzip.compress, "zst": zstandard.ZstdCompressor().compress}[compression]
    block = b"".join(b"%d %d:1.5 %d:%d 99:0.25\n" % (i % 2, i, i * 7919, i % 17) for i in range(40_000))
    small, medium, large = (tmp_path / name for name in ("small.svm", "medium.svm", "large.svm"))
    small.write_bytes(change(b"\n".join(block.split(b"\n")[:10]) + b"\n"))
    times = (15 << 20) // len(block)
    for path, n in ((medium, times), (large, 4 * times)):
        with path.open("wb") as file:
            if compression == "zst":  # one frame, in which repeats cost next to nothing
                file.write(change(block * n))
            else:
                piece = change(block)
                for _ in range(n):
                    file.write(piece)
    rows, some = growth_in_mb(small, medium)
    assert rows == 40_000 * times
    rows, more = growth_in_mb(small, large)
    assert rows == 40_000 * times * 4
    assert more < 24, f"reading {os.path.getsize(large) >> 20} MB took {more:.1f} MB more"
    assert abs(more - some) < 8


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_memory_does_not_grow_with_sequences(tmp_path):
    """Neither with the records of a file nor with the length of its lines."""
    block = b"".join(b">r%d\n" % i + b"ACGTTGCAAC" * (20 + i % 90) + b"\n" for i in range(1000))
    small, medium, large = (tmp_path / name for name in ("small.fa", "medium.fa", "large.fa"))
    small.write_bytes(block[:20_000])
    for path, n in ((medium, 16), (large, 64)):
        path.write_bytes(block * n)
    rows, some = growth_in_mb(small, medium)
    assert rows == 16_000
    rows, more = growth_in_mb(small, large)
    assert rows == 64_000
    assert more < 24
    assert abs(more - some) < 8
