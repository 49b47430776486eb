"""MISSION (Aghazadeh et al., ICML 2018), its simulations: ``python -m benchmarks.papers.mission``."""
