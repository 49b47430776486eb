"""Make all results again and write docs/papers/fgm.md: ``python -m benchmarks.papers.fgm [name …]``."""

from benchmarks.papers.page import make_page

make_page(
    "fgm",
    (
        *("figure1", "figure2", "figure3", "figure4", "figure5", "figure7", "figure10", "figure11", "figure12"),
        *("figure13", "figure15", "figure16"),
    ),
)
