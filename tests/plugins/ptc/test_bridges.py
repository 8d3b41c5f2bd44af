"""`tools` in the guest: names, calls, search, and what the prompt says of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from interpstack import (
    BridgeError,
    CellContext,
    ConfigurationError,
    GuestException,
    HostOffer,
    HostTool,
    InterpreterStack,
)
from interpstack_ptc.api import ToolSignatures
from interpstack_testing import FakeEngine

Make = Callable[..., HostTool]


@pytest.fixture
def guest_name(make_tool: Make, stack: InterpreterStack) -> Callable[[str], str]:
    def name(given: str) -> str:
        bridges = stack.bridge_set(HostOffer(tools=[make_tool(given)]))
        return next(b.name for b in bridges if "$" not in b.name).removeprefix("tools.")

    return name


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("search", "search"),
        ("web_search", "webSearch"),
        ("web-search", "webSearch"),
        ("web search", "webSearch"),
        ("web.search.v2", "webSearchV2"),
        ("webSearch", "webSearch"),
        ("WebSearch", "WebSearch"),
        ("__web__search__", "_Web_Search__"),
        ("SQL_query", "SQLQuery"),
        ("get_2_rows", "get_2Rows"),
        ("query_1", "query_1"),
        ("GET_ALL", "GET_ALL"),
        ("_search", "Search"),
        ("search_", "search_"),
        ("web-2-search", "web2Search"),
        ("x", "x"),
        ("delete", "delete"),
        ("constructor", "constructor"),
    ],
)
def test_names_become_camel_case(guest_name: Any, given: str, expected: str) -> None:
    assert guest_name(given) == expected


@pytest.mark.parametrize("given", ["", "_", "1st", "größe", "a+b", "a/b", "日本", "a\u200bb"])
def test_names_that_are_no_identifiers_are_refused(guest_name: Any, given: str) -> None:
    with pytest.raises(ConfigurationError, match="rename the tool, or leave it out"):
        guest_name(given)


def test_stacks_share_the_bridge_of_a_tool_and_not_that_of_its_equal(make_tool: Make) -> None:
    def offered(tool: HostTool) -> Any:
        stack = InterpreterStack(FakeEngine(), plugins=["ptc"])
        return stack, stack.bridge_set(HostOffer(tools=[tool])).get(f"tools.{tool.name}")

    tool = make_tool("search")
    (_first, bridge), (_second, again) = offered(tool), offered(tool)
    assert again is bridge
    (_third, other) = offered(attrs.evolve(tool, budget=3))
    assert (bridge.budget, other.budget) == (None, 3)


def test_two_tools_of_one_name_are_refused(stack: InterpreterStack, make_tool: Make) -> None:
    offer = HostOffer(tools=[make_tool("web_search"), make_tool("web-search")])
    with pytest.raises(ConfigurationError, match=r"'web_search' and 'web-search'.*webSearch"):
        stack.bridge_set(offer)


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("name", ["$search", "$describe"])
def test_names_of_the_plugin_itself_are_taken(
    stack: InterpreterStack, make_tool: Make, name: str
) -> None:
    message = rf"tool '\{name}' cannot.*; rename the tool, or leave it out of ptc"
    with pytest.raises(ConfigurationError, match=message):
        stack.bridge_set(HostOffer(tools=[make_tool(name)]))


async def run(stack: InterpreterStack, offer: HostOffer, code: str) -> str:
    async with stack.session() as session:
        session.bind(offer)
        return session.render(await session.eval(code))


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("name", ["constructor", "delete", "hasOwnProperty"])
async def test_names_with_a_meaning_in_javascript_are_callable(
    stack: InterpreterStack, make_tool: Make, name: str
) -> None:
    code = f"(await tools.{name}({{a: 1}})).a"
    assert await run(stack, HostOffer(tools=[make_tool(name)]), code) == "<result>1</result>"


@pytest.mark.parametrize("name", ["then", "toString", "to_string", "value_of"])
def test_names_that_javascript_calls_by_itself_are_refused(
    stack: InterpreterStack, make_tool: Make, name: str
) -> None:
    """To await or to print `tools` would call the tool."""
    with pytest.raises(BridgeError, match=f"tool '{name}' cannot .*; rename the tool, or leave"):
        stack.bridge_set(HostOffer(tools=[make_tool(name)]))


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("await tools.echo({a: 1, b: [null, {c: 2}]})", "{a: 1, b: [null, {c: 2}]}"),
        ("await tools.echo()", "{}"),
        ("await tools.echo(null)", "{}"),
        ("await tools.echo({a: undefined, b: {c: undefined}})", "{b: {}}"),
        ("await tools.echo({a: [undefined, 1]})", "{a: [null, 1]}"),
        ("(await tools.echo({a: new Date(0)})).a", "1970-01-01T00:00:00+00:00"),
        ("await tools.echo({a: new Map([['b', new Set([1, undefined])]])})", "{a: {b: [1, null]}}"),
        (
            "await tools.echo({a: new Map([[1, new Error('e')]])})",
            '{a: {1: {name: "Error", message: "e"}}}',
        ),
        ("/^function.*native code/s.test(tools.echo) && !/request/.test(tools.echo)", "true"),
        ("[tools.echo.name, tools.echo.length, Object.isFrozen(tools.echo)]", '["echo", 1, true]'),
        ("typeof tools.other", "undefined"),
        ("try { tools.echo = 1 } catch {} typeof tools.echo", "function"),
    ],
)
async def test_input_reaches_the_tool(
    stack: InterpreterStack, make_tool: Make, code: str, expected: str
) -> None:
    offer = HostOffer(tools=[make_tool("echo")])
    assert await run(stack, offer, code) == f"<result>{expected}</result>"


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("given", ["1", "'text'", "[1]", "new Map()", "() => 1"])
async def test_input_that_is_no_object_is_refused(
    stack: InterpreterStack, make_tool: Make, given: str
) -> None:
    code = f"try {{ await tools.echo({given}); 'taken' }} catch (e) {{ e.name + e.message }}"
    found = await run(stack, HostOffer(tools=[make_tool("echo")]), code)
    assert "Error" in found
    assert "taken" not in found


@pytest.mark.engines("javascript")
async def test_a_tool_may_choose_the_error(stack: InterpreterStack, make_tool: Make) -> None:
    async def call(given: dict[str, Any], context: CellContext) -> Any:
        raise GuestException("no more", name="QuotaError", left=0)

    code = "try { await tools.ask() } catch (e) { [e.name, e.message, e.tool, e.left] }"
    found = await run(stack, HostOffer(tools=[make_tool("ask", call=call)]), code)
    assert found == '<result>["QuotaError", "no more", "tools.ask", 0]</result>'


@pytest.mark.engines("javascript")
async def test_a_tool_has_its_own_budget(stack: InterpreterStack, make_tool: Make) -> None:
    offer = HostOffer(tools=[make_tool("once", budget=1), make_tool("often")])
    code = "await tools.once(); await tools.often(); await tools.often(); await tools.once()"
    found = await run(stack, offer, code)
    assert '<error type="CallBudgetExceeded">' in found
    assert "tools.once 1 time;" in found


@pytest.mark.engines("javascript")
async def test_a_reference_to_a_tool_that_is_gone_is_refused(
    stack: InterpreterStack, make_tool: Make
) -> None:
    async with stack.session() as session:
        session.bind(HostOffer(tools=[make_tool("echo")]))
        await session.eval("const kept = tools.echo")
        session.bind(HostOffer())
        outcome = await session.eval("await kept({})")
        assert outcome.error is not None
        assert "not offered in this session, or no longer" in outcome.error.message
        assert (await session.eval("typeof globalThis.tools?.echo")).text == "undefined"
        session.bind(HostOffer(tools=[make_tool("echo")]))
        assert (await session.eval("await kept({a: 1})")).text == "{a: 1}"


# -- finding tools -------------------------------------------------------------------------


@pytest.fixture
def many(make_tool: Make) -> HostOffer:
    schema = {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What to look for"}},
        "required": ["query"],
    }
    tools = [
        make_tool(f"tool_{i}", description=f"Does thing {i}. " * 5, input_schema=schema)
        for i in range(100)
    ]
    return HostOffer(
        tools=[
            *tools,
            make_tool("send_mail", description="Send a letter\nby post.", input_schema=schema),
            make_tool("read_news", description="Read the mail of today."),
        ]
    )


@pytest.mark.engines("javascript")
async def test_search_finds_by_name_first(stack: InterpreterStack, many: HostOffer) -> None:
    found = await run(stack, many, "(await tools.$search('mail')).map(t => t.name).join()")
    assert found == "<result>sendMail,readNews</result>"
    seen = await run(stack, many, "(await tools.$search('MAIL send'))[0].description")
    assert seen == "<result>Send a letter</result>"
    assert await run(stack, many, "(await tools.$search('nowhere')).length") == "<result>0</result>"
    assert await run(stack, many, "(await tools.$search('thing')).length") == "<result>20</result>"
    assert await run(stack, many, "(await tools.$search()).length") == "<result>20</result>"


@pytest.mark.engines("javascript")
async def test_helpers_take_short_texts(stack: InterpreterStack, many: HostOffer) -> None:
    caught = "await tools.{call}.catch(e => `${{e.name}}: ${{e.message}}`)"
    for call, seen in (
        ("$search('a '.repeat(501))", "a search for tools takes at most 1000 characters"),
        ("$search(Array(9).fill('a'))", "TypeError: a search for tools takes a string"),
        ("$describe([['a']])", "there is no tool of that name"),
        ("$describe('a'.repeat(9e5))", f"there is no tool '{'a' * 100}'; find"),
    ):
        found = await run(stack, many, caught.format(call=call))
        assert seen in found
    found = await run(stack, many, "(await tools.$search('mail '.repeat(200))).length")
    assert found == "<result>2</result>"


@pytest.mark.engines("javascript")
async def test_describe_shows_one(stack: InterpreterStack, many: HostOffer) -> None:
    for name in ("sendMail", "tools.sendMail"):
        found = await run(stack, many, f"await tools.$describe('{name}')")
        assert "/** Send a letter by post. */" in found
        assert "sendMail(input: { /* What to look for */ query: string }): Promise" in found
    found = await run(stack, many, "await tools.$describe('nothing')")
    assert "there is no tool 'nothing'; find one with tools.$search" in found.replace("&gt;", ">")


def test_too_many_tools_are_only_named(stack: InterpreterStack, many: HostOffer) -> None:
    text = stack.prompt(many)
    assert "$search" in text
    assert "$describe" in text
    assert "tool_99, sendMail, readNews" in text
    assert "declare const tools" not in text
    few = HostOffer(tools=many.tools[:3])
    assert "tool_2(input: { " in stack.prompt(few)
    assert "tool_2(input: { " not in stack.prompt(
        HostOffer(tools=many.tools[:3], parts=[ToolSignatures(max_chars=10)])
    )
    wide = HostOffer(tools=many.tools, parts=[ToolSignatures(max_chars=100_000)])
    assert "tool_99(input: { " in stack.prompt(wide)


def test_the_text_before_the_list_is_short(stack: InterpreterStack, many: HostOffer) -> None:
    few = HostOffer(tools=many.tools[:1])
    assert len(stack.prompt(few).partition("```ts")[0]) < 1200


def test_without_tools_there_is_nothing_to_say(stack: InterpreterStack) -> None:
    assert stack.prompt(HostOffer()) == ""
    assert not [bridge for bridge in stack.bridge_set(HostOffer()) if bridge.listed]


def test_the_prompt_names_the_tool_that_takes_the_code(
    stack: InterpreterStack, many: HostOffer
) -> None:
    text = stack.prompt(HostOffer(tools=many.tools[:1], code_tool="run_js"))
    assert "`run_js`" in text
    assert "`eval`" not in text


async def test_an_unknown_language_is_not_taken_for_javascript(make_tool: Make) -> None:
    class Other(FakeEngine):
        language = "postfix"

    tool = make_tool("web_search", description="Search the web.")
    stack = InterpreterStack(Other(), plugins=["ptc"])
    found = stack.prompt(HostOffer(tools=[tool]))
    assert "On `tools`:\n\n- `web_search`: Search the web. Fields, as JSON Schema: `{" in found
    for word in ("Promise", "await", "declare", "ts\n"):
        assert word not in found
    bridges = {bridge.name: bridge for bridge in stack.bridge_set(HostOffer(tools=[tool]))}
    with pytest.raises(
        TypeError, match=r"takes named arguments, as in tools\.web_search\(field: 3\)"
    ):
        await bridges["tools.web_search"].handler(3, CellContext("key", None))
    assert (await bridges["tools._describe"].handler("web_search")).startswith("- `web_search`")


def test_many_tools_in_an_unknown_language_are_only_named(make_tool: Make) -> None:
    class Other(FakeEngine):
        language = "postfix"

    tools = [make_tool(f"tool_{n}", description="x" * 100) for n in range(50)]
    found = InterpreterStack(Other(), plugins=["ptc"]).prompt(HostOffer(tools=tools))
    assert "`tools._search` finds some by words" in found
    assert "await" not in found
