"""What it costs to start: the import, the help, and a whole selection of a ten-row file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.data import write_zipf
from benchmarks.harness import interleaved, spread, table


def _process(*args: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, *args], capture_output=True, check=True)


def run(repeats: int = 11) -> str:
    """Time fresh processes in turns."""
    program = "import sys; from thresher.cli.main import main; sys.argv[0] = 'thresher'; main()"
    with tempfile.TemporaryDirectory() as folder:
        _, ten = write_zipf(Path(folder), 10)
        contenders = {
            "bare Python": _process("-c", "pass"),
            "`import numpy`": _process("-c", "import numpy"),
            "`import thresher`": _process("-c", "import thresher"),
            "`thresher --help`": _process("-c", program, "--help"),
            "`thresher select` on ten rows": _process("-c", program, "select", str(ten), "-k", "5"),
        }
        for warm in contenders.values():
            warm()
        seconds = interleaved(contenders, repeats)
    over_bare = [a - b for a, b in zip(seconds["`import thresher`"], seconds["bare Python"], strict=True)]
    return "\n".join(
        [
            "## Starting",
            "",
            f"Whole processes, warm; medians [least - most] of {repeats} runs.",
            "",
            table(["what", "seconds"], [[name, spread(values, 3)] for name, values in seconds.items()]),
            "",
            f"`import thresher` over bare Python: {spread(over_bare, 3)} s.",
        ]
    )
