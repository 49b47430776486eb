"""The settings of error control."""

from __future__ import annotations

from dataclasses import dataclass

from thresher.errors import SettingsError

#: The number of splits, if none is given.
DEFAULT_SPLITS = 1
#: Methods whose answer has no features to test, and why.
_REFUSED = {
    "sparse-rf": "random features are drawn, and have no null hypothesis of their own",
    "hashing": "it learns buckets, and selects nothing",
}


@dataclass(frozen=True, kw_only=True)
class ErrorControl:
    """How the share of false features is bounded.

    Parameters
    ----------
    fdr : float
        The largest expected share of false features among those kept.
    splits : int
        The number of times that the rows are divided into halves.
    seed : int
        The seed of the halves: not every method has one.
    """

    fdr: float
    splits: int = DEFAULT_SPLITS
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.fdr < 1:
            raise SettingsError(f"fdr must be between 0 and 1, got {self.fdr}")
        if self.splits < 1:
            raise SettingsError(f"splits must be at least 1, got {self.splits}")

    @classmethod
    def of(cls, fdr: float | None, splits: int | None, method: str, *, seed: int = 0) -> ErrorControl | None:
        """The error control that settings ask for; None if there is none."""
        if fdr is None:
            if splits is not None:
                raise SettingsError("`splits` repeats the splits of error control: pass `fdr`, too")
            return None
        if method in _REFUSED:
            raise SettingsError(f"{method} has no `fdr`: {_REFUSED[method]}. Choose another method")
        return cls(fdr=fdr, splits=DEFAULT_SPLITS if splits is None else splits, seed=seed)
