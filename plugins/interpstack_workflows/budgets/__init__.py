"""The cost of runs, and its limits."""
