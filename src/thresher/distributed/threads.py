"""Workers on threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

from thresher.core.batch import Cursor
from thresher.distributed.worker import Base, Round, Share, Worker
from thresher.online.settings import OnlineSettings


class ThreadTeam:
    """Workers on threads: the loops of the native core run without the interpreter's lock."""

    def __init__(self, settings: OnlineSettings, count: int) -> None:
        self.workers = [Worker(settings) for _ in range(count)]
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="thresher-worker")
        self._stop = threading.Event()

    def begin(self, shares: list[Share]) -> None:
        """Begin a pass; each worker gets its share of the rows."""
        for worker, share in zip(self.workers, shares, strict=True):
            worker.begin(share)

    def round(self, base: Base, starts: list[Cursor], rows: int) -> list[Round]:
        """Let every worker learn ``rows`` rows; the results are in the order of the shares."""
        futures = [
            self._pool.submit(worker.learn, base, start, rows, self._stop)
            for worker, start in zip(self.workers, starts, strict=True)
        ]
        try:
            wait(futures)
        except BaseException:
            self._stop.set()
            wait(futures)
            self._stop.clear()
            raise
        return [future.result() for future in futures]

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()
        for worker in self.workers:
            worker.close()


def undisturbed(call: Callable[[], None]) -> None:
    """Call on another thread, where Ctrl-C does not interrupt it; a KeyboardInterrupt is raised when it has ended."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(call)
        try:
            wait([future])
        except KeyboardInterrupt:
            future.result()
            raise
        future.result()
