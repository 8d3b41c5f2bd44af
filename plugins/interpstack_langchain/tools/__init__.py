"""What code may call: the agent's tools, subagents and skills, and the approvals they need."""
