"""The report of a selection as one HTML file that opens offline: what it shows, and how the file is made."""
