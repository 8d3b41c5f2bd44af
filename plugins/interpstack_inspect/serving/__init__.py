"""The server: who may look, and the pages."""
