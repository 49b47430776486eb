"""Iterators prefetched on a thread of their own: same items, same exceptions, and an end on request."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from thresher import _native


@pytest.mark.parametrize("depth", [0, 1, 3, 100])
def test_order(depth):
    """Everything comes out once and in order, and the end stays the end."""
    queue = _native.PrefetchIterator(iter(range(500)), depth)
    assert iter(queue) is queue
    assert list(queue) == list(range(500))
    assert list(queue) == []


def test_nothing():
    """An empty iterator."""
    assert list(_native.PrefetchIterator(iter(()), 2)) == []


def test_runs_on_one_other_thread():
    """The iterator is driven by one thread, which is not the consumer's."""
    found = set(_native.PrefetchIterator((threading.get_ident() for _ in range(20)), 2))
    assert len(found) == 1
    assert found != {threading.get_ident()}


def test_runs_ahead_no_further_than_asked():
    """With room for three, a fourth is in hand and waits for room; a fifth is begun once one was taken."""
    begun = []
    fourth, fifth = threading.Event(), threading.Event()

    def count():
        for i in range(1, 20):
            begun.append(i)
            if i == 4:
                fourth.set()
            if i == 5:
                fifth.set()
            yield i

    queue = _native.PrefetchIterator(count(), 3)
    assert fourth.wait(10)
    assert not fifth.wait(0.1)
    assert begun == [1, 2, 3, 4]
    assert next(queue) == 1
    assert fifth.wait(10)
    queue.close()


class Oops(Exception):
    """An exception with something in it."""


def test_exceptions_come_in_their_place():
    """What came before an exception comes first; the exception is the same object, with where it came from."""
    oops = Oops("here", 7)

    def fail():
        yield 1
        yield 2
        raise oops

    queue = _native.PrefetchIterator(fail(), 5)
    assert [next(queue), next(queue)] == [1, 2]
    with pytest.raises(Oops) as caught:
        next(queue)
    assert caught.value is oops
    assert "fail" in [entry.name for entry in caught.traceback]
    assert list(queue) == []


def test_close_early():
    """Closing ends the thread while the iterator has more to give; twice is as good as once."""
    given_out = []

    def endless():
        while True:
            given_out.append(len(given_out))
            yield given_out[-1]

    queue = _native.PrefetchIterator(endless(), 2)
    assert next(queue) == 0
    queue.close()
    queue.close()
    count = len(given_out)
    rest = list(queue)
    assert rest == list(range(1, 1 + len(rest)))
    assert len(rest) <= 2
    assert len(given_out) == count


@pytest.mark.skipif(sys.platform == "win32", reason="os.kill does not send SIGINT on Windows")
def test_keyboard_interrupt_while_waiting():
    """Ctrl-C gets through to a consumer that waits for an item."""
    waiting, go_on = threading.Event(), threading.Event()

    def stuck():
        waiting.set()
        go_on.wait(20)
        yield 1

    def interrupt():
        waiting.wait(20)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    queue = _native.PrefetchIterator(stuck(), 1)
    timer = threading.Timer(0.2, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            next(queue)
        assert not go_on.is_set()
    finally:
        go_on.set()
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert list(queue) == [1]


def run(code: str) -> str:
    """What a program prints, in a process of its own: what is to be feared here does not end, or ends the process."""
    start = "import gc, sys, threading, time\nfrom thresher import _native\n"
    ran = subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


COUNTED = """
def count():
    try:
        yield from range(100)
    finally:
        print("closed", flush=True)
"""


def test_dropped_without_closing():
    """An iterator without references ends with its thread."""
    assert (
        run("q = _native.PrefetchIterator(iter(range(9)), 2); next(q); time.sleep(0.1); del q; print('on')") == "on\n"
    )


def test_left_open_at_the_end_of_the_program():
    """A program may end with one still open."""
    assert run("q = _native.PrefetchIterator(iter(range(9)), 2); next(q); time.sleep(0.1); print('end')") == "end\n"


def test_generator_is_let_go():
    """A generator that did not come to its end is closed when the last reference to what drives it is gone."""
    code = "q = _native.PrefetchIterator(count(), 2); next(q); q.close(); del q; gc.collect(); print('after')"
    assert run(COUNTED + code) == "closed\nafter\n"


def test_things_that_are_no_iterators():
    """A list is no iterator: it is refused, or iterated over, but ends nothing."""
    code = """
try:
    found = list(_native.PrefetchIterator([1, 2, 3], 2))
except TypeError:
    found = [1, 2, 3]
print(found)
"""
    assert run(code) == "[1, 2, 3]\n"
