"""A page of a paper's results, part by part: those asked for are made anew, the others stay as they were."""

from __future__ import annotations

import importlib
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "papers"


def make_page(paper: str, parts: Sequence[str]) -> None:
    """Run the parts named on the command line, or all, and write its page in docs/papers."""
    page = FOLDER / f"{paper.replace('_', '-')}.md"
    written = page.read_text() if page.exists() else ""
    found = re.findall(r"<!-- (\w+) -->\n(.*?)(?=\n*<!-- \w+ -->|\Z)", written, re.DOTALL)
    sections = {name: text.strip() for name, text in found}
    introduction = (Path(__file__).parent / paper / "introduction.md").read_text().strip()
    for name in sys.argv[1:] or parts:
        print(f"{name} …", file=sys.stderr, flush=True)
        started = time.perf_counter()
        section = importlib.import_module(f"benchmarks.papers.{paper}.{name}").run()
        if "Not run:" in section and name in sections:
            continue
        sections[name] = f"{section}\n\nMade in {(time.perf_counter() - started) / 60:.1f} minutes."
        print(sections[name], flush=True)
        marked = [f"<!-- {part} -->\n{sections[part]}" for part in parts if part in sections]
        page.write_text("\n\n".join([introduction, *marked]) + "\n")
