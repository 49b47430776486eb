"""Files and states on disk: complete or absent, and checked when they are read."""
