"""Steps of runs: their names, and the records of how they ended."""
