"""The server: its tools, and what happens when a client calls one."""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

import anyio
import attrs
from mcp import types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from interpstack import (
    ConfigurationError,
    HostOffer,
    HostTool,
    InterpreterStack,
    InterpstackError,
    __version__,
    render,
)
from interpstack.checks import expect
from interpstack_agents import found_tools
from interpstack_mcp.bridge_schemas import described_bridge
from interpstack_mcp.connections.servers import McpServers
from interpstack_mcp.passing.clients import gateway_of
from interpstack_mcp.passing.gateway import Gateway, PassingServer
from interpstack_mcp.plugin import McpCalls
from interpstack_mcp.serving.approvals import ApprovalPatterns, answered, asked
from interpstack_mcp.serving.arguments import texts
from interpstack_mcp.serving.clients import (
    Client,
    Clients,
    ServerLimits,
    client_key,
    names_sessions,
)
from interpstack_mcp.serving.explaining import explained_faults
from interpstack_mcp.serving.oauth import owner_of
from interpstack_mcp.serving.outcomes import SHOWN_CHARS, outcome_result, running_result
from interpstack_mcp.serving.runs import ServedCell
from interpstack_mcp.serving.sendable import sendable
from interpstack_mcp.serving.tools import TOOL_NAMES, check_arguments, tools_for

__all__ = ["CodeServer"]

#: What is answered to a tool call.
_Answer = types.CallToolResult | types.InputRequiredResult
_Handler = Callable[[Any, Client, types.CallToolRequestParams], Awaitable[_Answer]]
_LOGGED_CHARS: Final = 8000
#: Seconds that code waits behind a cell whose question a client has got, and has not answered.
_QUESTION_SECONDS: Final = 5.0


