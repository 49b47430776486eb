"""Values and formulas that every room shares; nothing here reads data."""
