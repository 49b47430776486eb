"""The three columns of Figures 1 and 2: methods by p, scans, and workers whose staleness is their number."""

from __future__ import annotations

from typing import Any

from benchmarks.papers.os.contenders import OWN, contenders, proj_gd, streamed
from benchmarks.papers.os.made import S, made, measured
from benchmarks.papers.os.repeated import REPEATS, averaged, shown

SCANS = (1, 2, 3, 4)
WORKERS = (1, 2, 4, 8)


def columns(number: int, ps: tuple[int, ...], claim: str, *, classes: bool) -> str:
    """All three, on the paper's data."""
    name, kind = f"os-figure{number}", "hinge loss classification" if classes else "linear regression"
    error = "test error" if classes else "recovery error"
    own = OWN["squared_hinge" if classes else "squared"]

    def by_p(p: int, seed: int) -> dict[str, Any]:
        data = made(p, seed, classes=classes)
        return {label: measured(data, run()) for label, run in contenders(data, S).items()}

    def by_scans(scans: int, seed: int) -> dict[str, Any]:
        found = {}
        for p in (ps[0], ps[2]):
            data = made(p, seed, classes=classes)
            found[f"OS, p = {p}"] = measured(data, streamed(data, "os", S, scans=scans, **own))
            found[f"Proj-GD, p = {p}"] = measured(data, proj_gd(data, S))
        return found

    def by_workers(workers: int, seed: int) -> dict[str, Any]:
        data = made(ps[0], seed, classes=classes)
        late = {"workers": workers, "staleness": workers, "scans": 3, **own, "eta": 0.3}
        return {f"Asy-OS, p = {ps[0]}": measured(data, streamed(data, "os", S, **late))}

    return "\n\n".join(
        [
            f"## Figure {number}: {kind}",
            claim,
            f"s = {S}, n = 1.2 s log2 p, means of {REPEATS} data sets, online methods with 2 scans; all are refitted.",
            shown(averaged(ps, by_p), ps, "p", error, f"{name}-p", "Methods"),
            "How often the features are scanned:",
            shown(averaged(SCANS, by_scans), SCANS, "scans", error, f"{name}-scans", "Scans"),
            "Simulated workers, each of which sees the others' state as many updates late as there are workers "
            "(3 scans, η = 0.3):",
            shown(averaged(WORKERS, by_workers), WORKERS, "workers", error, f"{name}-workers", "Staleness"),
        ]
    )
