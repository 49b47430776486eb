"""Other methods for features that arrive one by one, to compare Online Substitution with: by name."""

from __future__ import annotations

from thresher.working_set.alpha_investing import AlphaInvesting
from thresher.working_set.grafting import Grafting, GraftingLight
from thresher.working_set.naive_descent import NaiveL0, NaiveL1
from thresher.working_set.rival import Rival

RIVALS: dict[str, type[Rival]] = {
    "grafting": Grafting,
    "grafting-light": GraftingLight,
    "naive-l0": NaiveL0,
    "naive-l1": NaiveL1,
    "alpha-investing": AlphaInvesting,
}
