"""Make all results again and write docs/papers/sparse-rf.md: ``python -m benchmarks.papers.sparse_rf [name …]``."""

from benchmarks.papers.page import make_page

make_page("sparse_rf", ("table1", "table2", "figure1"))
