"""Reads damaged and crafted files by the thousand: ``python -m tests.attack``, or ``make attack``.

Only a `ThresherError` or a correct answer passes. An uncaught error, an abort, a hang and a growth of memory are
failures.
"""
