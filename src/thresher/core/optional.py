"""Imports of optional packages."""

from __future__ import annotations

import importlib
from typing import Any

from thresher.errors import MissingExtraError


def need(module: str, extra: str) -> Any:
    """Import an optional package; raises `MissingExtraError` that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError(f"this needs {module}: pip install 'thresher[{extra}]'") from None
    except ImportError as error:  # it is installed, but conflicts with another package
        raise MissingExtraError(f"this needs {module}, which cannot be imported here: {error}") from error
