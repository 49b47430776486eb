"""The script that draws the charts: Vega-Embed with Vega and Vega-Lite, bundled once and kept in the user's cache."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

from thresher.core.optional import need
from thresher.core.storage.atomic import write_atomically
from thresher.errors import MissingExtraError, UnwritableError
from thresher.sources.cache.folder import user_folder

log = logging.getLogger(__name__)

#: What a process of its own runs: the bundler holds more memory than most fits.
_BUNDLE = (
    "import sys, vl_convert; "
    "sys.stdout.buffer.write(vl_convert.javascript_bundle('window.vegaEmbed=vegaEmbed;').encode())"
)


def check_library() -> None:
    """Raise `MissingExtraError` unless the package with the script is installed; it is not imported."""
    if importlib.util.find_spec("vl_convert") is None:
        need("vl_convert", "report")


def library_script() -> str:
    """The script, safe within a script element."""
    check_library()
    try:
        of = version("vl-convert-python")
    except PackageNotFoundError:
        of = "unknown"
    path = os.path.join(user_folder(), f"vega-{of}.js")
    with contextlib.suppress(OSError, UnicodeDecodeError), open(path, encoding="utf-8") as file:
        return file.read()
    script = _bundled()
    try:
        os.makedirs(user_folder(), exist_ok=True)
        write_atomically(path, lambda file: file.write(script.encode()))
    except (OSError, UnwritableError) as error:
        log.info("the charts of reports are bundled again each time: %s", error)
    return script


def _bundled() -> str:
    made = subprocess.run([sys.executable, "-c", _BUNDLE], capture_output=True, check=False)
    if made.returncode or not made.stdout:
        lines = made.stderr.decode("utf-8", "replace").strip().splitlines()
        raise MissingExtraError(
            f"vl_convert, which has the script of the charts, failed: {lines[-1] if lines else 'it gave no reason'}. "
            "Reinstall it: pip install 'thresher[report]'"
        )
    # Within strings and regular expressions a backslash changes nothing; it keeps the element from ending early.
    script = made.stdout.decode().replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return f'(()=>{{"use strict";{script}}})();'
