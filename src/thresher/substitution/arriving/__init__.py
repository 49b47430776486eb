"""Columns that arrive one by one: from generators, arrays, files and sources."""
