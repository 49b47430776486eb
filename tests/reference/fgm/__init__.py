"""Twins of the Feature Generating Machine and of its families."""
