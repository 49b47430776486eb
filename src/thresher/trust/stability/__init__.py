"""Stability selection: how often each feature is selected from halves of the rows."""
