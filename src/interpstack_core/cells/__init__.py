"""Contracts of one cell: its record, its guards, its outcome."""
