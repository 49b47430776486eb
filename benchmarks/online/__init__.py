"""Methods that learn while they read, against Vowpal Wabbit and scikit-learn."""
