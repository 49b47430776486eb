"""The Feature Generating Machine: settings, worst-case analysis, subproblem solvers."""
