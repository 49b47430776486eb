"""The problem of each method for arriving features, by the name of the method."""

from __future__ import annotations

from thresher import _native
from thresher.columns.types import Ids
from thresher.substitution.arriving.feature_stream import FeatureStream
from thresher.substitution.async_base import SimulatedProblem
from thresher.substitution.async_threads import AsynchronousProblem
from thresher.substitution.baselines.alpha_investing import AlphaInvesting
from thresher.substitution.baselines.base import Baseline
from thresher.substitution.baselines.coordinate_descent import NaiveL0, NaiveL1
from thresher.substitution.baselines.grafting import Grafting, GraftingLight
from thresher.substitution.problem import StreamProblem, Targets
from thresher.substitution.settings import SubstitutionSettings
from thresher.substitution.substitution import SubstitutionProblem

#: The methods that Online Substitution is compared with.
BASELINES: dict[str, type[Baseline]] = {
    "grafting": Grafting,
    "grafting-light": GraftingLight,
    "naive-l0": NaiveL0,
    "naive-l1": NaiveL1,
    "alpha-investing": AlphaInvesting,
}


def features_not_kept(settings: SubstitutionSettings, stream: FeatureStream) -> int:
    """The number of features that cannot be kept, for Theorem 2; 0 if unknown."""
    return max(0, (stream.size or 0) - settings.k)


def make_problem(
    settings: SubstitutionSettings,
    targets: Targets,
    stream: FeatureStream,
    pool: _native.ThreadPool,
    keep: Ids | None = None,
    most: int | None = None,
) -> StreamProblem:
    """The problem that ``settings.method`` solves for these targets.

    Online Substitution never leaves out ``keep``. A baseline keeps at most ``most`` features.
    """
    if settings.method != "os":
        problem = BASELINES[settings.method](settings, targets, pool)
        problem.limit = most
        return problem
    if settings.asynchronous:
        kind = AsynchronousProblem if settings.staleness is None else SimulatedProblem
        return kind(settings, targets, features_not_kept(settings, stream))
    return SubstitutionProblem(settings, targets, pool, keep)
