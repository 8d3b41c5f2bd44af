"""Cells in the background: run for some seconds, put aside, and looked at again."""
