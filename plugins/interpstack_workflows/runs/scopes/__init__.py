"""The loop of one scope, and what it replays."""
