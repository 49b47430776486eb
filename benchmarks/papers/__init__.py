"""The tables and figures of the papers, made again: one folder a paper, its page in docs/papers/."""
