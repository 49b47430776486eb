"""Make all results again and write docs/papers/os.md: ``python -m benchmarks.papers.os [name …]``."""

from benchmarks.papers.page import make_page

make_page("os", ("figure1", "figure2", "figure3", "figure4"))
