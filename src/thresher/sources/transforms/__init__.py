"""Sources over other sources: held-out rows, weights, shuffling, interactions, hashing."""
