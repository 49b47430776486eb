"""Which problem a method for arriving features has."""

from __future__ import annotations

from thresher import _native
from thresher.families.stream import FeatureStream
from thresher.working_set.asynchronous import AsynchronousProblem
from thresher.working_set.shared_features import SimulatedProblem
from thresher.working_set.stream_problem import StreamProblem, Targets
from thresher.working_set.streaming_rivals import RIVALS
from thresher.working_set.substitution import SubstitutionProblem
from thresher.working_set.substitution_settings import SubstitutionSettings


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
