"""The script that draws the charts: Vega-Embed with Vega and Vega-Lite, bundled once and kept in the user's cache."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import subprocess
import sys
import threading
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


def prepare_library() -> None:
    """Begin to bundle the script in the background if it is not in the cache: to bundle it takes seconds."""
    check_library()
    if not _background and not os.path.exists(_path()):
        _background.append(_Bundling())


def library_script() -> str:
    """The script, safe within a script element."""
    check_library()
    path = _path()
    with contextlib.suppress(OSError, UnicodeDecodeError), open(path, encoding="utf-8") as file:
        return file.read()
    # One that was interrupted with the fit is begun again.
    script = (_background.pop().script() if _background else None) or _bundled()
    try:
        os.makedirs(user_folder(), exist_ok=True)
        write_atomically(path, lambda file: file.write(script.encode()))
    except (OSError, UnwritableError) as error:
        log.info("the charts of reports are bundled again each time: %s", error)
    return script


def _path() -> str:
    """The file of the script in the cache."""
    try:
        of = version("vl-convert-python")
    except PackageNotFoundError:
        of = "unknown"
    return os.path.join(user_folder(), f"vega-{of}.js")


class _Bundling(threading.Thread):
    """The bundler in a process of its own; what it writes is collected while other work goes on."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._made: subprocess.CompletedProcess[bytes] | None = None
        self.start()

    def run(self) -> None:
        self._made = subprocess.run([sys.executable, "-c", _BUNDLE], capture_output=True, check=False)

    def script(self) -> str | None:
        """The script, once the process has ended; None if it failed."""
        self.join()
        if self._made is None or self._made.returncode or not self._made.stdout:
            return None
        # Within strings and regular expressions a backslash changes nothing; it keeps the element from ending early.
        made = self._made.stdout.decode().replace("</script", "<\\/script").replace("<!--", "<\\!--")
        return f'(()=>{{"use strict";{made}}})();'

    def error(self) -> str:
        """The last line that the process wrote as an error."""
        lines = self._made.stderr.decode("utf-8", "replace").strip().splitlines() if self._made else []
        return lines[-1] if lines else "it gave no reason"


#: The bundling that was begun in the background, if any.
_background: list[_Bundling] = []


def _bundled() -> str:
    bundling = _Bundling()
    script = bundling.script()
    if script is None:
        raise MissingExtraError(
            f"vl_convert, which has the script of the charts, failed: {bundling.error()}. "
            "Reinstall it: pip install 'thresher[report]'"
        )
    return script
