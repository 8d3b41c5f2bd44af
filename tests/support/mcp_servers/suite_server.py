"""A server with everything that the published conformance suite asks for.

Run as `python suite_server.py`, on standard input and output.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJg"
    "gg=="
)
SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
PNG = types.ImageContent(data=PIXEL, mime_type="image/png")


def text(value: str) -> types.TextContent:
    return types.TextContent(text=value)


def one_field(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


# -- tools ---------------------------------------------------------------------------------

Blocks = list[Any]
Tool = Callable[[Any, dict[str, Any]], Awaitable[Blocks]]
TOOLS: dict[str, tuple[dict[str, Any], Tool]] = {}


def tool(name: str, schema: dict[str, Any] = NOTHING) -> Callable[[Tool], Tool]:
    def register(function: Tool) -> Tool:
        TOOLS[name] = (schema, function)
        return function

    return register


@tool("test_simple_text")
async def simple_text(ctx: Any, given: dict[str, Any]) -> Blocks:
    """Return a text."""
    return [text("This is a simple text response for testing.")]


@tool("test_image_content")
async def image_content(ctx: Any, given: dict[str, Any]) -> Blocks:
    """Return an image."""
    return [PNG]


@tool("test_audio_content")
async def audio_content(ctx: Any, given: dict[str, Any]) -> Blocks:
    """Return a sound."""
    return [types.AudioContent(data=SOUND, mime_type="audio/wav")]


@tool("test_embedded_resource")
async def embedded_resource(ctx: Any, given: dict[str, Any]) -> Blocks:
    """Return a resource."""
    resource = types.TextResourceContents(
        uri="test://embedded-resource",
        mime_type="text/plain",
        text="This is an embedded resource content.",
    )
    return [types.EmbeddedResource(resource=resource)]


@tool("test_multiple_content_types")
async def multiple_content_types(ctx: Any, given: dict[str, Any]) -> Blocks:
    """Return contents of several kinds."""
    resource = types.TextResourceContents(
        uri="test://mixed-content-resource",
        mime_type="application/json",
        text=json.dumps({"test": "data", "value": 123}),
    )
    return [text("Multiple content types test:"), PNG, types.EmbeddedResource(resource=resource)]


@tool("test_tool_with_logging")
async def with_logging(ctx: Any, given: dict[str, Any]) -> Blocks:
    """Log while running."""
    for message in ("started", "processing data", "completed"):
        words = f"Tool {message}" if " " in message else f"Tool execution {message}"
        await ctx.session.send_log_message("info", words, related_request_id=ctx.request_id)
        await asyncio.sleep(0.05)
    return [text("logged")]


@tool("test_error_handling")
async def error_handling(ctx: Any, given: dict[str, Any]) -> Blocks:
    """Fail."""
    raise ValueError("This tool intentionally returns an error for testing")


@tool("test_tool_with_progress")
async def with_progress(ctx: Any, given: dict[str, Any]) -> Blocks:
    """Report the progress."""
    for progress in (0, 50, 100):
        await ctx.session.report_progress(progress, 100)
        await asyncio.sleep(0.05)
    return [text("done")]


@tool("test_sampling", one_field("prompt"))
async def sampling(ctx: Any, given: dict[str, Any]) -> Blocks:
    """Have the client's model answer."""
    if ctx.session.client_capabilities.sampling is None:
        raise ValueError("the client cannot sample")
    message = types.SamplingMessage(role="user", content=text(given["prompt"]))
    answer = await ctx.session.create_message(
        [message], max_tokens=100, related_request_id=ctx.request_id
    )
    return [text(f"LLM response: {answer.content.text}")]


async def elicit(ctx: Any, message: str, properties: dict[str, Any], *required: str) -> str:
    if ctx.session.client_capabilities.elicitation is None:
        raise ValueError("the client cannot ask a person")
    schema = {"type": "object", "properties": properties, "required": list(required)}
    answer = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return f"action={answer.action}, content={json.dumps(answer.content)}"


@tool("test_elicitation", one_field("message"))
async def elicitation(ctx: Any, given: dict[str, Any]) -> Blocks:
    """Ask the client's person."""
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    return [text(f"User response: {await elicit(ctx, given['message'], fields, *fields)}")]


@tool("test_elicitation_sep1034_defaults")
async def elicitation_defaults(ctx: Any, given: dict[str, Any]) -> Blocks:
    """Ask with default values."""
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": True},
    }
    return [text(f"Elicitation completed: {await elicit(ctx, 'Who?', fields)}")]


def titled(*names: str) -> list[dict[str, str]]:
    numbers = ("First", "Second", "Third")
    return [
        {"const": name, "title": f"{one} Option"} for name, one in zip(names, numbers, strict=True)
    ]


