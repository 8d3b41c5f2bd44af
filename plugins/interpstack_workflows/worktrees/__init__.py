"""Worktrees of git, in which agents work apart."""
