"""Selections in the formats of other programs: one module a format, listed in ``registry``."""
