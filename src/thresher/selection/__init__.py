"""The answer: the selected features, their names, and exports to other programs."""
