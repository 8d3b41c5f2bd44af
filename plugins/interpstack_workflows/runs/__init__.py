"""Runs: the loop that drives a workflow's module, and the runner that supervises runs."""
