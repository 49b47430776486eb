"""The settings of stability selection, and the methods that have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thresher.errors import SettingsError

#: The expected number of false features that the threshold allows, if none is given.
DEFAULT_EXPECTED_FALSE = 1.0
#: Methods without it, and why.
_REFUSED = {
    "sparse-rf": "each fit draws random features of its own, so that none is selected twice",
    "hashing": "it learns buckets, and selects nothing",
}


@dataclass(frozen=True, kw_only=True)
class Stability:
    """How selection frequencies are measured, and which features count as stable.

    Parameters
    ----------
    pairs : int
        The number of times that the rows are divided into two halves, each of which is fitted.
    expected_false : float
        The largest expected number of false features among the stable ones.
    seed : int
        The seed of the halves.
    """

    pairs: int
    expected_false: float = DEFAULT_EXPECTED_FALSE
    seed: int = 0

    def __post_init__(self) -> None:
        if self.pairs != int(self.pairs) or self.pairs < 1:
            raise SettingsError(f"stability, the number of pairs of halves, must be at least 1, got {self.pairs}")
        if not 0 < self.expected_false < float("inf"):
            raise SettingsError(f"expected_false must be above 0 and finite, got {self.expected_false}")

    @property
    def fits(self) -> int:
        """The number of fits: two for each pair."""
        return 2 * self.pairs

    @classmethod
    def of(
        cls,
        stability: int | None,
        expected_false: float | None,
        method: str,
        *,
        fdr: float | None = None,
        seed: int = 0,
    ) -> Stability | None:
        """The stability that settings ask for; None if there is none."""
        if stability is None:
            if expected_false is not None:
                raise SettingsError(
                    "`expected_false` sets the threshold of selection frequencies: pass `stability`, too"
                )
            return None
        if fdr is not None:
            raise SettingsError("`fdr` and `stability` judge features in different ways: leave out one of them")
        if method in _REFUSED:
            raise SettingsError(f"{method} has no `stability`: {_REFUSED[method]}. Choose another method")
        expected = DEFAULT_EXPECTED_FALSE if expected_false is None else expected_false
        return cls(pairs=stability, expected_false=expected, seed=seed)


def check_settings(settings: Any) -> None:
    """Raise if features of several fits could not be compared with these settings of a method."""
    if getattr(settings, "workers", 1) > 1:
        raise SettingsError(
            "`stability` fits the halves in one process, and the answer depends on the number of workers: leave out "
            "`workers`"
        )
    if getattr(settings, "groups", None) is not None:
        raise SettingsError("`stability` counts single features, and `groups` are selected as a whole: leave out one")
    if getattr(settings, "family", "linear") != "linear":
        raise SettingsError(
            "`stability` counts columns, and other families number their features anew in each fit: leave out "
            "`family` or `stability`"
        )
