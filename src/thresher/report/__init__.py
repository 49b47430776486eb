"""Reports for the terminal: progress, tables and memory plans."""
