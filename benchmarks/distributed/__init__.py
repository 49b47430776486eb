"""Several workers: their bits, their cost, and what happens when they are lost."""
