"""Optional packages, asked for by name."""

from __future__ import annotations

import importlib
from typing import Any

from thresher.errors import MissingExtraError


def need(module: str, extra: str) -> Any:
    """Import an optional package, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError(f"this needs {module}: pip install 'thresher[{extra}]'") from None
    except ImportError as error:  # it is there, and does not get on with something else that is
        raise MissingExtraError(f"this needs {module}, which cannot be imported here: {error}") from error
