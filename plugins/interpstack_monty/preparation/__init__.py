"""The preparation of a cell: its source is scanned, rewritten and type-checked before it runs."""
