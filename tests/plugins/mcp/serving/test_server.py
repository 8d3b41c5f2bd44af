"""The server's tools, as the SDK's client calls them, in both generations of the protocol."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import Client, types
from mcp.shared.exceptions import MCPError

from interpstack import ConfigurationError, HostOffer, InterpreterStack
from interpstack_mcp.api import CodeServer
from interpstack_mcp.serving import server

both = pytest.mark.parametrize("mode", ["legacy", "auto"])


async def run(client: Client, code: str, **options: Any) -> types.CallToolResult:
    return await client.call_tool("run_code", {"code": code}, **options)


async def text(client: Client, code: str) -> str:
    (block, *_) = (await run(client, code)).content
    return block.text  # type: ignore[union-attr]


@both
async def test_variables_stay_until_they_are_reset(serve: Any, mode: str) -> None:
    client = await serve().client(mode=mode)
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == ["run_code", "wait", "search_tools", "reset"]
    assert "Run JavaScript code." in (tools[0].description or "")
    result = await run(client, "let x = 20; console.log('hi'); x")
    assert not result.is_error
    expected = {"running": False, "ok": True, "result": "20", "console": "hi", "notices": []}
    assert result.structured_content == expected
    assert await text(client, "x + 1") == "<result>21</result>"
    await client.call_tool("reset", {})
    assert await text(client, "typeof x") == "<result>undefined</result>"


async def test_errors_are_results(serve: Any) -> None:
    client = await serve().client()
    result = await run(client, "throw new RangeError('no')")
    assert result.is_error
    assert result.structured_content["error"] == {"name": "RangeError", "message": "no"}
    for tool, arguments, message in [
        ("run_code", {"code": " "}, "run_code takes a non-empty string as code"),
        ("run_code", {}, "run_code takes a non-empty string as code"),
        ("wait", {"cell": "x"}, "there is no such cell; run the code again"),
        ("search_tools", {"query": 1}, "search_tools takes a string as query; got 1"),
        (
            "run_code",
            {"code": "1", "timeout": 5},
            "run_code has no argument 'timeout'; it takes code",
        ),
    ]:
        refused = await client.call_tool(tool, arguments)
        assert (refused.is_error, refused.content[0].text) == (True, message)
    with pytest.raises(MCPError, match="there is no tool 'nope'; there are: run_code"):
        await client.call_tool("nope", {})


async def test_large_results_are_resources(serve: Any) -> None:
    client = await serve(kept_texts=1).client()
    result = await run(client, "console.log('c'.repeat(9000)); 'y'.repeat(20000)")
    first, *links = result.content
    assert "…" in first.text
    assert len(first.text) < 20_000
    assert [link.name for link in links] == ["result", "console"]
    assert "20000 characters" in links[0].description
    (whole,) = (await client.read_resource(links[1].uri)).contents
    assert whole.text == "c" * 9000
    with pytest.raises(MCPError, match="there is no such resource"):
        await client.read_resource(links[0].uri)


async def test_images_are_blocks(serve: Any) -> None:
    client = await serve().client()
    pixel = (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5E"
        "rkJggg=="
    )
    code = f"await display('data:image/png;base64,{pixel}'); await display('text'); 1"
    _, image, file = (await run(client, code)).content
    assert (image.type, image.mime_type, image.data) == ("image", "image/png", pixel)
    assert file.resource.text == "text"


async def test_progress_and_output_are_sent_on_the_way(serve: Any) -> None:
    heard: list[str] = []
    progress: list[Any] = []

    async def log(params: Any) -> None:
        heard.append(params.data)

    async def note(*report: Any) -> None:
        progress.append(report)

    client = await serve().client(mode="legacy", logging_callback=log)
    code = "console.log('one'); await tools.pay({to: 'Ann'}); console.log('two')"
    await run(client, code, progress_callback=note)
    assert progress == [(1.0, None, "tools.pay")]
    assert "".join(heard).split() == ["one", "two"]


async def test_output_is_a_log_that_the_server_declares_and_the_client_may_refuse(
    serve: Any,
) -> None:
    heard: list[str] = []

    async def log(params: Any) -> None:
        heard.append(params.data)

    client = await serve().client(mode="legacy", logging_callback=log)
    assert client.server_capabilities.logging is not None
    for level in ("warning", "info"):
        with pytest.warns(match="logging capability is deprecated"):
            await client.set_logging_level(level)
        await run(client, f"console.log('{level}'); await tools.pay({{to: 'Ann'}})")
    assert "".join(heard).split() == ["info"]


@both
async def test_approvals_come_before_effects(serve: Any, mode: str) -> None:
    served, asked = serve("tools.pay"), []
    allow = {"action": "accept", "content": {"allow": True}}
    client = await served.client(allow, mode=mode, asked=asked)
    assert await text(client, "await tools.pay({to: 'Ann'})") == "<result>paid Ann</result>"
    assert asked == ['Code wants to call tools.pay with {"to": "Ann"}. Allow this call?']
    assert served.paid == ["Ann"]


@both
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"action": "decline"}, "a person refused the call"),
        ({"action": "cancel"}, "a person refused the call"),
        ({"action": "accept", "content": {"allow": False}}, "a person refused the call"),
        (
            {"action": "accept", "content": {"allow": "true"}},
            "the client's answer was accepted by a person, but its content does not say true or "
            "false as allow; got 'true'",
        ),
        (
            {"action": "accept"},
            "the client's answer was accepted by a person, but its content does not say true or "
            "false as allow; got None",
        ),
        (None, "it needs an approval, and this client cannot ask for one"),
    ],
)
async def test_calls_without_an_approval_are_not_made(
    serve: Any, mode: str, answer: Any, message: str
) -> None:
    served = serve("glob:tools.*")
    client = await served.client(answer, mode=mode)
    code = "try { await tools.pay({to: 'Ann'}) } catch (e) { [e.rejected, e.message].join() }"
    assert await text(client, code) == f"<result>true,tools.pay was not called: {message}</result>"
    assert served.paid == []


@both
@pytest.mark.parametrize("given", ["{to: 5}", "{}", "{to: 'Ann', euros: 5}", "5"])
async def test_nobody_is_asked_about_arguments_that_the_call_refuses(
    serve: Any, mode: str, given: str
) -> None:
    code = f"try {{ await tools.pay({given}) }} catch (e) {{ [e.name, e.tool, e.message].join() }}"
    expected = await text(await serve().client(mode=mode), code)
    assert expected.startswith("<result>TypeError,tools.pay,tools.pay")
    served, asked = serve("tools.pay"), []
    allow = {"action": "accept", "content": {"allow": True}}
    client = await served.client(allow, mode=mode, asked=asked)
    assert await text(client, code) == expected
    assert asked == served.paid == []


async def test_arguments_that_nobody_can_read_are_refused(serve: Any) -> None:
    served = serve("tools.pay")
    client = await served.client({"action": "accept", "content": {"allow": True}})
    found = await text(client, "await tools.pay({to: 'a'.repeat(5000)})")
    assert found.startswith(
        '<error type="ToolError">tools.pay was not called: it needs an approval'
    )
    assert "a person is shown at most 4000" in found
    assert served.paid == []


async def test_code_that_waits_for_an_earlier_cell_names_it(serve: Any) -> None:
    served = serve(yield_seconds=0.2)
    client = await served.client()
    first = (await run(client, "await tools.slow({text: 'a'})")).structured_content["cell"]
    waiting = await run(client, "2")
    assert waiting.content[0].text.startswith(f"The code has not begun: cell {first!r} of this")
    await client.call_tool("wait", {"cell": first, "terminate": True})
    cell = waiting.structured_content["cell"]
    assert (await client.call_tool("wait", {"cell": cell})).content[0].text == "<result>2</result>"


async def test_code_behind_a_question_that_the_client_dropped_is_answered_soon(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_QUESTION_SECONDS", 0.2)
    served, asked = serve("tools.pay"), []
    allow = {"action": "accept", "content": {"allow": True}}
    client = await served.client(allow, mode="auto", asked=asked)
    params = {"name": "run_code", "arguments": {"code": "await tools.pay({to: 'Ann'})"}}
    question = types.Request[dict[str, Any], str](method="tools/call", params=params)
    given = await client.session.send_request(question, types.InputRequiredResult)
    async with asyncio.timeout(20):  # not the time for code that runs, 50 seconds
        behind = await run(client, "2")
    first = given.request_state.partition("/")[2]
    assert behind.content[0].text.startswith(
        f"The code has not begun: cell {first!r} of this client waits for an approval, and its "
        "question has no answer yet."
    )
    done = await client.call_tool("wait", {"cell": first})  # asks again
    assert (done.content[0].text, served.paid) == ("<result>paid Ann</result>", ["Ann"])
    assert len(asked) == 1
    cell = behind.structured_content["cell"]
    assert (await client.call_tool("wait", {"cell": cell})).content[0].text == "<result>2</result>"


async def test_code_begins_when_the_question_before_it_is_answered_in_time(serve: Any) -> None:
    served, go = serve("tools.pay"), asyncio.Event()

    async def elicit(ctx: Any, params: Any) -> types.ElicitResult:
        await go.wait()
        return types.ElicitResult(action="accept", content={"allow": True})

    client = await served.client(mode="auto", elicitation_callback=elicit)
    first = asyncio.ensure_future(run(client, "await tools.pay({to: 'Ann'})"))
    second = asyncio.ensure_future(run(client, "2"))
    await asyncio.sleep(0.2)
    go.set()
    assert (await first).content[0].text == "<result>paid Ann</result>"
    assert (await second).content[0].text == "<result>2</result>"


@both
async def test_slow_code_is_waited_for_or_stopped(serve: Any, mode: str) -> None:
    served = serve(yield_seconds=0.2)
    client = await served.client(mode=mode)
    first = await run(client, "console.log('begun'); await tools.slow({text: 'a'})")
    assert first.structured_content["running"] is True
    assert "The code still runs. Call the tool wait" in first.content[0].text
    cell = first.structured_content["cell"]
    await asyncio.wait_for(served.begun.wait(), 60)
    again = await client.call_tool("wait", {"cell": cell})
    assert again.structured_content["running"] is True
    ended = await client.call_tool("wait", {"cell": cell, "terminate": True})
    assert ended.content[0].text == "The code was stopped."
    assert served.paid == ["ended a"]
    assert await text(client, "1") == "<result>1</result>"


@both
async def test_a_cancelled_request_stops_its_code(serve: Any, mode: str) -> None:
    served = serve()
    client = await served.client(mode=mode)
    running = asyncio.ensure_future(run(client, "await tools.slow({text: 'a'})"))
    await asyncio.wait_for(served.begun.wait(), 60)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await text(client, "1") == "<result>1</result>"
    assert served.paid == ["ended a"]


async def test_cells_of_a_client_are_bounded(serve: Any) -> None:
    client = await serve(yield_seconds=0.1, cells=2).client()
    for _ in range(2):
        assert (await run(client, "await tools.slow({text: 'a'})")).structured_content["running"]
    refused = await run(client, "1")
    assert "2 cells of this client run or wait already" in refused.content[0].text
    names = refused.content[0].text.partition("the tool wait: ")[2].split(", ")
    for cell in names:
        stopped = await client.call_tool("wait", {"cell": cell.strip("'"), "terminate": True})
        assert stopped.content[0].text == "The code was stopped."
    await client.call_tool("reset", {})
    assert await text(client, "1") == "<result>1</result>"


async def test_a_client_whose_code_has_ended_makes_room_although_it_never_comes_back(
    serve: Any,
) -> None:
    served = serve(yield_seconds=0.05, clients=1)
    gone = await served.client(mode="auto")
    first = await run(gone, "await new Promise(done => setTimeout(done, 200)); 1")
    assert first.structured_content["running"]
    while (await run(gone, "2")).is_error:  # noqa: ASYNC110 - without a session, it is another client
        await asyncio.sleep(0.01)


async def test_an_error_for_a_request_says_what_is_wrong_with_it(serve: Any) -> None:
    client = await serve().client(mode="legacy")
    request = types.Request[dict[str, Any], str]
    for method, params, message in (
        ("tools/call", {"name": 5}, "the request does not fit the protocol: params.name is not a"),
        ("tools/call", {"name": "wait", "arguments": []}, "params.arguments is not"),
        ("resources/read", {}, "the request does not fit the protocol: params is missing"),
    ):
        with pytest.raises(MCPError, match=message):
            await client.session.send_request(
                request(method=method, params=params), types.EmptyResult
            )


async def test_functions_are_found(serve: Any) -> None:
    client = await serve().client()
    found = await client.call_tool("search_tools", {"query": "pay"})
    assert "tools.pay" in found.content[0].text
    assert "Pay somebody." in found.content[0].text
    nothing = await client.call_tool("search_tools", {"query": "nothing"})
    assert nothing.content[0].text == "no tool has all of these words"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"approve": "tools.pay"}, "approve takes a list of strings; got 'tools.pay'"),
        ({"approve": None}, "approve takes a list of strings; got None"),
        ({"through": "a"}, "through takes a list of strings; got 'a'"),
        ({"through": [1]}, r"through takes a list of strings; got \[1\]"),
        ({"limits": {}}, "limits takes a ServerLimits object"),
        ({"offer": None}, "offer takes a HostOffer; got None"),
        ({"stack": "quickjs"}, "stack takes an InterpreterStack; got 'quickjs'"),
    ],
)
def test_arguments_of_a_wrong_type_are_refused(changed: dict[str, Any], message: str) -> None:
    with InterpreterStack() as stack, pytest.raises(ConfigurationError, match=message):
        CodeServer(**{"stack": stack, "offer": HostOffer(), **changed})


def test_patterns_that_match_nothing_are_refused(serve: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"approve names 'tools\.pai', which code"):
        serve("tools.pai")
    with InterpreterStack() as plain, pytest.raises(ConfigurationError, match="needs the plugin"):
        CodeServer(plain, HostOffer(), ["tools.pay"])
