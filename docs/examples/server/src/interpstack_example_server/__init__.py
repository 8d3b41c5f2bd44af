"""A web server for agents with an interpreter: several workers, one database."""

from interpstack_example_server.settings import Parts

__all__ = ["Parts"]
