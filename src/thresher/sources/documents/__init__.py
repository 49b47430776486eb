"""Texts as rows: one column of a table, files of folders, and their n-grams."""
