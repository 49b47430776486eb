"""Twins of the means that merge the models of several workers."""
