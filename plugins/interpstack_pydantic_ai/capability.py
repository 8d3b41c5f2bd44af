"""The capability, with the arguments that users pass."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

import attrs
from pydantic_ai import CallToolsNode, RunContext, ToolApproved, UserError
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import AgentDepsT, ToolSelector
from pydantic_ai.toolsets import AbstractToolset

from interpstack import ConfigurationError, Engine, InterpreterStack, Limits, call_blocking
from interpstack.checks import is_plain_function, positive, shown
from interpstack_agents import (
    Conversations,
    LiveSessions,
    PersistenceScope,
    Preset,
    check_signing_key,
    persistence_mode,
)
from interpstack_learned import LearnedTypes, learned_types
from interpstack_pydantic_ai.evals import AgentEvals
from interpstack_pydantic_ai.toolset import EvalToolOptions, InterpreterToolset
from interpstack_state import MemoryStore, StateStore

__all__ = ["PRESET", "CodeInterpreter"]

#: The plugins of the capability, in the order in which they are called.
PRESET: Final = Preset(["pydantic_ai", "persistence", "durable", "console", "display", "ptc"])
#: Types of selectors that name tools.
_NAMED: Final = (list, tuple, set, frozenset)
_LEASE_SECONDS: Final = 30.0
#: Plugins, the arguments that need each, and the reason.
_NEEDED: Final = {
    "ptc": (("ptc", "ptc_only", "interrupt_on"), "without it, code can call no tool"),
    "durable": (
        ("interrupt_on",),
        "without a record, calls that were approved would be made again",
    ),
}


def _signing_key(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    check_signing_key(attribute.name, value)


@attrs.frozen(kw_only=True)
class _ArgumentBounds:
    """The arguments that set the limits of evals and of what is stored, checked by their names."""

    timeout: float | None = attrs.field(validator=positive(float, of="", seconds=True))
    wall_timeout: float | None = attrs.field(validator=positive(float, of="", seconds=True))
    memory_limit: int = attrs.field(validator=positive(int, 4 * 2**20, optional=False, of=""))
    max_ptc_calls: int | None = attrs.field(validator=positive(int, of=""))
    max_result_chars: int = attrs.field(validator=positive(int, optional=False, of=""))
    max_snapshot_bytes: int | None = attrs.field(validator=positive(int, of=""))
    snapshot_signing_key: bytes | None = attrs.field(validator=_signing_key)

    @property
    def limits(self) -> Limits:
        """The limits of the stack."""
        return Limits(
            cpu_seconds=self.timeout,
            wall_seconds=self.wall_timeout,
            memory_bytes=self.memory_limit,
            requests=self.max_ptc_calls,
            result_chars=self.max_result_chars,
        )


@dataclass(init=False, eq=False)
class CodeInterpreter(AbstractCapability[AgentDepsT]):
    """Gives an agent a tool that runs code, which calls the agent's other tools.

    ```python
    agent = Agent(model, tools=[search], capabilities=[CodeInterpreter(store="evals.db")])
    ```

    Args:
        engine: Name of an installed engine, or an `Engine`.
        ptc: The tools that code may call, as `tools.name`: `"all"`, a list of names, a mapping of
            metadata, or a function of the context and the definition. An eval is refused while the
            agent has had no tool of a name, or none with the metadata.
        ptc_only: Whether the model does not see the tools that code may call.
        interrupt_on: Tools whose calls from code need an approval, in the forms that `ptc` has.
            Those with `requires_approval=True` always do. Approvals need the plugin `durable`.
        mode: How long variables live: `thread` for the conversation, `turn` for one question of the
            user, `call` for one eval, or a mode of another plugin.
        store: A `StateStore` or the URL of one, such as `evals.db` or `postgresql://…`. By default,
            conversations live in the memory of this object.
        conversation_id: Returns the id of the conversation that a run belongs to; by default
            that of `Agent.run(conversation_id=…)`. Variables are those of the conversation, so
            users must not be able to choose the id of another user's.
        timeout: Seconds that code may compute in one eval; `None` for no limit.
        wall_timeout: Seconds of one eval in all; `None` for no limit.
        memory_limit: Bytes of the memory of one conversation.
        max_ptc_calls: Calls of tools in one eval; `None` for no limit.
        max_result_chars: Characters of the result that the model sees.
        unhandled: See `InterpreterStack`.
        check: See `InterpreterStack`.
        learn_types: Whether signatures show what tools without a return type have answered: the URL
            of a store of such types, `True` for the one in `INTERPSTACK_TYPES`, or an
            `interpstack_learned.LearnedTypes`.
        max_snapshot_bytes: Bytes of the largest state that is stored; `None` for `memory_limit`.
        snapshot_signing_key: Signs stored variables, and refuses unsigned ones.
        lease_seconds: Seconds for which other processes wait for a conversation whose process died.
        preset: The plugins of the stack.
        plugins: More plugins, called after those of the preset.
        options: Keyword arguments for the engine's class.
        tool_name: Name of the tool.
        id: See `AbstractCapability`.

    Raises:
        ConfigurationError: An argument is wrong.
    """

    def __init__(
        self,
        *,
        engine: str | Engine = "quickjs",
        ptc: ToolSelector[AgentDepsT] = "all",
        ptc_only: bool = False,
        interrupt_on: ToolSelector[AgentDepsT] = (),
        mode: str = "thread",
        store: StateStore | str | None = None,
        conversation_id: Callable[[RunContext[AgentDepsT]], str] | None = None,
        timeout: float | None = 5.0,
        wall_timeout: float | None = 600.0,
        memory_limit: int = 64 * 2**20,
        max_ptc_calls: int | None = 256,
        max_result_chars: int = 4000,
        unhandled: Literal["tell", "raise", "ignore"] = "tell",
        check: Literal["names", "types", "off"] = "names",
        learn_types: bool | str | LearnedTypes | None = False,
        max_snapshot_bytes: int | None = None,
        snapshot_signing_key: bytes | None = None,
        lease_seconds: float = _LEASE_SECONDS,
        preset: Preset = PRESET,
        plugins: Iterable[Any] = (),
        options: Mapping[str, Any] | None = None,
        tool_name: str = "eval",
        id: str | None = None,  # noqa: A002 - the name that PydanticAI gives it
    ) -> None:
        self.id = id
        if not isinstance(preset, Preset):
            raise ConfigurationError(
                "preset takes a Preset, such as interpstack_pydantic_ai.PRESET.without('console'); "
                f"got {shown(preset)}"
            )
        if isinstance(plugins, (str, Mapping)) or not isinstance(plugins, Iterable):
            raise ConfigurationError(f"plugins takes a list of plugins; got {shown(plugins)}")
        if not isinstance(ptc_only, bool):
            raise ConfigurationError(f"ptc_only takes True or False; got {shown(ptc_only)}")
        if not isinstance(tool_name, str) or not tool_name.replace("-", "_").isidentifier():
            raise ConfigurationError(
                f"tool_name takes letters, digits, '_' and '-'; got {shown(tool_name)}"
            )
        for name, value in (("ptc", ptc), ("interrupt_on", interrupt_on)):
            _check_selector(name, value)
        _check_approvals(ptc, interrupt_on)
        if conversation_id is not None and not is_plain_function(conversation_id):
            raise ConfigurationError(
                "conversation_id takes a function of the RunContext that is not async; got "
                f"{shown(conversation_id)}; pass an id as Agent.run(conversation_id=…)"
            )
        self._conversation_id = conversation_id
        bounds = _ArgumentBounds(
            timeout=timeout,
            wall_timeout=wall_timeout,
            memory_limit=memory_limit,
            max_ptc_calls=max_ptc_calls,
            max_result_chars=max_result_chars,
            max_snapshot_bytes=max_snapshot_bytes,
            snapshot_signing_key=snapshot_signing_key,
        )
        self._stack = InterpreterStack(
            engine,
            [*preset.plugins, *plugins],
            options=options,
            limits=bounds.limits,
            unhandled=unhandled,
            check=check,
        )
        most = memory_limit if max_snapshot_bytes is None else max_snapshot_bytes
        made = persistence_mode(self._stack, mode)(max_bytes=most, signing_key=snapshot_signing_key)
        if made.scope == PersistenceScope.SHARED:
            raise ConfigurationError(
                f"mode={mode!r} shares variables between conversations, which CodeInterpreter does "
                "not; use mode='thread', and the same conversation for all that share variables"
            )
        if made.scope == PersistenceScope.CALL:
            stored = {
                "max_snapshot_bytes": max_snapshot_bytes,
                "snapshot_signing_key": snapshot_signing_key,
            }
            _check_unused(stored, f"with mode={mode!r}: it stores no variables")
        if store is None and lease_seconds != _LEASE_SECONDS:
            _check_unused(
                {"lease_seconds": lease_seconds}, "without store, in which other processes wait"
            )
        has = {*(one.name for one in self._stack.describe()), *filter(preset.__contains__, _NEEDED)}
        chosen = {"ptc": ptc != "all", "ptc_only": ptc_only, "interrupt_on": bool(interrupt_on)}
        _check_needed([name for name, is_chosen in chosen.items() if is_chosen], has)
        conversations = Conversations(
            MemoryStore() if store is None else store, lease_seconds=lease_seconds
        )
        self._evals = AgentEvals(
            self._stack,
            LiveSessions(self._stack, made),
            conversations,
            tool_name,
            can_ask="durable" in has,
            types=learned_types(learn_types),
        )
        self._tool = EvalToolOptions(
            self._evals, tool_name, ptc, interrupt_on, ptc_only, self._conversation_of
        )

    @classmethod
    def get_serialization_name(cls) -> str | None:
        return None  # engines, stores and plugins are objects

    def get_wrapper_toolset(
        self, toolset: AbstractToolset[AgentDepsT]
    ) -> AbstractToolset[AgentDepsT]:
        return InterpreterToolset(toolset, self._tool)

    async def wrap_run(
        self, ctx: RunContext[AgentDepsT], *, handler: Callable[[], Awaitable[AgentRunResult[Any]]]
    ) -> AgentRunResult[Any]:
        try:
            return await handler()
        finally:
            await self._evals.end_run(self._conversation_of(ctx))

    async def before_node_run(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        node: Any,  # `AgentNode` cannot be read by `typing.get_type_hints`
    ) -> Any:
        """Note evals that a person gave up: PydanticAI does not tell the toolset of those."""
        if isinstance(node, CallToolsNode) and node.tool_call_results:
            message, results = node.model_response, node.tool_call_results
            given_up = [
                call.tool_call_id
                for call in message.tool_calls
                if call.tool_name == self._tool.name
                and call.tool_call_id in results
                and results[call.tool_call_id] != "skip"  # its answer is in the history
                and not isinstance(results[call.tool_call_id], ToolApproved)
            ]
            if given_up:
                await self._evals.give_up(self._conversation_of(ctx), message, given_up)
        return node

    async def aclose(self) -> None:
        """Close all sessions and the engine; what is stored stays stored."""
        await self._evals.sessions.aclose()
        await self._stack.aclose()
        await call_blocking(self._evals.conversations.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def _conversation_of(self, ctx: RunContext[AgentDepsT]) -> str:
        given = self._conversation_id
        found = ctx.conversation_id if given is None else given(ctx)
        if not isinstance(found, str) or not found:
            raise UserError(
                f"the id of a conversation is a text that is not empty; got {shown(found)}; pass "
                "Agent.run(conversation_id=…), or CodeInterpreter(conversation_id=…)"
            )
        return found


def _check_approvals(ptc: Any, interrupt_on: Any) -> None:
    """Refuse rules for calls that code cannot make.

    Raises:
        ConfigurationError: Code may not call a tool that needs an approval.
    """
    for_models = "for calls of the model, give the tool requires_approval=True"
    if not isinstance(interrupt_on, _NAMED):
        if interrupt_on and not ptc:
            raise ConfigurationError(
                f"interrupt_on has no effect with ptc={ptc!r}: code can call no tool; {for_models}"
            )
    elif isinstance(ptc, _NAMED):
        beside = [name for name in interrupt_on if name not in ptc]
        if beside:
            raise ConfigurationError(
                f"interrupt_on names {shown(beside[0])}, which is not in ptc, so code cannot call "
                f"it; {for_models}"
            )


def _check_unused(given: Mapping[str, Any], why: str) -> None:
    """Refuse arguments that have no effect."""
    for name, value in given.items():
        if value is not None:
            raise ConfigurationError(f"{name} has no effect {why}; leave it out, or change that")


def _check_needed(chosen: Iterable[str], has: Iterable[str]) -> None:
    """Refuse arguments whose plugin is missing.

    Args:
        chosen: The arguments that are used.
        has: Names of the plugins.
    """
    for plugin, (arguments, why) in _NEEDED.items():
        for name in chosen:
            if name in arguments and plugin not in has:
                raise ConfigurationError(
                    f"{name} needs the plugin {plugin!r}, which the preset leaves out: {why}"
                )


def _check_selector(name: str, value: Any) -> None:
    names = isinstance(value, _NAMED) and all(isinstance(one, str) for one in value)
    if value == "all" or names or isinstance(value, dict) or callable(value):
        return
    raise ConfigurationError(
        f"{name} takes 'all', a list of names, a mapping of metadata, or a function of the context "
        f"and a ToolDefinition; got {shown(value)}"
    )
