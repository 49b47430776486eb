"""B-ARDA and B-AMD (Zhai et al., ECML PKDD 2018), Figures 1 to 3: ``python -m benchmarks.papers.b_arda``."""
