"""Other methods for arriving features, as baselines for Online Substitution."""
