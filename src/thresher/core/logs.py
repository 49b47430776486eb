"""What is logged while fits run within another fit."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet() -> Iterator[None]:
    """Log nothing but the worst: messages about the data come from the fit of all rows, once."""
    log = logging.getLogger("thresher")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)
