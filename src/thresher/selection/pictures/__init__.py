"""Pictures of a selection, with matplotlib."""
