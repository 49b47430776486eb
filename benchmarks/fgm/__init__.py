"""The Feature Generating Machine, against l1 models and other sparse models."""
