"""Which of the selected features are real: a bound on the share of false ones, and what could stand in their place."""
