"""Code that wants more time, memory, stack or requests than there are."""
