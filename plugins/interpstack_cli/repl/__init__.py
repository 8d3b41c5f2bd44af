"""Reading cells from a terminal or a pipe, and running them in one session."""
