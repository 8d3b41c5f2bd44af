"""Fixtures for tests of cells and sessions."""

from fake_stacks import imaging_engine, make_session, make_stack

__all__ = ["imaging_engine", "make_session", "make_stack"]
