"""Summaries of commands, read from their source: to import them all would take seconds."""

from __future__ import annotations

import ast
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path

import click

__all__ = ["summary_of"]

_CHARS = 80


def summary_of(entry: EntryPoint) -> str:
    """The first sentence of a command's docstring; empty unless the command is a function."""
    try:
        tree = ast.parse(_file(entry.module).read_text("utf-8"))
    except (ImportError, OSError, SyntaxError, ValueError, RecursionError):
        return ""
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    docstring = next(
        (ast.get_docstring(node) for node in functions if node.name == entry.attr), None
    )
    summary = click.Command(entry.name, help=docstring or "").get_short_help_str(limit=_CHARS)
    return "".join(char for char in summary if char.isprintable())


def _file(module: str) -> Path:
    """The file of a module. Only its outermost package is looked for, so nothing is imported."""
    package, *inner = module.split(".")
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ImportError(f"there is no package {package}")
    if spec.submodule_search_locations is None:
        return Path(spec.origin)
    path = Path(spec.origin).parent.joinpath(*inner)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
