"""What the comparisons of error control are made of, and selection frequencies."""
