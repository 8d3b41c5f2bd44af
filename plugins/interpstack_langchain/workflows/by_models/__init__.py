"""Workflows that a model writes, starts and follows."""
