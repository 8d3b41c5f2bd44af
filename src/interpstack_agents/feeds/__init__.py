"""Feeds of what running cells do, for subscribers that may be slow."""
