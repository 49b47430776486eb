"""Parsed rows on disk: the cache, its folder, and the .thc file format."""
