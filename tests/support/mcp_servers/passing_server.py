"""A server that asks its client, logs, changes and fails, in both generations of the protocol.

Run as `python passing_server.py [NAME]`; the name is what its resources and prompts tell. The
environment variable `MCP_NOTES` names the file in which it notes effects.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import anyio
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourceUpdated,
)
from mcp.shared.exceptions import MCPError
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

warnings.simplefilter("ignore")
NAME = sys.argv[1] if len(sys.argv) > 1 else "passing"
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
bus = InMemorySubscriptionBus()


def note(line: str) -> None:
    with Path(os.environ["MCP_NOTES"]).open("a") as file:
        file.write(f"{line}\n")


def text(value: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=value)])


def question(kind: str) -> Any:
    if kind == "sampling":
        content = types.TextContent(text=NAME)
        message = types.SamplingMessage(role="user", content=content)
        params = types.CreateMessageRequestParams(messages=[message], max_tokens=5)
        return types.CreateMessageRequest(params=params)
    if kind == "roots":
        return types.ListRootsRequest()
    if kind == "url":
        address = {"url": "https://example.org/", "elicitation_id": "e1"}
        return types.ElicitRequest(
            params=types.ElicitRequestURLParams(message="Open it", **address)
        )
    form = types.ElicitRequestFormParams(message="Who?", requested_schema=FORM)
    return types.ElicitRequest(params=form)


RESULTS = {
    "sampling": types.CreateMessageResult,
    "roots": types.ListRootsResult,
    "url": types.ElicitResult,
    "form": types.ElicitResult,
}


async def ask(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Ask the client, and return its answer as text."""
    kind = (params.arguments or {})["kind"]
    if ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        if params.input_responses is None:
            return types.InputRequiredResult(
                input_requests={"q": question(kind)}, request_state=f"state of {kind}"
            )
        assert params.request_state == f"state of {kind}"
        answer = params.input_responses["q"]
    else:
        answer = await ctx.session.send_request(question(kind), RESULTS[kind])
    return text(json.dumps(answer.model_dump(mode="json", by_alias=True, exclude_none=True)))


async def write(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Note a text, and answer later."""
    given = params.arguments or {}
    note(given["text"])
    try:
        await asyncio.sleep(given.get("seconds", 0))
    except asyncio.CancelledError:
        note(f"cancelled {given['text']}")
        raise
    return text(f"noted {given['text']}")


async def leave(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Note a text, and end the process."""
    note("left")
    os._exit(1)


async def echo(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Return everything that a result can have."""
    resource = types.BlobResourceContents(uri="test://blob", blob="AAE=", mime_type="a/b")
    return types.CallToolResult(
        content=[
            types.TextContent(
                text="hello", annotations=types.Annotations(audience=["user"], priority=0.5)
            ),
            types.ImageContent(data="AAE=", mime_type="image/png"),
            types.AudioContent(data="AAE=", mime_type="audio/wav"),
            types.EmbeddedResource(resource=resource),
            types.ResourceLink(uri=f"linked://{NAME}", name="linked"),
        ],
        structured_content={"given": params.arguments, "none": None},
        is_error=True,
        _meta={"example.org/key": [1, None], "given": (ctx.meta or {}).get("example.org/a")},
    )


async def refuse(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Answer with an error of the protocol."""
    raise MCPError(-32050, "not today", {"until": "tomorrow"})


async def talk(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Log at two levels, and report progress."""
    for number, level in enumerate(("info", "error")):
        await ctx.session.send_log_message(
            level, {"number": number}, logger=NAME, related_request_id=ctx.request_id
        )
        await ctx.session.report_progress(number + 1, 2, f"step {number}")
    return text("told")


async def change(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Tell of changes."""
    await bus.publish(PromptsListChanged())
    await bus.publish(ResourceUpdated(uri=f"test://{NAME}"))
    await ctx.session.send_prompt_list_changed()
    if WATCHED:
        await ctx.session.send_resource_updated(f"test://{NAME}")
    return text("changed")


async def pid(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Return the id of the server's process."""
    return text(str(os.getpid()))


async def can(ctx: Any, params: types.CallToolRequestParams) -> Any:
    """Return what the client says that it can do."""
    found = ctx.session.client_capabilities
    return text(json.dumps(found.model_dump(mode="json", by_alias=True, exclude_none=True)))


TOOLS = {one.__name__: one for one in (ask, write, leave, echo, refuse, talk, change, pid, can)}
WATCHED: set[str] = set()


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    note(f"{NAME} lists tools")
    return types.ListToolsResult(
        tools=[
            types.Tool(name=name, description=one.__doc__, input_schema={"type": "object"})
            for name, one in {**TOOLS, "run_code": echo}.items()
        ]
    )


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> Any:
    return await TOOLS[params.name](ctx, params)


async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
    one = types.Resource(uri=f"test://{NAME}", name=NAME)
    both = types.Resource(uri="test://both", name=NAME)
    return types.ListResourcesResult(resources=[one, both])


async def list_templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
    one = types.ResourceTemplate(uri_template=f"{NAME}://item/{{id}}", name="items")
    return types.ListResourceTemplatesResult(resource_templates=[one])


async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> Any:
    content = types.TextResourceContents(uri=params.uri, text=f"{params.uri} of {NAME}")
    return types.ReadResourceResult(contents=[content])


async def subscribe(ctx: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
    WATCHED.add(params.uri)
    return types.EmptyResult()


async def unsubscribe(ctx: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    WATCHED.discard(params.uri)
    return types.EmptyResult()


async def list_prompts(ctx: Any, params: Any) -> types.ListPromptsResult:
    argument = types.PromptArgument(name="who", required=True)
    return types.ListPromptsResult(prompts=[types.Prompt(name="greet", arguments=[argument])])


async def get_prompt(ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    content = types.TextContent(text=f"{NAME} greets {(params.arguments or {})['who']}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


async def complete(ctx: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
    named = getattr(params.ref, "name", None) or getattr(params.ref, "uri", None)
    return types.CompleteResult(completion=types.Completion(values=[f"{NAME} {named}"]))


async def set_level(ctx: Any, params: types.SetLevelRequestParams) -> types.EmptyResult:
    note(f"level {params.level}")
    return types.EmptyResult()


async def roots_changed(ctx: Any, params: Any) -> None:
    note("roots changed")


app: Server[Any] = Server(
    NAME,
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_list_resource_templates=list_templates,
    on_read_resource=read_resource,
    on_subscribe_resource=subscribe,
    on_unsubscribe_resource=unsubscribe,
    on_subscriptions_listen=ListenHandler(bus),
    on_list_prompts=list_prompts,
    on_get_prompt=get_prompt,
    on_completion=complete,
    on_set_logging_level=set_level,
    on_roots_list_changed=roots_changed,
)


async def main() -> None:
    async with stdio_server() as (read, written):
        await app.run(read, written, app.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
