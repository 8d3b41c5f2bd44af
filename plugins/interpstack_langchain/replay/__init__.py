"""`interpstack replay`: the recorded evals of a thread, run again with nothing called."""
