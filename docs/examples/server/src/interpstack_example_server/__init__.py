"""A web server for agents with an interpreter: several workers, one database."""
