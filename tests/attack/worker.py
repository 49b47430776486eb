"""Tries cases in a process of its own: ``python -m tests.attack.worker SEED FOLDER`` reads ``kind number`` lines.

The answer to each is a line of JSON. A case that ends the process, or never ends, has no answer: the runner sees that.
"""

from __future__ import annotations

import json
import logging
import os
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import TextIO

from tests.attack.targets import TARGETS
from tests.attack.texts import Case
from thresher.errors import ThresherError

#: Address space that a worker may add to what it has after its start, so that no case can fill the machine.
_ROOM = 6 << 30
_UNIT = 1 if sys.platform == "darwin" else 1024


class Worker:
    """Prepares each kind when it is first asked for, and tries its cases."""

    def __init__(self, seed: str, folder: Path) -> None:
        self.seed = seed
        self.folder = folder
        self._cases: dict[str, Case] = {}

    def prepared(self, kind: str) -> Case:
        """The function that tries a case of this kind."""
        if kind not in self._cases:
            own = Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=self.folder))
            self._cases[kind] = TARGETS[kind](own)
        return self._cases[kind]

    def attempt(self, kind: str, number: int) -> dict[str, object]:
        """Try a case; a ThresherError or a correct answer passes."""
        case = self.prepared(kind)
        before, begin = _most_resident(), time.monotonic()
        result: dict[str, object]
        try:
            case(random.Random(f"{self.seed}:{kind}:{number}"))
            result = {"outcome": "answered"}
        except ThresherError:
            result = {"outcome": "refused"}
        except BaseException as error:
            shown = traceback.format_exc()
            result = {"outcome": "failed", "what": f"{type(error).__name__}: {error}"[:300], "traceback": shown}
        return {**result, "seconds": time.monotonic() - begin, "grown": _most_resident() - before}


def _most_resident() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT


def _limit_memory() -> None:
    if sys.platform == "linux":
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _ROOM, used + _ROOM))


def main(seed: str, folder: Path, orders: TextIO, answers: TextIO) -> None:
    """Try the cases that arrive, until the input ends."""
    logging.disable()
    warnings.simplefilter("ignore")
    worker = Worker(seed, folder)
    _limit_memory()
    for line in orders:
        kind, number = line.split()
        if number == "prepare":
            worker.prepared(kind)
            result: dict[str, object] = {}
        else:
            result = worker.attempt(kind, int(number))
        answers.write(json.dumps(result) + "\n")
        answers.flush()


def serve(seed: str, folder: Path) -> None:
    """Read orders from standard input, and answer on what standard output was at the start.

    What libraries print, as LAPACK does about illegal numbers, must not get between the answers.
    """
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        main(seed, folder, sys.stdin, answers)


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
