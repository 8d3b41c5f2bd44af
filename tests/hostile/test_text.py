"""Text that has no UTF-8 form, everywhere text can go."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Bridge, GuestException, InterpreterStack, Limits

_LONE = r"'\ud800'"


@pytest.mark.parametrize(
    ("source", "shown"),
    {
        "result": (_LONE, "\\ud800"),
        "low": (r"'a\udfffb'", "a\\udfffb"),
        "wrong order": (r"'\udc00\ud800'", "\\udc00\\ud800"),
        "pair": (r"'\ud83d\ude00'", "\U0001f600"),
        "nested": (f"[{_LONE}]", '["\\ud800"]'),
        "key": (f"({{[{_LONE}]: 1}})", '{"\\ud800": 1}'),
        "Map": (f"new Map([[{_LONE}, {_LONE}]])", 'Map(1) {"\\ud800" => "\\ud800"}'),
        "symbol": (f"Symbol({_LONE})", "Symbol(\\ud800)"),
        "argument and answer": (f"await host.echo({_LONE}) === {_LONE}", "true"),
        "argument key": (f"Object.keys(await host.echo({{[{_LONE}]: 1}}))[0] === {_LONE}", "true"),
        "argument with tags": (f"(await host.echo({{$: {_LONE}}})).$ === {_LONE}", "true"),
        "argument Map": (f"(await host.echo(new Map([[{_LONE}, 1]]))).get({_LONE})", "1"),
    }.values(),
)
async def test_values(victim: Any, source: str, shown: str) -> None:
    outcome = await victim.attack(source)
    assert outcome.error is None, outcome.error
    rendered = victim.session.render(outcome)
    assert shown.replace(">", "&gt;") in rendered


@pytest.mark.parametrize(
    "source",
    [
        f"throw {_LONE}",
        f"throw new Error({_LONE})",
        f"throw Object.assign(new Error('m'), {{name: {_LONE}, stack: {_LONE}}})",
        f"throw {{[{_LONE}]: {_LONE}}}",
        f"await Promise.reject(new TypeError({_LONE}))",
        f"await host.echo(Symbol({_LONE}))",
    ],
)
async def test_errors(victim: Any, source: str) -> None:
    outcome = await victim.attack(source)
    assert outcome.error is not None
    assert "\\ud800" in victim.session.render(outcome) or "symbol" in outcome.error.message


async def test_console(victim: Any) -> None:
    if not victim.has_console:
        pytest.skip("the console plugin is not installed")
    outcome = await victim.attack(f"console.log({_LONE}, [{_LONE}], 'a'); 1")
    assert victim.session.render(outcome).encode().count(b"\\ud800") == 2


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("'\ud800'.length", "1"),
        ("'\ud800' === '\\ud800'", "true"),
        ("`\ud800`.charCodeAt(0) === 0xd800", "true"),
        ("'\ud83d\ude00'.codePointAt(0) === 0x1f600", "true"),
        ("/* \ud800 */ 5", "5"),
        ("// \udfff\n6", "6"),
        ("const lone = {'\ud800': 1}; lone['\\ud800']", "1"),
    ],
)
async def test_source(victim: Any, source: str, shown: str) -> None:
    outcome = await victim.attack(source)
    assert (outcome.error, outcome.text) == (None, shown)


@pytest.mark.parametrize(
    "source", ["\ud800", "let a\ud800 = 1", "\ud800 = 1; 2", "/\ud800", "'\ud800"]
)
async def test_source_that_is_no_code(victim: Any, source: str) -> None:
    outcome = await victim.attack(source)
    assert outcome.error is not None
    assert outcome.error.name == "SyntaxError"


async def test_typescript_source(victim: Any) -> None:
    from interpstack import Cell

    outcome = await victim.attack(
        Cell(source="const t: string = '\ud800'; t.length", language="typescript")
    )
    assert outcome.error is None, outcome.error


@pytest.mark.parametrize(
    "source",
    [
        "'a\\0b'.length",
        "'a\0b'.length",
        "'\ufeff'.length + 2",
        "'a\u2028b'.length",
        "'\r\n'.length + 1 || 1",
    ],
)
async def test_odd_characters_in_source(victim: Any, source: str) -> None:
    outcome = await victim.attack(source)
    assert outcome.text == "3" or outcome.error.name == "SyntaxError"


async def test_answers_and_errors_of_the_host() -> None:
    def answer(value: str) -> Any:
        if value == "raise":
            raise ValueError("bad \ud800")
        if value == "chosen":
            raise GuestException("bad \udfff", name="N\ud800", extra="\ud800")
        return {"\ud800": ["\udfff", "$"], "$": "\ud800"}

    bridge = Bridge(name="host.answer", handler=answer, raw=True)
    stack = InterpreterStack(bridges=[bridge], limits=Limits(cpu_seconds=1))
    async with stack.session("s") as session:
        outcome = await session.eval(
            r"const a = await host.answer(''); [a['\ud800'][0] === '\udfff', a.$ === '\ud800']"
        )
        assert outcome.text == "[true, true]"
        for value in ("raise", "chosen"):
            outcome = await session.eval(f"await host.answer('{value}')")
            assert outcome.error is not None
            assert outcome.error.message.startswith("bad ")
            session.render(outcome).encode()
        assert (await session.eval("1 + 1")).text == "2"
    stack.close()
