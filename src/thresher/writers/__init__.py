"""Write any source as LIBSVM or VW text, as Parquet, or as a file of parsed rows."""
