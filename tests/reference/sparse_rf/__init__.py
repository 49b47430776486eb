"""Twins of the kernels behind random features, and of the l1 problem."""
