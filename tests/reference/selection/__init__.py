"""Twins of what is computed about a selection."""
