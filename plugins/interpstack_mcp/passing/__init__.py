"""Servers offered to the clients of a server: what they list, and requests in both directions."""
