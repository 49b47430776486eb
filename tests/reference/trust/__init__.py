"""Twins of error control and of stability selection."""
