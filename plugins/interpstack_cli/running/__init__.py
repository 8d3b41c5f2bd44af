"""Running code: the stack that the options ask for, and one cell in it."""
