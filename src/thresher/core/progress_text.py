"""Progress as text: its step, its rates, and a line of both."""

from __future__ import annotations

import os

from thresher.core.memory import MB, Progress
from thresher.display import cut


def step_name(progress: Progress) -> str:
    """The phase, or the pass of the loop."""
    number = min(progress.passes_done + 1, progress.passes)
    return progress.phase or f"pass {number} of {progress.passes}"


def rates(progress: Progress) -> str:
    """The number of rows (or arriving features), and in the loop rows a second and MB a second."""
    shown = f"{progress.rows:,} {progress.unit}" if progress.rows else ""
    if progress.phase or not shown:
        return shown
    seconds = max(progress.seconds, 1e-9)
    shown += f", {progress.rows / seconds:,.0f} {progress.unit}/s"
    if progress.total_bytes:
        read = progress.read + progress.passes_done * progress.total_bytes
        shown += f", {read / MB / seconds:,.1f} MB/s"
    return f"{shown}, {progress.detail}" if progress.detail else shown


def in_file(progress: Progress) -> str:
    """The file being read, if there are several."""
    if progress.file is None or progress.files < 2:
        return ""
    return f", file {progress.file_number} of {progress.files} ({cut(os.path.basename(progress.file), 30)})"


def log_line(progress: Progress, seconds: float) -> str:
    """The progress as a line; ``seconds`` have passed since its phase began."""
    parts = [progress.phase] if progress.phase else []
    parts += [shown] if (shown := rates(progress) + in_file(progress)) else []
    if fraction := progress.fraction:
        parts.append(f"{100 * fraction:.0f} %, {seconds * (1 - fraction) / fraction:.0f} s left")
    elif progress.phase:
        parts.append(f"{seconds:.0f} s so far")
    return ", ".join(parts)
