"""Other methods for features that arrive one by one, to compare Online Substitution with: by name."""

from __future__ import annotations

from thresher.substitution.baselines.alpha_investing import AlphaInvesting
from thresher.substitution.baselines.base import Rival
from thresher.substitution.baselines.coordinate_descent import NaiveL0, NaiveL1
from thresher.substitution.baselines.grafting import Grafting, GraftingLight

RIVALS: dict[str, type[Rival]] = {
    "grafting": Grafting,
    "grafting-light": GraftingLight,
    "naive-l0": NaiveL0,
    "naive-l1": NaiveL1,
    "alpha-investing": AlphaInvesting,
}
