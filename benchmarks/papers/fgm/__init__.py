"""The figures of the Feature Generating Machine's paper, on data at hand."""
