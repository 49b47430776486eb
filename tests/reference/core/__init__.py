"""Twins of what every method uses: hashing, losses, scores, the top k, units."""
