"""Modules whose names are for everybody, as the reference lists them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

#: Modules of the kernel that plugins may import beside the names of `interpstack` itself.
KERNEL_MODULES: Final = ("checks", "guests", "similar_names", "values")


def public_modules(root: Path) -> set[str]:
    """The kernel, libraries that export names, plugins for agents, and the modules `api`."""
    found = {
        path.parent.name
        for path in root.glob("src/*/__init__.py")
        if "__all__ = [" in path.read_text("utf-8")
    }
    apis = {f"{path.parent.name}.api" for path in root.glob("plugins/*/api.py")}
    kernel = {f"interpstack.{name}" for name in KERNEL_MODULES}
    adapters = {"interpstack_js_repl", "interpstack_langchain", "interpstack_pydantic_ai"}
    return found | kernel | apis | adapters
