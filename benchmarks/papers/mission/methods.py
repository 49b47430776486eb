"""The four methods of the simulations, with one setting each for all of them.

Columns have a squared length of about one, so that a step of 1 is the one of the paper's appendix. It is also the best
of those tried for the three thresholding methods. MISSION takes shorter ones, since a store that adds up does not need
long steps and finds more with short ones. 1 - gamma rises from 0.001 to 0.3 in equal ratios.
"""

from __future__ import annotations

from benchmarks.papers.mission.full_gradient import Fading, Method, exchange, fitted, forget

MISSION = Method(step=0.3, steps=1000, fade=Fading(0.001, 0.3))
IHT = Method(step=1.0, steps=500, fade=forget)
ITI = Method(step=1.0, steps=100, fade=forget, weigh=fitted)
PHT = Method(step=1.0, steps=200, fade=forget, choose=exchange(1), weigh=fitted)

METHODS = {"MISSION": MISSION, "IHT": IHT, "ITI": ITI, "PHT": PHT}
