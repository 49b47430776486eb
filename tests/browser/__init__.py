"""Tests of reports in a real browser: ``make browser-test``."""
