"""The number of examples of a property test, scaled by the Hypothesis profile (see `tests/conftest.py`)."""

from hypothesis import HealthCheck, settings

#: What Hypothesis tries where neither the test nor the profile sets a number.
USUAL = 100


def examples(count: int, *suppressed: HealthCheck) -> settings:
    """Decorate a property test so that it tries ``count`` examples, and proportionally more in ``make explore``.

    A plain ``@settings(max_examples=..., suppress_health_check=...)`` would override the profile.
    """
    profile = settings()
    checks = [*profile.suppress_health_check, *suppressed]
    return settings(max_examples=max(1, count * profile.max_examples // USUAL), suppress_health_check=checks)
