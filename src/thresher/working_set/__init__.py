"""The working-set loop: propose → solve → drop, a batch of features at a time."""
