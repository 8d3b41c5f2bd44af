"""What every hostile test shares: a session to attack, and the proof that it is unharmed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import attrs
import pytest

from interpstack import Bridge, Cell, ConfigurationError, InterpreterStack, Limits, Outcome, Session

#: Seconds for one test: a host that hangs fails, a machine that is busy does not.
_TEST_SECONDS = 60


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "hostile" in item.path.parts and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_TEST_SECONDS))


async def _echo(value: Any) -> Any:
    return value


@attrs.define(eq=False)
class Victim:
    """A session with the earlier binding `keep = {n: 41}` and the bridge `host.echo`.

    Attributes:
        has_console: Whether the console plugin is there.
    """

    session: Session
    has_console: bool

    async def attack(self, source: str | Cell) -> Outcome:
        """Run hostile code; whatever it did, the session must then be healthy."""
        outcome = await self.session.eval(source)
        self.session.render(outcome).encode()  # a host may store it anywhere
        assert outcome.notices == ()
        await self.assert_healthy()
        return outcome

    async def run(self, source: str) -> str:
        """The text of a cell that must succeed."""
        outcome = await self.session.eval(source)
        assert outcome.error is None, outcome.error
        return outcome.text

    async def assert_healthy(self) -> None:
        assert await self.run("1 + 1") == "2"
        assert await self.run("keep.n + 1") == "42"
        assert await self.run('(await host.echo({a: [1, "x"]})).a[1]') == "x"
        assert await self.run("await new Promise(go => setTimeout(() => go('rang'), 1))") == "rang"
        assert await self.run("({a: 1, b: [2, 'x']})") == '{a: 1, b: [2, "x"]}'
        failed = await self.session.eval("null.x")
        assert failed.error is not None
        assert failed.error.name == "TypeError"
        if self.has_console:
            assert (await self.session.eval("console.log('heard')")).console == "heard"


@pytest.fixture
def limits() -> Limits:
    """Limits of the session under attack; modules may override it."""
    return Limits(cpu_seconds=0.3, wall_seconds=20, memory_bytes=16 * 2**20)


@pytest.fixture
async def victim(limits: Limits) -> AsyncIterator[Victim]:
    echo = Bridge(name="host.echo", handler=_echo, raw=True)

    def make(*plugins: str) -> InterpreterStack:
        return InterpreterStack(plugins=plugins, bridges=[echo], limits=limits)

    has_console = True
    try:
        stack = make("console")
    except ConfigurationError:
        stack, has_console = make(), False
    async with stack.session("victim") as session:
        await session.eval("const keep = {n: 41}")
        yield Victim(session, has_console)
    stack.close()
