"""Pictures for docs/papers/, all in one look."""

from benchmarks.papers.mission.figures import figure, save

__all__ = ["figure", "save"]
