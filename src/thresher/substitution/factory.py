"""Which problem a method for arriving features has."""

from __future__ import annotations

from thresher import _native
from thresher.substitution.arriving.feature_stream import FeatureStream
from thresher.substitution.async_base import SimulatedProblem
from thresher.substitution.async_threads import AsynchronousProblem
from thresher.substitution.baselines.registry import RIVALS
from thresher.substitution.problem import StreamProblem, Targets
from thresher.substitution.settings import SubstitutionSettings
from thresher.substitution.substitution import SubstitutionProblem


def problem_of(
    settings: SubstitutionSettings, targets: Targets, stream: FeatureStream, team: _native.Team
) -> StreamProblem:
    """The part that deals with what arrives."""
    if settings.method != "os":
        return RIVALS[settings.method](settings, targets, team)
    if settings.asynchronous:
        others = max(0, (stream.size or 0) - settings.k)
        kind = AsynchronousProblem if settings.staleness is None else SimulatedProblem
        return kind(settings, targets, others)
    return SubstitutionProblem(settings, targets, team)
