"""How a working-set run goes through its data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thresher.sources.base import DEFAULT_ROWS, Source


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How the data is gone through; nothing here but ``validation`` changes the answer.

    Parameters
    ----------
    memory : str or int, optional
        What the columns may take; where they take more, every analysis is a pass over the data. None: no limit.
    threads : int
        0: as many as there are cores.
    validation : Source, optional
        Scored after every iteration: the best one is the answer.
    patience : int
        End after so many iterations without a better score.
    checkpoint, restart
        Written after every iteration that ends ``every`` seconds after the last, and resumed from.
    """

    memory: str | int | None = None
    threads: int = 0
    multilabel: bool = False
    class_weight: Mapping[Any, float] | str | None = None
    validation: Source | None = None
    patience: int = 3
    checkpoint: str | os.PathLike[str] | None = None
    every: float = 30.0
    restart: bool = False
    batch_rows: int = DEFAULT_ROWS
    #: As estimators want it: a k above the number of columns means all of them, and the data is not fingerprinted.
    lenient: bool = False