@attrs.define(eq=False)
class CodeServer:
    """An MCP server whose main tool runs code, which may call everything that a stack offers.

    Attributes:
        stack: The stack, which has the plugin `GATE` if calls need approvals. You close it
            yourself.
        offer: The tools and parts for the code.
        approve: Names of calls that need an approval, and patterns, such as `glob:mcp.files.*`.
        limits: The limits of the server's clients.
        through: Names of configured servers whose own tools, prompts and resources are offered to
            the clients, too.

    Raises:
        ConfigurationError: An argument is of a wrong type, `approve` names something that code
            cannot call, or `through` a server that is not configured.
    """

    stack: InterpreterStack
    offer: HostOffer
    approve: Iterable[str] = ()
    limits: ServerLimits = attrs.field(factory=ServerLimits)
    through: Iterable[str] = ()
    _patterns: ApprovalPatterns = attrs.field(init=False)
    _clients: Clients = attrs.field(init=False)
    _gateway: Gateway | None = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        expect(self.stack, InterpreterStack, "stack takes an InterpreterStack")
        expect(self.offer, HostOffer, "offer takes a HostOffer")
        expect(self.limits, ServerLimits, "limits takes a ServerLimits object")
        patterns = self._patterns = ApprovalPatterns(texts("approve", self.approve))
        if patterns.patterns and "mcp-gate" not in {one.name for one in self.stack.describe()}:
            raise ConfigurationError("approve needs the plugin interpstack_mcp.api.GATE")
        offer = attrs.evolve(self.offer, code_tool="run_code")
        patterns.check(self.stack, offer)
        if patterns.required:
            rules = McpCalls(lambda tool: tool, patterns.required, by_code=True)
            offer = attrs.evolve(offer, parts=(*offer.parts, rules))
        self._clients = Clients(self.stack, offer, self.limits)
        self._gateway = gateway_of(
            texts("through", self.through), patterns, self.stack, self._clients
        )

    def app(self) -> Server[Any]:
        """The server, as the SDK's transports run it."""
        kind = Server[Any] if self._gateway is None else PassingServer
        made = kind(
            "interpstack",
            version=__version__,
            title="interpstack",
            # The SDK would list all tools for each call, in search of headers for arguments.
            get_tool_input_schema=lambda name: None,
            instructions="Write one piece of code that makes many calls, and run it with run_code.",
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
        )
        made.middleware.append(explained_faults)
        if self._gateway is not None:
            self._gateway.extend(made)
        else:  # declares that there are log messages: the console of a running cell
            made.add_request_handler(
                "logging/setLevel", types.SetLevelRequestParams, self._set_level
            )
        return made

    def is_busy(self, session: str) -> bool:
        """Whether something goes on in a session of HTTP, so that it may not be ended."""
        return self._clients.is_busy(session)

    async def aclose(self) -> None:
        """Stop all cells, and close the clients' sessions."""
        await self._clients.aclose()

    # -- requests --------------------------------------------------------------------------

    async def _list_tools(self, ctx: Any, params: Any) -> types.ListToolsResult:
        named = names_sessions(ctx)
        tools = tools_for(self.stack, self._clients.offer, names_session=named)
        return types.ListToolsResult(tools=tools)

    async def _call_tool(self, ctx: Any, params: types.CallToolRequestParams) -> _Answer:
        handlers: Mapping[str, _Handler] = {
            "run_code": self._run_code,
            "wait": self._wait,
            "search_tools": self._search_tools,
            "reset": self._reset,
        }
        if params.name not in handlers:
            listed = ", ".join(TOOL_NAMES)
            raise MCPError(
                types.INVALID_PARAMS, f"there is no tool {params.name!r:.100}; there are: {listed}"
            )
        try:
            named = names_sessions(ctx)
            check_arguments(params.name, params.arguments or {}, names_session=named)
            client = await self._client(ctx, params)
            answer = await handlers[params.name](ctx, client, params)
        except InterpstackError as error:
            text = types.TextContent(text=sendable(str(error)))
            return types.CallToolResult(content=[text], is_error=True)
        return _named_session(answer, client) if named else answer

    async def _set_level(self, ctx: Any, params: types.SetLevelRequestParams) -> types.EmptyResult:
        client = await self._clients.client(*client_key(ctx))
        client.set_level(params.level)
        return types.EmptyResult()

    async def _list_resources(self, ctx: Any, params: Any) -> types.ListResourcesResult:
        client = None if names_sessions(ctx) else await self._clients.client(*client_key(ctx))
        texts = {} if client is None else client.texts
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=uri, name=name, mime_type="text/plain")
                for uri, (name, _) in texts.items()
            ]
        )

    async def _read_resource(
        self, ctx: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        text = self._clients.text(str(params.uri), owner_of(ctx.request))
        if text is None:
            raise MCPError(types.INVALID_PARAMS, "there is no such resource; run the code again")
        content = types.TextResourceContents(uri=params.uri, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[content])

    # -- clients ---------------------------------------------------------------------------

    async def _client(self, ctx: Any, params: types.CallToolRequestParams) -> Client:
        """The client that makes a request.

        Raises:
            ConfigurationError: The session it names does not exist.
        """
        if not names_sessions(ctx):
            return await self._clients.client(*client_key(ctx))
        owner = owner_of(ctx.request)
        named = (params.request_state or "").partition("/")[0] or (params.arguments or {}).get(
            "session"
        )
        if named is None:
            return await self._clients.client(secrets.token_urlsafe(16), owner)
        return await self._clients.client(str(named), owner, new=False)

    # -- tools -----------------------------------------------------------------------------

    async def _run_code(
        self, ctx: Any, client: Client, params: types.CallToolRequestParams
    ) -> _Answer:
        if params.request_state is not None:
            run = _cell(client, params.request_state.partition("/")[2])
            answered(run.questions, params.input_responses)
            return await self._follow(ctx, client, run)
        code = _text(params, "code")
        run = ServedCell(self._patterns.match)
        client.add(run)
        run.start(client.session.eval(code, on_console=run.hear, host=run))
        return await self._follow(ctx, client, run)

    async def _wait(self, ctx: Any, client: Client, params: types.CallToolRequestParams) -> _Answer:
        if params.request_state is not None:
            return await self._run_code(ctx, client, params)
        run = _cell(client, _text(params, "cell"))
        if (params.arguments or {}).get("terminate") is True:
            await run.stop()
        return await self._follow(ctx, client, run)

    async def _follow(self, ctx: Any, client: Client, run: ServedCell) -> _Answer:
        """Wait for the end of a cell, and tell its client of questions and progress meanwhile."""
        try:
            with run.followed():
                waiting = await self._news_of(ctx, client, run)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await run.stop()
            client.drop(run)
            raise
        finally:
            for behind in client.runs.values():
                behind.wake()
        if waiting is not None:
            return waiting
        await _tell(ctx, client, run)
        client.drop(run)
        outcome = run.outcome()
        if outcome is None:
            return types.CallToolResult(
                content=[types.TextContent(text="The code was stopped.")],
                structured_content={"running": False, "ok": False},
            )
        shown = render(outcome, result_chars=SHOWN_CHARS, console_chars=SHOWN_CHARS)
        return outcome_result(outcome, shown, client.keep)

    async def _news_of(self, ctx: Any, client: Client, run: ServedCell) -> _Answer | None:
        """The answer for a cell that asks, or runs for long; `None` once it has ended.

        Code that has to wait for a cell before it does not wait for long if that one needs an
        answer, which only another request of the client can bring.
        """
        deadline = time.monotonic() + self.limits.yield_seconds
        while not run.done:
            before, until = client.before(run), deadline
            unanswered = before is not None and before.waits_for_client
            if before is not None and unanswered:
                until = min(deadline, before.left + _QUESTION_SECONDS)
            if questions := run.questions:
                waiting = await asked(ctx, questions, lambda: f"{client.key}/{run.id}")
                if waiting is not None:
                    return waiting
            elif (left := until - time.monotonic()) <= 0:
                first = None if before is None else before.id
                return running_result(run.id, run.printed(), first, unanswered=unanswered)
            else:
                await run.news(left)
                await _tell(ctx, client, run)
        return None

    async def _search_tools(
        self, ctx: Any, client: Client, params: types.CallToolRequestParams
    ) -> _Answer:
        query = (params.arguments or {}).get("query", "")
        named = await self._named_tools()
        try:
            found = found_tools(named, query)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(str(error)) from error
        language = self.stack.language
        lines = []
        for one in found:
            name = one["name"]
            signature = language.signature(name.rpartition(".")[2], named[name])
            lines.append(f"{name}\n{signature}")
        text = "\n\n".join(lines)[:SHOWN_CHARS] or "no tool has all of these words"
        return types.CallToolResult(content=[types.TextContent(text=sendable(text))])

    async def _named_tools(self) -> dict[str, HostTool]:
        """Everything that code can call, by the names in code."""
        offer = self._clients.offer
        servers = offer.part(McpServers)
        tools = {tool.name: tool for tool in offer.tools}
        named = {
            bridge.name: tools.get(bridge.tool) or described_bridge(bridge)
            for bridge in self.stack.bridge_set(offer)
            if bridge.awaited and bridge.listed and not bridge.hidden
        }
        if servers is not None:
            catalog = await servers.catalog(self.stack.language)
            named |= {f"mcp.{name}": tool for name, tool in catalog.tools.items()}
        return named

    async def _reset(
        self, ctx: Any, client: Client, params: types.CallToolRequestParams
    ) -> _Answer:
        for run in list(client.runs.values()):
            await run.stop()
            client.drop(run)
        await client.session.reset()
        return types.CallToolResult(content=[types.TextContent(text="All variables were deleted.")])


def _named_session(answer: _Answer, client: Client) -> _Answer:
    """An answer that tells the client the name of its session."""
    if not isinstance(answer, types.CallToolResult) or answer.structured_content is None:
        return answer
    content = {**answer.structured_content, "session": client.key}
    return answer.model_copy(update={"structured_content": content})


def _text(params: types.CallToolRequestParams, field: str) -> str:
    value = (params.arguments or {}).get(field)
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{params.name} takes a non-empty string as {field}")
    return value


def _cell(client: Client, cell: str) -> ServedCell:
    run = client.runs.get(cell)
    if run is None:
        raise ConfigurationError("there is no such cell; run the code again")
    return run


async def _tell(ctx: Any, client: Client, run: ServedCell) -> None:
    """Send a client the output and the progress since the last time."""
    if (text := run.printed()) and client.wants_logs("info"):
        with warnings.catch_warnings():  # clients of earlier versions of the protocol show it
            warnings.simplefilter("ignore")
            sending = ctx.session.send_log_message(
                "info",
                sendable(text[:_LOGGED_CHARS]),
                logger="console",
                related_request_id=ctx.request_id,
            )
        await sending
    if run.calls > run.reported:
        run.tell()
        await ctx.session.report_progress(run.calls, None, run.last)
