"""Order among the agents of all runs in a process."""
