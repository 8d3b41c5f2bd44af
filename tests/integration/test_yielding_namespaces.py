"""Namespaces whose names variables of the guest may have, too."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Bridge, HostOffer, InterpreterStack, hookimpl

ENGINES = ["quickjs", "v8", "node", "process:quickjs"]


def _bridge(name: str, **more: Any) -> Bridge:
    return Bridge(name=name, handler=lambda value: "read", raw=True, yields=True, **more)


READ, STAT = _bridge("files.read"), _bridge("files.stat")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "cell",
    [
        "const files = ['a', 'b']; files.map((one) => one + 1)",
        "let files = ['a', 'b']; await null; files.map((one) => one + 1)",
        "var files = ['a', 'b']; files.map((one) => one + 1)",
        "files = ['a', 'b']; files.map((one) => one + 1)",
        "globalThis.files = ['a', 'b']; files.map((one) => one + 1)",
    ],
)
async def test_a_variable_hides_the_namespace_also_in_later_cells(engine: str, cell: str) -> None:
    async with InterpreterStack(engine, bridges=[READ, STAT]) as stack:
        session = stack.session()
        assert (await session.eval("await files.read('/a')")).text == "read"
        first, second = await session.eval(cell), await session.eval("files.map((x) => x).length")
        assert (first.error, first.text) == (None, '["a1", "b1"]')
        assert (second.error, second.text) == (None, "2")
        assert first.notices == second.notices == ()


@pytest.mark.parametrize("engine", ENGINES)
async def test_functions_of_that_name_hide_it_too(engine: str) -> None:
    async with InterpreterStack(engine, bridges=[READ]) as stack:
        session = stack.session()
        assert (await session.eval("function files() { return 7 }; files()")).text == "7"
        assert (await session.eval("files()")).text == "7"


@pytest.mark.parametrize("engine", ENGINES)
async def test_only_a_variable_that_hides_it_is_carried(engine: str) -> None:
    async with InterpreterStack(engine, bridges=[READ]) as stack:
        session = stack.session("a")
        _, state = await session.eval_with_state("const n = 1; n")
        assert state is not None
        assert set(state.values or {}) == {"n"}
        _, state = await session.eval_with_state("const files = [1, 2]; 0")
        assert state is not None
        assert set(state.values or {}) == {"n", "files"}
        later = stack.session("b")
        await later.load(state.values or {})
        assert (await later.eval("files.length + n")).text == "3"


class _Changing:
    """Offers other functions after a while."""

    bridges: list[Bridge] = [READ]  # noqa: RUF012 - one for each test

    @hookimpl
    def interpstack_register_bridges(self, register: Any, offer: HostOffer) -> None:
        for one in self.bridges:
            register.bridge(one)


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
async def test_a_new_offer_changes_the_namespace_unless_it_is_hidden(engine: str) -> None:
    plugin = _Changing()
    async with InterpreterStack(engine, plugins=[plugin]) as stack:
        open_, hidden = stack.session("open"), stack.session("hidden")
        await hidden.eval("const files = [1, 2]; 0")
        await open_.eval("await files.read('/a')")
        plugin.bridges = [READ, STAT]
        for session in (open_, hidden):
            session.bind(HostOffer())
        assert (await open_.eval("await files.stat('/a')")).text == "read"
        assert (await hidden.eval("files.length")).text == "2"
        plugin.bridges = []
        for session in (open_, hidden):
            session.bind(HostOffer())
        assert (await open_.eval("typeof files")).text == "undefined"
        assert (await hidden.eval("files.length")).text == "2"


@pytest.mark.parametrize("engine", ENGINES)
async def test_its_calls_are_checked_until_it_is_hidden(engine: str) -> None:
    async with InterpreterStack(engine, bridges=[READ, STAT]) as stack:
        session = stack.session()
        outcome = await session.eval("await files.raed('/a')")
        assert outcome.error is not None
        assert "did you mean files.read?" in outcome.error.message
        assert "nothing of the cell has run" in outcome.error.message
        await session.eval("let files = {raed: () => 5}")
        assert (await session.eval("files.raed('/a')")).text == "5"


@pytest.mark.parametrize("engine", ENGINES)
async def test_other_namespaces_stay_reserved(engine: str) -> None:
    kept = Bridge(name="bank.pay", handler=lambda value: "paid", raw=True)
    mixed = [_bridge("store.read"), Bridge(name="store.pay", handler=lambda value: 1, raw=True)]
    async with InterpreterStack(engine, bridges=[kept, *mixed]) as stack:
        session = stack.session()
        for name in ("bank", "store"):
            outcome = await session.eval(f"const {name} = 1")
            assert outcome.error is not None
            assert f"{name} is reserved by the interpreter" in outcome.error.message


async def test_arguments_by_position_are_not_surplus() -> None:
    async def write(value: Any) -> Any:
        return value

    one = Bridge(name="files.write", handler=write, raw=True, positional=True)
    async with InterpreterStack("quickjs", bridges=[one]) as stack:
        outcome = await stack.session().eval("await files.write('/a', 'text')")
        assert (outcome.error, outcome.text) == (None, '["/a", "text"]')
