"""Which of the selected features are real: a bound on the share of false ones, and the comparison of two selections."""
