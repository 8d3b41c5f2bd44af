"""Runs that are live in a process, and those that rest."""
