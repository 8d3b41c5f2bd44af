"""Sandboxes: what runs the commands of scripts."""
