"""Events of runs, and what is told by them."""
