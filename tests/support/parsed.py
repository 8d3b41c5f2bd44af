"""Sources of the project, parsed once for all the guards that read them.

The trees are shared: nobody may change them. They depend on a file's text alone, so a guard sees
what a test has just written.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return tree_of(path.read_text("utf-8"))


def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file's syntax tree, as `ast.walk` yields them."""
    return nodes_of(path.read_text("utf-8"))


@cache
def tree_of(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def nodes_of(source: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(source)))


def forget() -> None:
    """Drop all trees: the collector would go through them as long as the process lives."""
    tree_of.cache_clear()
    nodes_of.cache_clear()
