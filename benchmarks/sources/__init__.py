"""Reading text, tables and sequences into rows, against other readers."""
