"""Selecting while reading, against Vowpal Wabbit learning every weight of the same file: one pass, parsing included."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from benchmarks.hard import ROWS, HardStream, hard_stream
from benchmarks.harness import ONE_PASS, ratios, spread, table
from benchmarks.online.vowpal import LEARN, vw

PROGRAM = "import sys; from thresher.cli.main import main; sys.argv[0] = 'thresher'; main()"
K, TIMES = 16_383, 4
#: Sketches of the same number of cells: three rows as in the paper, and one row, the default plan.
OPTIONS = {
    "`--sketch 3x262144 --no-shuffle`": ("--sketch", "3x262144", "--no-shuffle"),
    "`--sketch 3x262144`": ("--sketch", "3x262144"),
    "`--sketch 1x786432 --no-shuffle`": ("--sketch", "1x786432", "--no-shuffle"),
    "`--sketch 1x786432`": ("--sketch", "1x786432"),
}
FORMS = {"svm": "LIBSVM", "vw": "VW text"}
VW = "Vowpal Wabbit `-b 24`"


def _select(form: str, *options: str) -> Callable[[HardStream], object]:
    def run(stream: HardStream) -> object:
        path = str(stream.path("train", form))
        command = [sys.executable, "-c", PROGRAM, "select", path, "-k", str(K), *ONE_PASS, *options]
        return subprocess.run(command, capture_output=True, check=True)

    return run


def _vw(stream: HardStream) -> object:
    return vw(*LEARN, "-d", stream.path("train", "vw"), "--quiet")


def _repeated(stream: HardStream, folder: str) -> HardStream:
    """The training files several times over."""
    longer = HardStream(f"{folder}/longer")
    for form in FORMS:
        with open(longer.path("train", form), "wb") as out:
            for _ in range(TIMES):
                with open(stream.path("train", form), "rb") as once:
                    shutil.copyfileobj(once, out, 1 << 20)
    return longer


def run(rows: int = ROWS, repeats: int = 3) -> str:
    """Time whole processes in turns on the file once and four times over."""
    contenders: dict[str, Callable[[HardStream], object]] = {
        f"thresher, {title}, {how}": _select(form, *options)
        for how, options in OPTIONS.items()
        for form, title in FORMS.items()
    }
    contenders[VW] = _vw
    once: dict[str, list[float]] = {name: [] for name in contenders}
    more: dict[str, list[float]] = {name: [] for name in contenders}
    with tempfile.TemporaryDirectory() as folder:
        stream = hard_stream().head(rows, folder)
        longer = _repeated(stream, folder)
        for _ in range(repeats):
            for name, learn in contenders.items():
                for data, seconds in ((stream, once), (longer, more)):
                    started = time.perf_counter()
                    learn(data)
                    seconds[name].append(time.perf_counter() - started)
        size = stream.path("train", "vw").stat().st_size / 2**20
    extra = {name: [b - a for a, b in zip(once[name], more[name], strict=True)] for name in contenders}
    rows_extra = (TIMES - 1) * rows
    return "\n".join(
        [
            "## Selecting while reading, one pass",
            "",
            f"`thresher select FILE -k {K}` against `vw {' '.join(LEARN)} -d FILE --quiet`, both from text and free "
            f"to use all cores; the hard stream (benchmarks/hard.py), {rows} rows, {size:.0f} MB. Steady: additional "
            f"rows over additional seconds when the file is repeated {TIMES} times. Whole: one process on the file "
            f"once. Medians [least - most] of {repeats} runs; ratios are computed run by run.",
            "",
            table(
                ["learner", "steady, rows/s", "times faster than VW", "whole process, s", "times faster than VW"],
                [
                    [
                        name,
                        f"{rows_extra / statistics.median(extra[name]):.0f}",
                        spread(ratios(extra[VW], extra[name])),
                        spread(once[name]),
                        spread(ratios(once[VW], once[name])),
                    ]
                    for name in contenders
                ],
            ),
        ]
    )
