"""Spans of evals and of everything in them."""
