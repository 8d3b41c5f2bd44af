"""Tools, prompts and resources of servers, as clients of a gateway use them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp import types
from mcp.shared.exceptions import MCPError
from mcp_config import Notes
from mcp_gateways import gateway, passing

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
both = pytest.mark.parametrize("mode", ["legacy", "auto"])


def text(result: Any) -> str:
    return str(result.content[0].text)


@both
async def test_lists_are_of_all_servers(notes: Notes, mode: str) -> None:
    async with gateway(passing(notes, "a", "b")) as made, made.client(mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        own = ["run_code", "wait", "search_tools", "reset"]
        of_a = ["ask", "write", "leave", "echo", "refuse", "talk", "change", "pid", "can"]
        of_a.append("a.run_code")
        of_b = [f"b.{name.removeprefix('a.')}" for name in of_a]
        assert tools == [*own, *of_a, *of_b]
        assert [one.name for one in (await client.list_prompts()).prompts] == ["greet", "b.greet"]
        resources = [(one.uri, one.name) for one in (await client.list_resources()).resources]
        assert resources == [("test://a", "a"), ("test://both", "a"), ("test://b", "b")]
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == ["a://item/{id}", "b://item/{id}"]


@both
async def test_results_are_passed_on_whole(notes: Notes, mode: str) -> None:
    async with gateway(passing(notes, "a")) as made, made.client(mode) as client:
        arguments = {"x": None, "y": [1.5, {"z": "ü"}]}
        for name in ("echo", "a.run_code"):
            called = client.session.call_tool(name, arguments, meta={"example.org/a": 7})
            if name == "a.run_code":
                with pytest.raises(MCPError):  # it has no tool of the name that it lists
                    await called
                continue
            result = await called
            assert result.is_error
            assert result.structured_content == {"given": arguments, "none": None}
            assert (result.meta or {})["example.org/key"] == [1, None]
            assert (result.meta or {})["given"] == 7
            kinds = ["text", "image", "audio", "resource", "resource_link"]
            assert [block.type for block in result.content] == kinds
            assert result.content[0].annotations.priority == 0.5
        linked = await client.read_resource("linked://a")
        assert linked.contents[0].text == "linked://a of a"


@both
async def test_prompts_resources_and_completions_go_to_their_server(
    notes: Notes, mode: str
) -> None:
    async with gateway(passing(notes, "a", "b")) as made, made.client(mode) as client:
        for name, server in (("greet", "a"), ("b.greet", "b")):
            prompt = await client.get_prompt(name, {"who": "Ann"})
            assert prompt.messages[0].content.text == f"{server} greets Ann"
            reference = types.PromptReference(name=name)
            found = await client.complete(reference, {"name": "who", "value": "A"})
            assert found.completion.values == [f"{server} greet"]
        template = types.ResourceTemplateReference(uri="b://item/{id}")
        found = await client.complete(template, {"name": "id", "value": ""})
        assert found.completion.values == ["b b://item/{id}"]
        for uri, server in (("test://both", "a"), ("test://b", "b"), ("b://item/7", "b")):
            read = await client.read_resource(uri)
            assert read.contents[0].text == f"{uri} of {server}"


@both
async def test_unknown_names_are_refused_as_the_protocol_has_it(notes: Notes, mode: str) -> None:
    async with gateway(passing(notes, "a")) as made, made.client(mode) as client:
        with pytest.raises(MCPError, match="Unknown tool: nope") as tool:
            await client.call_tool("nope", {})
        with pytest.raises(MCPError, match="Unknown prompt: nope") as prompt:
            await client.get_prompt("nope")
        with pytest.raises(MCPError, match="Resource not found") as resource:
            await client.read_resource("nope://x")
        assert (tool.value.code, prompt.value.code) == (types.INVALID_PARAMS,) * 2
        assert (resource.value.code, resource.value.data) == (-32002, {"uri": "nope://x"})
        with pytest.raises(MCPError, match="there is no such resource"):
            await client.read_resource("interpstack://results/x/y")


@both
async def test_errors_of_the_protocol_keep_their_code(notes: Notes, mode: str) -> None:
    async with gateway(passing(notes, "a")) as made, made.client(mode) as client:
        with pytest.raises(MCPError, match="not today") as raised:
            await client.call_tool("refuse", {})
        assert (raised.value.code, raised.value.data) == (-32050, {"until": "tomorrow"})


@both
async def test_logs_and_progress_come_before_the_result(notes: Notes, mode: str) -> None:
    heard: list[Any] = []

    async def log(params: Any) -> None:
        heard.append((params.level, params.data, params.logger))

    async def progress(*report: Any) -> None:
        heard.append(report)

    async with (
        gateway(passing(notes, "a")) as made,
        made.http() as http,
        http(mode, logging_callback=log, log_level="debug") as client,
    ):
        for _ in range(3):
            heard.clear()
            result = await client.call_tool("talk", {}, progress_callback=progress)
            assert text(result) == "told"
            assert [one for one in heard if isinstance(one[0], float)] == [
                (1.0, 2.0, "step 0"),
                (2.0, 2.0, "step 1"),
            ]
            assert [one for one in heard if isinstance(one[0], str)] == [
                ("info", {"number": 0}, "a"),
                ("error", {"number": 1}, "a"),
            ]


async def test_a_client_sets_the_level_of_logs(notes: Notes) -> None:
    heard: list[str] = []

    async def log(params: Any) -> None:
        heard.append(params.level)

    async with (
        gateway(passing(notes, "a")) as made,
        made.client(logging_callback=log) as client,
    ):
        await client.set_logging_level("error")
        await client.call_tool("talk", {})
        await client.call_tool("run_code", {"code": "console.log('quiet')"})
        assert heard == ["error"]
        assert "level error" in notes.text()
        await client.set_logging_level("info")
        await client.call_tool("talk", {})
        await client.call_tool("run_code", {"code": "console.log('loud')"})
        assert heard == ["error", "info", "error", "info"]
        assert "level info" in notes.text()


@both
async def test_a_cancelled_call_is_cancelled_at_the_server(notes: Notes, mode: str) -> None:
    async with gateway(passing(notes, "a")) as made, made.client(mode) as client:
        call = client.call_tool("write", {"text": "slow", "seconds": 60})
        running = asyncio.ensure_future(call)
        await asyncio.wait_for(notes.wait_for("slow"), 60)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.wait_for(notes.wait_for("cancelled slow"), 60)


@both
async def test_a_call_is_made_once_and_its_loss_is_reported(notes: Notes, mode: str) -> None:
    async with gateway(passing(notes, "a")) as made, made.client(mode) as client:
        result = await client.call_tool("leave", {})
        assert result.is_error
        assert "mcp.a.leave may have had its effects, so the call is not repeated" in text(result)
        assert notes.text().count("left") == 1
        again = await client.call_tool("write", {"text": "after"})
        assert text(again) == "noted after"


async def test_a_server_that_cannot_be_reached_hides_no_other(notes: Notes) -> None:
    given = passing(notes, "a")
    given["mcpServers"]["gone"] = {"command": "no-such-program-here"}
    async with gateway(given) as made, made.client() as client:
        assert "echo" in [tool.name for tool in (await client.list_tools()).tools]
        assert [one.name for one in (await client.list_prompts()).prompts] == ["greet"]


async def test_tools_that_the_configuration_leaves_out_are_not_offered(notes: Notes) -> None:
    async with gateway(passing(notes, "a", tools=["echo"])) as made, made.client() as client:
        assert [tool.name for tool in (await client.list_tools()).tools][4:] == ["echo"]
        with pytest.raises(MCPError, match="Unknown tool: write"):
            await client.call_tool("write", {"text": "never"})
        assert "never" not in notes.text()


async def test_the_same_servers_are_there_for_code(notes: Notes) -> None:
    async with gateway(passing(notes, "a")) as made, made.client() as client:
        code = "(await mcp.a.write({text: 'by code'}))[0].text"
        ran = await client.call_tool("run_code", {"code": code})
        assert ran.structured_content["result"] == "noted by code"
        (await client.call_tool("write", {"text": "by hand"}))
        assert json.dumps(notes.text()).count("by ") == 2


async def test_what_is_offered_is_announced_before_any_server_runs(notes: Notes) -> None:
    async with gateway(passing(notes, "a")) as made, made.client() as client:
        offers = client.server_capabilities
        assert offers.tools.list_changed
        assert offers.prompts.list_changed
        assert offers.resources.subscribe
        assert offers.resources.list_changed
        assert (offers.completions, offers.logging) != (None, None)
        assert notes.text() == ""


@both
async def test_servers_over_http_are_passed_on_too(shared_server: Any, mode: str) -> None:
    reports: list[Any] = []

    async def progress(*report: Any) -> None:
        reports.append(report)

    async with (
        gateway(shared_server.given) as made,
        made.http() as http,
        http(mode) as client,
    ):
        assert text(await client.call_tool("add", {"first": 1, "second": 2})) == "3"
        counted = await client.call_tool("count", {"steps": 3}, progress_callback=progress)
        assert text(counted) == "counted"
        assert reports[-1] == (3.0, 3.0, "step 3")
        call = client.call_tool("note", {"text": f"slow {mode}", "seconds": 60})
        running = asyncio.ensure_future(call)
        await asyncio.wait_for(shared_server.notes.wait_for(f"slow {mode}"), 60)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        cancelled = f"cancelled slow {mode}"
        await asyncio.wait_for(shared_server.notes.wait_for(cancelled), 60)


@both
async def test_changes_reach_those_who_want_them(notes: Notes, mode: str) -> None:
    heard: list[str] = []
    found = asyncio.Event()

    async def hear(message: Any) -> None:
        heard.append(message.method)
        if message.method == "notifications/resources/updated":
            found.set()

    async with (
        gateway(passing(notes, "a")) as made,
        made.client(mode, message_handler=hear) as client,
    ):
        await client.call_tool("change", {})
        assert "notifications/resources/updated" not in heard
        if mode == "legacy":
            await client.subscribe_resource("test://a")
            await client.call_tool("change", {})
            await asyncio.wait_for(found.wait(), 60)
            assert "notifications/prompts/list_changed" in heard
            await client.unsubscribe_resource("test://a")
            found.clear()
            await client.call_tool("change", {})
            assert not found.is_set()
            return
        listening = client.listen(prompts_list_changed=True, resource_subscriptions=["test://a"])
        async with listening as events:
            seen: set[str] = set()
            await client.call_tool("change", {})
            while len(seen) < 2:
                event = await asyncio.wait_for(anext(aiter(events)), 60)
                seen.add(type(event).__name__)
            assert seen == {"PromptsListChanged", "ResourceUpdated"}
