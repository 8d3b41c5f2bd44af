"""Cells that compute until they are stopped, which need not be long.

How long one computes is the same to the code that stops it, but not to those who wait for the test.
The cells before and after it have all the time they want: a busy machine may need it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from interpstack import InterpreterStack

_SECONDS = 0.25


@contextmanager
def brief(stack: InterpreterStack) -> Iterator[None]:
    """Give the cells of a block a quarter of a second to compute, and no more."""
    limits = stack.limits
    stack.limits = attrs.evolve(limits, cpu_seconds=_SECONDS)
    try:
        yield
    finally:
        stack.limits = limits
