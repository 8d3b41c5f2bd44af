"""Cells in the background: put aside after some seconds, and continued later."""
