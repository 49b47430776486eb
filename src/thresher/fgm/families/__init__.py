"""Families of features that the Feature Generating Machine searches."""
