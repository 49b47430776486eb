"""Where examples come from: files and arrays as batches of sparse rows, in bounded memory."""
