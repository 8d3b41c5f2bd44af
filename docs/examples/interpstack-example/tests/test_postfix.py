"""The engine, against the tests that every engine must pass."""

from __future__ import annotations

from interpstack_example.postfix.conformance import PostfixConformance


class TestPostfix(PostfixConformance):
    """All tests are the kit's."""
