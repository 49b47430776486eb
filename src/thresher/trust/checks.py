"""What checks an answer: error control, selection frequencies, stand-ins, chance level and decoys, around any method.

`thresher.select` and the estimators make the run of a fit here if any of these is asked for.
"""

from __future__ import annotations

from typing import Any

from thresher.methods import MakeRun, MethodSpec
from thresher.trust.chance import Chance
from thresher.trust.decoys import Decoys
from thresher.trust.repeats import Repeats
from thresher.trust.run import with_error_control
from thresher.trust.settings import ErrorControl
from thresher.trust.stability.run import with_stability
from thresher.trust.stability.settings import Stability
from thresher.trust.stand_ins import StandInSearch, with_stand_ins

#: The settings, and their values where nothing is checked.
CHECKS: dict[str, Any] = {
    "fdr": None,
    "splits": None,
    "stability": None,
    "expected_false": None,
    "stand_ins": False,
    "collapse": False,
    "permutations": None,
    "decoys": None,
}


def with_checks(spec: MethodSpec, method: str, seed: int, checks: dict[str, Any]) -> tuple[MakeRun, list[Repeats]]:
    """What makes the run of a method with some `CHECKS` around it; and the fits that are repeated after it.

    Stand-ins are found for the answer of the other checks. The chance level repeats all of it, decoys the fit alone.
    """
    chosen = {**CHECKS, **checks}
    fdr = chosen["fdr"]
    stability = Stability.of(chosen["stability"], chosen["expected_false"], method, fdr=fdr, seed=seed)
    make_run = with_error_control(spec, ErrorControl.of(fdr, chosen["splits"], method, seed=seed))
    make_run = with_stability(make_run, spec, stability)
    make_run = with_stand_ins(spec, make_run, StandInSearch.of(chosen["stand_ins"], chosen["collapse"], method))
    repeats: list[Repeats] = []
    if chosen["permutations"] is not None:
        Chance.check(fdr)
        repeats.append(Chance(spec, make_run, chosen["permutations"], seed=seed))
        make_run = repeats[-1].make_run
    if chosen["decoys"] is not None:
        Decoys.check(method, fdr)
        repeats.append(Decoys(spec, make_run, chosen["decoys"], seed=seed))
        make_run = repeats[-1].make_run
    return make_run, repeats
