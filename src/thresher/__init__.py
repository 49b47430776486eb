"""Thresher finds the few features that matter among far more than fit in memory, and names them.

The public names are listed once, in ``__init__.pyi``. Each is imported on first use, so ``import thresher`` loads
nothing else.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
