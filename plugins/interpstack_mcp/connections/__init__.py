"""Connections to MCP servers: transports with limits, and the life of each connection."""
