"""Sparse Random Features: a kernel machine with a few hundred basis functions."""
