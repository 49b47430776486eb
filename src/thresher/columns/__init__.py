"""Features as columns: stores of columns in memory and out of core, groups, random features."""
