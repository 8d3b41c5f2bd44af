"""The bounds of a guest: limits, isolation, and hostile code that tests both."""
