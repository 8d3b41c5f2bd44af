"""Modules whose names are for everybody, as the reference lists them."""

from __future__ import annotations

from pathlib import Path


def public_modules(root: Path) -> set[str]:
    """The core, the libraries that export names, the adapter, and the modules `api` of plugins."""
    found = {
        path.parent.name
        for path in root.glob("src/*/__init__.py")
        if "__all__ = [" in path.read_text("utf-8")
    }
    apis = {f"{path.parent.name}.api" for path in root.glob("plugins/*/api.py")}
    return found | apis | {"interpstack_langchain"}
