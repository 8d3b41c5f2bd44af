"""Cells in the background: suspended after some seconds, and continued later."""
