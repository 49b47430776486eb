"""Other methods for arriving features, to compare Online Substitution with."""
