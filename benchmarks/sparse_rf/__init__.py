"""Sparse Random Features, against kernel machines and all random features."""
