"""Opening files: paths, globs, remote storage, decompression, blocks of lines."""
