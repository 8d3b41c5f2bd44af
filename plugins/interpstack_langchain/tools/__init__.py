"""Functions for code: the agent's tools, subagents and skills, and their approvals."""
