"""Evals in the background: put aside while they wait, and continued by later calls of the model."""
