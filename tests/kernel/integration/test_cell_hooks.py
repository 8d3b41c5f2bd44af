"""Hooks around sessions and cells that are no wrappers: opened, closing, transform, render."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from interpstack import (
    Bridge,
    Cell,
    ConfigurationError,
    GuestException,
    InterpreterStack,
    SessionClosed,
    hookimpl,
)
from interpstack_testing import FakeEngine


class Changes:
    """Changes cells by a function."""

    def __init__(self, change: Any, name: str = "changes") -> None:
        self.name, self.change = name, change

    @hookimpl
    def interpstack_transform_cell(self, cell: Cell) -> Any:
        return self.change(cell)


def _with(source: str) -> Any:
    return lambda cell: attrs.evolve(cell, source=cell.source.replace("HERE", source))


async def test_each_plugin_gets_the_cell_of_the_one_before() -> None:
    plugins = [Changes(_with("1 + HERE"), "a"), Changes(lambda cell: None, "b")]
    plugins.append(Changes(_with("41"), "c"))
    async with InterpreterStack(FakeEngine(), plugins) as stack, stack.session() as session:
        assert (await session.eval("HERE")).text == "42"


async def test_errors_name_the_users_line_where_lines_are_kept() -> None:
    plugins = [Changes(_with("undefined_name"))]
    pytest.importorskip("interpstack_quickjs", reason="the kernel is tested alone")
    async with InterpreterStack("quickjs", plugins) as stack, stack.session() as session:
        outcome = await session.eval("1\n2\nHERE")
        assert outcome.error is not None
        assert "cell:3" in outcome.error.stack


@pytest.mark.parametrize(
    ("change", "name", "found"),
    [
        (_with("x" * 2_000_000), "CellRefused", "plugin 'changes' could not transform the cell"),
        (lambda cell: 1 / 0, "CellRefused", "division by zero"),
        (lambda cell: "text", "CellRefused", "returns a Cell or None; got 'text'"),
    ],
)
async def test_a_transform_that_fails_refuses_the_cell(change: Any, name: str, found: str) -> None:
    called = []
    tool = Bridge(name="tool", handler=lambda: called.append(1))
    stack = InterpreterStack(FakeEngine(), [Changes(change)], bridges=[tool])
    async with stack, stack.session() as session:
        outcome = await session.eval("HERE")
    assert outcome.error is not None
    assert outcome.error.name == name
    assert found in outcome.error.message
    assert called == []


async def test_a_transform_may_choose_the_error() -> None:
    def refuse(cell: Cell) -> Any:
        raise GuestException("imports are not allowed", name="StaticCheck")

    async with (
        InterpreterStack(FakeEngine(), [Changes(refuse)]) as stack,
        stack.session() as session,
    ):
        error = (await session.eval("import os")).error
    assert error is not None
    assert (error.name, error.message) == ("StaticCheck", "imports are not allowed")


class Life:
    """Notes sessions that open and close, and holds a lease for each."""

    def __init__(self, name: str, raises: BaseException | None = None) -> None:
        self.name, self.raises = name, raises
        self.leases: list[str] = []
        self.noted: list[str] = []

    @hookimpl
    def interpstack_session_opened(self, session: Any) -> None:
        if isinstance(self.raises, ConfigurationError):
            raise self.raises
        self.leases.append(session.key)

    @hookimpl
    def interpstack_session_closing(self, session: Any) -> Any:
        async def release() -> None:
            if self.raises is not None:
                raise self.raises
            with pytest.raises(ConfigurationError, match="would wait for itself"):
                await session.eval("1")
            assert session.live
            self.leases.remove(session.key)
            self.noted.append(session.key)

        return release()


async def test_a_session_opens_and_closes_once() -> None:
    life = Life("life")
    async with InterpreterStack(FakeEngine(), [life]) as stack:
        session = stack.session("a")
        assert stack.session("a") is session
        await session.eval("1")
        await stack.session("b").eval("1")
        assert life.leases == ["a", "b"]
        await session.aclose()
        await session.aclose()
        assert (life.leases, life.noted) == (["b"], ["a"])
    assert (life.leases, sorted(life.noted)) == ([], ["a", "b"])


async def test_a_plugin_that_fails_keeps_no_session_from_closing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    life = Life("life")
    async with InterpreterStack(FakeEngine(), [Life("broken", OSError("gone")), life]) as stack:
        session = stack.session("a")
        await session.eval("1")
        await session.aclose()
        with pytest.raises(SessionClosed):
            await session.eval("1")
    assert life.noted == ["a"]
    assert "plugin 'broken' failed while session 'a' was closed" in caplog.text


def test_a_plugin_may_refuse_a_session() -> None:
    life = Life("life", ConfigurationError("no lease left"))
    with InterpreterStack(FakeEngine(), [life]) as stack:
        with pytest.raises(ConfigurationError, match="no lease left"):
            stack.session("a")
        life.raises = None
        assert stack.session("a").key == "a"
        stack.session("a").eval_sync("1")


class Renders:
    """Renders outcomes that have a value."""

    name = "renders"

    def __init__(self, text: Any) -> None:
        self.text = text

    @hookimpl
    def interpstack_render_outcome(self, session: Any, outcome: Any) -> Any:
        return self.text if outcome.ok else None


def test_a_plugin_renders_and_the_core_does_the_rest() -> None:
    with InterpreterStack(FakeEngine(), [Renders("shown")]) as stack:
        session = stack.session("a")
        assert session.render(session.eval_sync("1")) == "shown"
        assert session.render(session.eval_sync("1 / 0")).startswith("<error")


def test_a_rendering_that_is_no_text_is_refused() -> None:
    with InterpreterStack(FakeEngine(), [Renders(7)]) as stack:
        session = stack.session("a")
        with pytest.raises(ConfigurationError, match="returns text or None; got 7"):
            session.render(session.eval_sync("1"))
