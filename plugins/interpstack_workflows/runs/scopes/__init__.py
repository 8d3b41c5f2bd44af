"""Run the scopes of a run, and replay their recorded answers."""
