"""Twins of the online methods, and the regret of the budgeted ones."""
