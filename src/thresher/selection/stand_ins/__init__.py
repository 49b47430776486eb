"""Features that could stand in the place of selected ones: nearly the same columns, found in three readings."""
