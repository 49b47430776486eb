"""Sources over other sources: held-out rows, class weights, shuffling, prefetching, interactions, hashing."""
