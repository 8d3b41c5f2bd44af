"""Evals in the background: suspended while they wait, and continued by later calls of the model."""
