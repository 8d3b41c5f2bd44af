"""Serving code as a tool to other programs."""
