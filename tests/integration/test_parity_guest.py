"""What code may do and what its results look like, beside langchain-quickjs.

`docs/reference/compared.md` names these tests.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends import FilesystemBackend
from guests import GuestCode, without_restored
from parity import Talk, echo, fail, result


@pytest.mark.engines("javascript")
async def test_area_repl(converse: Talk) -> None:
    agent = converse()
    assert await agent.run(
        "let a = 1; const b = 2; function f() { return a + b } class K { n = 1 } ",
        "let a = 5; const b = 6; f()",
        "new K().n",
        "Promise.resolve('awaited')",
        "const c = await Promise.resolve(3); c",
        "if (c) { 'last' } else { 'no' }",
    ) == [
        result("undefined"),
        result("11"),
        result("1"),
        result("awaited"),
        result("3"),
        result("last"),
    ]
    assert await agent.one("f() + c") == result("14")


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("name", ["fetch", "require", "process", "XMLHttpRequest", "Deno", "std"])
async def test_area_sandbox(converse: Talk, name: str) -> None:
    agent = converse()
    assert await agent.one(f"typeof {name}") == result("undefined")
    for specifier in ("fs", "node:fs", "./x.js", "https://example.com/x.js"):
        answer = await agent.one(f"await import('{specifier}')")
        assert answer.startswith("<error ")


@pytest.mark.engines("javascript")
async def test_area_console(converse: Talk) -> None:
    agent = converse(max_result_chars=100)
    assert (
        await agent.one("console.log('a', {b: 1}); console.warn('w'); console.error('<e>'); 1")
        == "<stdout>\na {b: 1}\nw\n&lt;e&gt;\n</stdout>\n<result>1</result>"
    )
    long = await agent.one("console.log('x'.repeat(300)); 'y'.repeat(150)")
    shown, rest = "x" * 100, "y" * 100
    assert long == (
        f"<stdout>\n{shown}… [truncated 200 chars]\n</stdout>\n"
        f"<result>{rest}… [truncated 50 chars]</result>"
    )
    mute = converse(capture_console=False)
    assert await mute.one("typeof console") == result("undefined")


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("3.0", result("3")),
        ("0.1 + 0.2", result("0.30000000000000004")),
        ("'raw <b> & \"q\"'", result('raw &lt;b&gt; &amp; "q"')),
        ("[1, 2]", result("[1, 2]")),
        ("({a: 1, s: 'x'})", result('{a: 1, s: "x"}')),
        ("null", result("null")),
        ("true", result("true")),
        ("123n", result("123n")),
        (
            "(a, b) => a",
            "<notice>The value is a function, and none of its code has run: call it, as in "
            "(() =&gt; { … })().</notice>\n"
            '<result kind="handle">[Function (anonymous)] arity=2</result>',
        ),
    ],
)
async def test_area_result(converse: Talk, code: str, answer: str) -> None:
    assert await converse().one(code) == answer


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("null.x", "TypeError"),
        ("nope", "ReferenceError"),
        ("let = ;", "SyntaxError"),
        ("class Mine extends Error { name = 'Mine' }; throw new Mine('m')", "Mine"),
        ("for (;;) {}", "Timeout"),
        ("const hog = []; for (;;) hog.push(new Uint8Array(1e6))", "OutOfMemory"),
        ("for (let i = 0; i < 9; i++) await tools.echo({text: 'x'})", "PTCCallBudgetExceeded"),
        ("await new Promise(() => {})", "Deadlock"),
        ("await tools.fail({})", "ToolError"),
        ("await import('@/skills/none')", "SkillNotAvailable"),
    ],
)
async def test_area_errors(converse: Talk, code: str, name: str) -> None:
    timeout = 10.0 if name == "OutOfMemory" else 0.5  # V8 needs 0.6 s to fill its memory
    agent = converse(tools=[echo, fail], max_ptc_calls=8, timeout=timeout, memory_limit=16 * 2**20)
    await agent.run("let kept = 1")
    answer = await agent.one(code)
    assert answer.startswith(f'<error type="{name}">')
    assert await agent.one("kept") == result("1")


@pytest.mark.engines("all")
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("SyntaxError", lambda guest: "let = ;"),
        ("Timeout", lambda guest: guest.endless),
        ("PTCCallBudgetExceeded", lambda guest: guest.cell(*[guest.call("echo", text="x")] * 9)),
        ("ToolError", lambda guest: guest.call("fail")),
        ("{own}", lambda guest: guest.throw.format(value=guest.value("own words"))),
    ],
)
async def test_area_errors_in_any_language(
    converse: Talk, guest: GuestCode, name: str, make: Callable[[GuestCode], str]
) -> None:
    agent = converse(tools=[echo, fail], max_ptc_calls=8, timeout=0.5)
    await agent.run(guest.set("kept", "1"))
    answer = await agent.one(make(guest))
    assert answer.startswith(f'<error type="{name.format(own=guest.error_name)}">')
    assert without_restored(await agent.one("kept")) == result("1")


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("ending", ["js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx"])
async def test_area_skills(converse: Talk, tmp_path: Path, ending: str) -> None:
    skill = tmp_path / "skills" / "maths"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        f"---\nname: maths\ndescription: Maths.\nmodule: lib.{ending}\n---\n"
    )
    typed = ": number" if "ts" in ending else ""
    (skill / f"lib.{ending}").write_text(f"export const twice = (n{typed}){typed} => n * 2;\n")
    backend = FilesystemBackend(root_dir=tmp_path, virtual_mode=True)
    agent = converse(skills_backend=backend)
    name = "const {twice} = await import('@/skills/' + ['maths'].join()); twice(21)"
    assert await agent.run(name, "twice(2)") == [result("42"), result("4")]
    missing = await agent.one("await import('@/skills/none')")
    assert missing.startswith('<error type="SkillNotAvailable">')


async def assert_alive(agent: Any) -> None:
    assert without_restored(await agent.one("earlier")) == result("binding")


@pytest.fixture
async def agent(converse: Talk) -> Any:
    """A conversation with an earlier binding."""
    made = converse(timeout=1)
    await made.run("const earlier = 'binding'")
    return made


@pytest.mark.engines("javascript")
async def test_row_01_endless_recursion(agent: Any) -> None:
    answer = await agent.one("function r(n) { return r(n + 1) + 1 }; r(0)")
    assert answer.startswith(('<error type="RangeError">', '<error type="InternalError">'))
    await assert_alive(agent)


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("code", "shown"),
    [
        (
            "({get boom() { throw new Error('trap') }, fine: 1})",
            "{boom: [Throws: Error: trap], fine: 1}",
        ),
        ("new Proxy({}, {ownKeys() { throw 1 }, get() { throw 2 }})", "[Throws: "),
        ("[1, new Proxy([], {get() { throw new Error('trap') }})]", "[1, [Throws: Error: trap]]"),
        ("({n: 1, toJSON() { throw 1 }, toString() { throw 2 }})", "n: 1"),
    ],
)
async def test_row_02_throwing_result(agent: Any, code: str, shown: str) -> None:
    answer = await agent.one(code)
    assert answer.startswith("<result>")
    assert shown in answer
    await assert_alive(agent)


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    "code",
    [
        "new Proxy({}, {ownKeys() { for (;;) {} }})",
        "({get [Symbol.toStringTag]() { for (;;) {} }})",
        "var e = new Error('x'); Object.defineProperty(e, 'message', {get() { for (;;) {} }}); e",
        "const held = new Proxy({}, {ownKeys() { for (;;) {} }}); held",
    ],
)
async def test_row_03_endless_getter(agent: Any, code: str) -> None:
    answer = await agent.one(code)
    assert '<error type="Timeout">' in answer
    await assert_alive(agent)


@pytest.mark.engines("javascript")
async def test_row_03_getter_that_turns_endless(agent: Any) -> None:
    """What is read to store the state, after the result was rendered, is limited as well."""
    code = "let n = 0; var late = {get a() { if (n++ < 1) return 1; for (;;) {} }}; late"
    assert await agent.one(code) == result("{a: 1}")
    await assert_alive(agent)


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("new Map([[1, {a: 2}]])", "Map(1) {1 =&gt; {a: 2}}"),
        ("new Set([1])", "Set(1) {1}"),
        ("new Date(0)", "1970-01-01T00:00:00.000Z"),
        ("/a/g", "/a/g"),
        ("class P { x = 1 }; new P()", "P {x: 1}"),
        ("new Uint8Array([1, 2])", "Uint8Array(2) [1, 2]"),
        ("Symbol('s')", "Symbol(s)"),
    ],
)
async def test_row_04_printed_as_node_does(agent: Any, code: str, shown: str) -> None:
    answer = await agent.one(code)
    assert answer.removesuffix("</result>").endswith(f">{shown}")


async def test_row_04_printed_error(agent: Any) -> None:
    assert "Error: x" in await agent.one("new Error('x')")


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("code", "shown"),
    [("throw 'x'", "x"), ("throw {code: 1}", "{code: 1}"), ("throw null", "null")],
)
async def test_row_05_thrown_value(agent: Any, code: str, shown: str) -> None:
    answer = await agent.one(code)
    assert answer.startswith("<error ")
    assert shown in answer.split(">", 1)[1]


@pytest.mark.engines("javascript")
async def test_row_06_own_words(agent: Any) -> None:
    assert await agent.run("NaN", "Infinity", "-Infinity", "undefined", "-0", "[undefined]") == [
        result(word) for word in ("NaN", "Infinity", "-Infinity", "undefined", "-0", "[undefined]")
    ]


@pytest.mark.engines("javascript")
async def test_row_07_function_inside_object(agent: Any) -> None:
    assert await agent.one("({a() {}, b: 2})") == result("{a: [Function: a], b: 2}")


@pytest.mark.engines("javascript")
async def test_row_08_cycle(agent: Any) -> None:
    assert await agent.one("const o = {}; o.o = o; o") == result("{o: [Circular]}")


@pytest.mark.engines("javascript")
async def test_row_09_lone_surrogate(agent: Any) -> None:
    assert await agent.one("'before \\ud800 after'") == result("before \\ud800 after")
    assert await agent.one("['😀', '\\udc00']") == result('["😀", "\\udc00"]')
