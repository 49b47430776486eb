"""Twins of the readers: lines of text, tables, k-mers, n-grams, products, stored rows."""
