"""Plugins for interpstack, to copy from; see `pyproject.toml` for how they are found."""
