"""Streams of features: readers of columns, and scans over them in blocks."""
