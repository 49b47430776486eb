"""Comparisons with what a user would pick instead: ratios and medians of interleaved runs."""
