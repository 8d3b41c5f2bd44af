"""Fixtures for tests of code that uses interpstack.

pytest imports this module in every run, so the module imports the rest of interpstack only when a
fixture is used. All pytest plugins share one namespace, so its names begin with `interpstack`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from interpstack import Engine, InterpreterStack, Session

_OPTION = "--interpstack-engine"
_MARK = "interpstack(**options): options of the `InterpreterStack` that the fixtures make"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("interpstack").addoption(
        _OPTION,
        metavar="NAME",
        default="quickjs",
        help="engine of the interpstack fixtures: an installed one, or fake (default: quickjs)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARK)


@pytest.fixture
def interpstack_engine(pytestconfig: pytest.Config) -> Iterator[Engine]:
    """A new engine, the one that `--interpstack-engine` names; closed after the test."""
    engine = _engine(pytestconfig.getoption(_OPTION))
    yield engine
    engine.close()


@pytest.fixture
def interpstack_stack(
    interpstack_engine: Engine, request: pytest.FixtureRequest
) -> Iterator[InterpreterStack]:
    """A stack on that engine, with the options of `@pytest.mark.interpstack(…)`."""
    from interpstack import InterpreterStack

    marks = list(request.node.iter_markers("interpstack"))
    options: dict[str, Any] = {k: v for mark in reversed(marks) for k, v in mark.kwargs.items()}
    with InterpreterStack(interpstack_engine, **options) as stack:
        yield stack


@pytest.fixture
def interpstack_session(interpstack_stack: InterpreterStack) -> Iterator[Session]:
    """A session of that stack."""
    with interpstack_stack.session() as session:
        yield session


def _engine(name: str) -> Engine:
    from interpstack import InterpreterStack
    from interpstack_testing import FakeEngine

    return FakeEngine() if name == FakeEngine.name else InterpreterStack(name).engine
