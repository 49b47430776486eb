"""Slow and obvious twins of the native kernels, which the tests hold the fast ones to."""