@tool("test_elicitation_sep1330_enums")
async def elicitation_enums(ctx: Any, given: dict[str, Any]) -> Blocks:
    """Ask for choices."""
    plain, values = ["option1", "option2", "option3"], ("value1", "value2", "value3")
    fields = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled(*values)},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled(*values)}},
    }
    return [text(f"Elicitation completed: {await elicit(ctx, 'Which?', fields)}")]


@tool("test_reconnection")
async def reconnection(ctx: Any, given: dict[str, Any]) -> Blocks:
    """Close the stream of the call before its end, where the transport has one."""
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
    await asyncio.sleep(0.1)
    return [text("reconnected")]


@tool(
    "json_schema_2020_12_tool",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "additionalProperties": False,
    },
)
async def json_schema(ctx: Any, given: dict[str, Any]) -> Blocks:
    """Tool with JSON Schema 2020-12 features"""
    return [text(json.dumps(given))]


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[
            types.Tool(name=name, description=function.__doc__, input_schema=schema)
            for name, (schema, function) in TOOLS.items()
        ]
    )


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name not in TOOLS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    try:
        content = await TOOLS[params.name][1](ctx, params.arguments or {})
    except ValueError as error:
        return types.CallToolResult(content=[text(str(error))], is_error=True)
    return types.CallToolResult(content=content)


# -- resources -----------------------------------------------------------------------------

TEMPLATE = "test://template/{id}/data"


async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
    named = [
        ("test://static-text", "text", "text/plain"),
        ("test://static-binary", "binary", "image/png"),
        ("test://watched-resource", "watched", "text/plain"),
    ]
    return types.ListResourcesResult(
        resources=[
            types.Resource(uri=uri, name=name, description=f"A {name} resource", mime_type=kind)
            for uri, name, kind in named
        ]
    )


async def list_templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
    made = types.ResourceTemplate(
        uri_template=TEMPLATE, name="template", description="Data", mime_type="application/json"
    )
    return types.ListResourceTemplatesResult(resource_templates=[made])


async def read_resource(
    ctx: Any, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    before, after = TEMPLATE.split("{id}")
    uri = params.uri
    content: Any
    if uri == "test://static-binary":
        content = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
    elif uri == "test://static-text":
        words = "This is the content of the static text resource."
        content = types.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
    elif uri.startswith(before) and uri.endswith(after):
        number = uri.removeprefix(before).removesuffix(after)
        data = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
        content = types.TextResourceContents(
            uri=uri, mime_type="application/json", text=json.dumps(data)
        )
    else:
        raise MCPError(-32002, "Resource not found", {"uri": uri})
    return types.ReadResourceResult(contents=[content])


WATCHED: set[str] = set()


async def subscribe(ctx: Any, params: types.SubscribeRequestParams) -> types.EmptyResult:
    WATCHED.add(params.uri)
    return types.EmptyResult()


async def unsubscribe(ctx: Any, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    WATCHED.discard(params.uri)
    return types.EmptyResult()


# -- prompts -------------------------------------------------------------------------------


def argument(name: str) -> types.PromptArgument:
    return types.PromptArgument(name=name, description=f"The {name}", required=True)


PROMPTS = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": [argument("arg1"), argument("arg2")],
    "test_prompt_with_embedded_resource": [argument("resourceUri")],
    "test_prompt_with_image": [],
}


async def list_prompts(ctx: Any, params: Any) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(name=name, description=f"The prompt {name}", arguments=arguments)
            for name, arguments in PROMPTS.items()
        ]
    )


async def get_prompt(ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    given = params.arguments or {}
    contents: Blocks
    if params.name == "test_simple_prompt":
        contents = [text("This is a simple prompt for testing.")]
    elif params.name == "test_prompt_with_arguments":
        words = f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"
        contents = [text(words)]
    elif params.name == "test_prompt_with_embedded_resource":
        words = "Embedded resource content for testing."
        resource = types.TextResourceContents(
            uri=given["resourceUri"], mime_type="text/plain", text=words
        )
        contents = [
            types.EmbeddedResource(resource=resource),
            text("Please process the embedded resource above."),
        ]
    elif params.name == "test_prompt_with_image":
        contents = [PNG, text("Please analyze the image above.")]
    else:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    return types.GetPromptResult(
        messages=[types.PromptMessage(role="user", content=one) for one in contents]
    )


async def complete(ctx: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
    words = [one for one in ("paris", "park", "party") if one.startswith(params.argument.value)]
    return types.CompleteResult(
        completion=types.Completion(values=words, total=len(words), has_more=False)
    )


async def set_level(ctx: Any, params: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


app: Server[Any] = Server(
    "suite",
    version="1",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_list_resource_templates=list_templates,
    on_read_resource=read_resource,
    on_subscribe_resource=subscribe,
    on_unsubscribe_resource=unsubscribe,
    on_list_prompts=list_prompts,
    on_get_prompt=get_prompt,
    on_completion=complete,
    on_set_logging_level=set_level,
)


async def main() -> None:
    async with stdio_server() as (read, write):
        await app.run(read, write, app.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
