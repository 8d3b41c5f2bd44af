"""Replays as a web page: one file, without scripts and without anything loaded from elsewhere."""
