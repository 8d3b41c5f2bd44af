"""Turns of guests: they run in threads, and event loops wait for them."""
