"""MCP servers: their tools, called from code as the agent's own tools are."""
