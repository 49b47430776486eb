"""The experiments of the Online Substitution paper."""
