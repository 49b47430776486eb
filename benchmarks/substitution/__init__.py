"""Online Substitution: recall, speed and memory."""
