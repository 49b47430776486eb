"""The online loop: predict, update, truncate, one example at a time."""
