"""Worktrees of a git repository, in which agents work apart from each other and from its owner."""

from __future__ import annotations

from interpstack_worktrees.git import WorktreeError
from interpstack_worktrees.worktrees import GitWorktrees, Product, Worktree

__all__ = ["GitWorktrees", "Product", "Worktree", "WorktreeError"]
