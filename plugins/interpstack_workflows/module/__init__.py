"""Workflow files: their sources, and the metadata in them."""
