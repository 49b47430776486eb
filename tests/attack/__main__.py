"""``python -m tests.attack``: see ``--help``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.attack.runner import Report, run
from tests.attack.targets import TARGETS
from tests.attack.worker import Worker


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description="Read damaged and crafted files.")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(TARGETS)}; default: all")
    parser.add_argument("--cases", type=int, default=10_000, help="cases of each kind (default 10,000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (default 0)")
    parser.add_argument("--seed", default=str(int(time.time())), help="default: the time")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after this time (default 3600)")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes (default 1)")
    parser.add_argument("--only", metavar="KIND:NUMBER", help="try one case in this process, and show its traceback")
    args = parser.parse_args()
    if unknown := [kind for kind in args.kinds if kind not in TARGETS]:
        parser.error(f"unknown kind {unknown[0]!r}: one of {', '.join(TARGETS)}")
    if args.only is not None:
        return _one(args.seed, *args.only.split(":"))
    print(
        f"To repeat this run: python -m tests.attack --seed {args.seed} --cases {args.cases} --first {args.first}",
        flush=True,
    )
    numbers = range(args.first, args.first + args.cases)
    report = run(args.kinds or list(TARGETS), numbers, seed=args.seed, jobs=args.jobs, seconds=args.seconds)
    return _show(report, args.seed, args.cases)


def _one(seed: str, kind: str, number: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        result = Worker(seed, Path(folder)).attempt(kind, int(number))
    print(result.pop("traceback", ""), result)
    return int(result["outcome"] == "failed")


def _show(report: Report, seed: str, cases: int) -> int:
    print(f"{'kind':<12}{'cases':>8}{'answered':>10}{'refused':>9}{'failed':>8}{'slowest':>11}{'growth':>10}")
    for kind, tally in report.tallies.items():
        print(
            f"{kind:<12}{tally.cases:>8}{tally.answered:>10}{tally.refused:>9}{tally.failed:>8}"
            f"{1000 * tally.slowest:>8.0f} ms{tally.grown / (1 << 20):>7.0f} MB"
        )
    if any(tally.cases < cases for tally in report.tallies.values()):
        print("The time ended before all cases were tried.")
    for kind, number, what in report.failures[:40]:
        print(f"{kind}:{number}: {what}\n  python -m tests.attack --seed {seed} --only {kind}:{number}")
    if len(report.failures) > 40:
        print(f"… and {len(report.failures) - 40} more")
    return int(bool(report.failures))


if __name__ == "__main__":
    sys.exit(main())
