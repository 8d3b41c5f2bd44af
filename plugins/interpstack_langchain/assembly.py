"""The interpreter that the arguments of a middleware describe."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
from langchain_core.tools import BaseTool

from interpstack import ConfigurationError, InterpreterStack
from interpstack_accounts.api import Budget
from interpstack_agents import LiveSessions, Persistence, PersistenceScope, lifetime_of_variables
from interpstack_langchain.backend_skills import BackendSkills
from interpstack_langchain.durability.checkpoint_stores import Shared
from interpstack_langchain.durability.eval_stores import EvalStores
from interpstack_langchain.durability.spending import CostOf, Spending
from interpstack_langchain.evals.eval_queue import CallQueue
from interpstack_langchain.evals.eval_runner import Evals
from interpstack_langchain.evals.surface import Surface
from interpstack_langchain.interpreter import Interpreter
from interpstack_langchain.langgraph_internals.file_tools import READING, WRITING
from interpstack_langchain.options import Options
from interpstack_langchain.rules.agent_rules import AgentRules
from interpstack_langchain.rules.approval_rules import ApprovalRules
from interpstack_langchain.servers.mcp_tools import servers_of
from interpstack_langchain.stacks import StackArguments
from interpstack_langchain.state.channels import Channels
from interpstack_langchain.state.modes import mode_of
from interpstack_langchain.state.variables import Variables
from interpstack_langchain.tools.offer_builder import AgentOffers, OfferedTools
from interpstack_langchain.tools.tool_names import ToolNames

if TYPE_CHECKING:
    from interpstack_handles.api import Handles
    from interpstack_langchain.background.background import Background

__all__ = ["assembled"]


def assembled(
    options: Options,
    given: StackArguments,
    surface: Surface,
    *,
    interrupt_on: Any,
    late_tools: Collection[str],
    skills_backend: Any,
    budget: Budget | None,
    cost_of: CostOf | None,
) -> Interpreter:
    """The interpreter for the arguments of `CodeInterpreterMiddleware`, which describes each.

    Args:
        options: Those that are plain values; `every_tool` says that nothing lists some tools.
        given: Those for the stack.
        surface: Tools and words by which the model uses the interpreter.
        interrupt_on: Calls from code that need an approval.
        late_tools: Names of tools that the agent gets in a later turn.
        skills_backend: Where skills come from.
        budget: Limits on all evals of a turn.
        cost_of: Returns the cost of a model's message.

    Raises:
        ConfigurationError: An argument has a wrong value.
        TypeError: An argument is of a wrong type.
    """
    every = options.every_tool and (options.tools_only or surface.calls_every_tool)
    options = attrs.evolve(options, every_tool=every)
    background = _background(options, surface)
    own = surface.names if background is None else (*surface.names, *background.tools)
    spending = Spending.of(budget, cost_of)
    approvals = ApprovalRules.of(interrupt_on, options.tool_name)
    servers = servers_of(given.mcp)
    reached = frozenset[str]() if servers is None else servers.names
    names = ToolNames.of(options.ptc, interrupt_on, late_tools, every=every, servers=reached)
    wanted = {"skills": skills_backend is not None, "budget": budget is not None}
    asked = options
    if given.stack is not None:
        stack, options = given.stack, given.adopt(given.stack, options, **wanted)
    else:
        stack = given.make(options)
        options = given.settle(stack, options, **wanted)
    files = {None: (), "read-only": READING, "read-write": READING + WRITING}[options.files_mode]
    callable_ = names.callable_(own, subagents=options.subagents, files=files)
    names.check_approvals(interrupt_on, callable_)
    _check_durable(options, approvals=bool(approvals))
    mode, owned = _mode(stack, options), given.stack is None
    _check_effects(asked, options, mode)
    handles = options.handles
    channels = Channels.of(options.tool_name, handles=handles is not None and handles.store is None)
    # Others that use a ready stack must not get the sessions of this middleware.
    keys = "" if owned else f"{secrets.token_hex(8)}|"
    part = surface.part(options, lifetime_of_variables(mode))
    # Without a checkpointer, variables of a thread are forgotten with the turn.
    unstored = None
    if mode.scope == PersistenceScope.THREAD:
        unstored = surface.part(options, lifetime_of_variables(mode, stored=False))
    more = [] if servers is None else servers.opened(interrupt_on)
    if handles is not None:
        more = [*more, _handles_of(handles, channels, options)]
    endings = stack.language.module_endings
    skills = None if skills_backend is None else BackendSkills(skills_backend, endings)
    evals = _evals_class(background)(
        options=options,
        stack=stack,
        mode=mode,
        sessions=LiveSessions(stack, mode, keys),
        offered=OfferedTools(),
        stores=_stores(options),
        queue=CallQueue(own),
        offers=AgentOffers(stack, options, part, own, skills, more, unstored),
        channels=channels,
        variables=Variables(mode, channels),
        spending=spending,
    )
    return Interpreter(
        evals=evals,
        surface=surface,
        own_names=own,
        owned=owned,
        rules=AgentRules(approvals, callable_, options.durable),
        names=names,
        background=background,
        servers=servers,
    )


def _background(options: Options, surface: Surface) -> Background | None:
    """The cells in the background, if evals may be suspended."""
    if options.background is None:
        return None
    clash = {*surface.names} & {*options.background.tools}
    if clash:
        raise ConfigurationError(
            f"background has the tool {min(clash)!r}, the name of the interpreter's own tool"
        )
    # Loaded for agents that suspend evals; few do.
    from interpstack_langchain.background.background import Background

    return Background(options.background.yield_after, *options.background.tools)


def _evals_class(background: Background | None) -> Callable[..., Evals]:
    """The class of the evals, for the cells in the background, if there are any."""
    if background is None:
        return Evals
    from interpstack_langchain.background.background_evals import BackgroundEvals

    return partial(BackgroundEvals, background=background)


def _check_durable(options: Options, *, approvals: bool) -> None:
    """Refuse options that need a record of evals, where there is none."""
    needs = "needs durable=True and a plugin that records evals, as 'durable' does"
    if approvals and not options.durable:
        raise ConfigurationError(
            f"interrupt_on {needs}: without a record, calls that were approved would be made again"
        )
    if options.background is not None and not options.durable:
        raise ConfigurationError(
            f"background=True {needs}: a suspended eval continues from its record"
        )


def _check_effects(asked: Options, fulfilled: Options, mode: Persistence) -> None:
    """Refuse options of a part that is off: they would have no effect.

    Where the peer accepts the two arguments, a warning says so instead.

    Args:
        asked: The options of the middleware.
        fulfilled: The options as the stack fulfils them.
        mode: Persistence mode.

    Raises:
        ConfigurationError: An option has no effect.
    """
    either, add = "; leave out one of the two", "; leave it out, or add the plugin"
    off: dict[str, str] = {}
    peer: dict[str, str] = {}
    if not asked.subagents:
        peer["max_subagent_concurrency"] = f"with subagents=False{either}"
    elif not fulfilled.subagents:
        off["max_subagent_concurrency"] = (
            f"without a plugin that offers task(), as 'subagents'{add}"
        )
    if not asked.capture_console:
        off["console_chars"] = f"with capture_console=False{either}"
    if not fulfilled.durable:
        unrecorded = f"without a plugin that records evals, as 'durable'{add}"
        if not asked.durable:
            unrecorded = f"with durable=False{either}"
        off["pause_grace"] = off["lock_timeout"] = unrecorded
    if mode.scope == PersistenceScope.CALL:
        peer["max_snapshot_bytes"] = f"with mode={asked.mode!r}: it stores no variables{either}"
        if not fulfilled.durable:
            off["snapshot_signing_key"] = f"with mode={asked.mode!r} and {unrecorded}"
    usual = Options()
    for name, why in {**off, **peer}.items():
        if getattr(asked, name) != getattr(usual, name):
            if name in off:
                raise ConfigurationError(f"{name} has no effect {why}")
            warnings.warn(f"{name} has no effect {why}", stacklevel=4)


def _handles_of(handles: Handles, channels: Channels, options: Options) -> object:
    """The part of offers by which code has handles."""
    # Loaded for agents whose code has handles.
    from interpstack_langchain.state.graph_handles import handles_in_graph

    return handles_in_graph(handles, channels, _as_bytes(options.snapshot_signing_key))


def _stores(options: Options) -> EvalStores:
    """The stores of the records of evals."""
    key, grace = _as_bytes(options.snapshot_signing_key), options.pause_grace
    own = [tool for tool in options.ptc if isinstance(tool, BaseTool)]
    return EvalStores(Shared(signing_key=key, pause_grace=grace), own, options.lock_timeout)


def _mode(stack: InterpreterStack, options: Options) -> Persistence:
    most = options.max_snapshot_bytes
    mode = mode_of(stack, options.mode)(
        max_bytes=options.memory_limit if most is None else most,
        signing_key=_as_bytes(options.snapshot_signing_key),
    )
    if mode.scope == PersistenceScope.SHARED and options.background is not None:
        raise ConfigurationError(
            f"background=True does not go with mode={options.mode!r}: a suspended eval holds its "
            "variables, and other conversations would use them meanwhile. Use one of the two"
        )
    return mode


def _as_bytes(key: str | bytes | None) -> bytes | None:
    return key.encode() if isinstance(key, str) else key
