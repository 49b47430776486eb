"""Tables and texts: CSV, JSON lines, Parquet, Arrow, documents."""
