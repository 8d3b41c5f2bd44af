"""Changes of a source, so that a script behaves like a cell of a REPL."""
