"""Looks at what runners have, without running it: runs, agents, workflows, rehearsals."""
