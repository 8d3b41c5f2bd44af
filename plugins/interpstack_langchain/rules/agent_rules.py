"""The rules for calls in each agent that an interpreter serves.

The agent's other middleware is known once its graph runs. It is looked up with the first eval, and
again only if the interpreter is used in another agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolCallLimitMiddleware
from langgraph.prebuilt.tool_node import ToolCallRequest

from interpstack import ConfigurationError
from interpstack_langchain.evals.eval_call import EvalCall
from interpstack_langchain.langgraph_internals.siblings import GraphRun, graph_run, middleware_of
from interpstack_langchain.rules.approval_rules import ApprovalRules
from interpstack_langchain.rules.approvals import Approvals
from interpstack_langchain.rules.call_limits import CallLimits, Limiter
from interpstack_langchain.state.owners import as_mapping
from interpstack_langchain.tools.tool_names import CallableTools

__all__ = ["AgentRules", "Rules"]


#: What an approval of a call from code needs of the agent.
_NEEDS_CHECKPOINTER: Final = (
    "needs a checkpointer, which stores the eval while it waits for a decision: pass one to the "
    "agent (checkpointer=…), and a thread_id with each run"
)
_NO_NODES: Mapping[str, Any] = {}


@attrs.frozen
class Rules:
    """The rules for calls in one agent.

    Attributes:
        approvals: The approvals that calls from code need; `None` if no call needs one.
        limiters: The middleware that limits calls which code can make.
        asked_elsewhere: Tools about which a `HumanInTheLoopMiddleware` of the agent asks when the
            model calls them.
    """

    approvals: Approvals | None
    limiters: tuple[Limiter, ...]
    asked_elsewhere: frozenset[str]


@attrs.define(eq=False, repr=False)
class AgentRules:
    """The rules of one interpreter.

    Attributes:
        own: Rules of the interpreter's `interrupt_on`.
        callable_: Names of the tools that code can call.
        durable: Whether evals are recorded, which approvals need.
    """

    own: ApprovalRules
    callable_: CallableTools
    durable: bool
    #: The nodes of the last agent's graph, and the rules there.
    _known: tuple[Mapping[str, Any], Rules] | None = attrs.field(default=None, init=False)

    def rules(self, run: GraphRun | None) -> Rules:
        """The rules of the agent whose graph runs; `None` outside of a graph.

        Raises:
            ConfigurationError: The agent's rules cannot be fulfilled.
        """
        nodes = _NO_NODES if run is None else run.nodes
        known = self._known
        if known is None or known[0] is not nodes:
            known = self._known = (nodes, self._made(nodes))
        return known[1]

    def check_own(self, *, stored: bool) -> None:
        """Refuse a run of an agent that cannot wait for the decisions of `interrupt_on`.

        Args:
            stored: Whether the agent has a checkpointer.

        Raises:
            ConfigurationError: It has none, and a call may need an approval.
        """
        if self.own and not stored:
            raise ConfigurationError(f"interrupt_on {_NEEDS_CHECKPOINTER}")

    def approvals(self, run: GraphRun | None, *, stored: bool) -> Approvals | None:
        """The approvals that calls of an eval need; `None` if no call needs one.

        Args:
            run: The run of the agent's graph; `None` outside of a graph.
            stored: Whether the eval has a journal in a checkpoint.

        Raises:
            ConfigurationError: The agent's rules cannot be fulfilled.
        """
        found = self.rules(run).approvals
        if found is None or stored:
            return found
        self.check_own(stored=False)
        asking = ", ".join(one.name for one in found.rules.siblings)
        raise ConfigurationError(
            f"{asking}, beside this interpreter, asks for approvals of calls from code, and "
            f"{_NEEDS_CHECKPOINTER}, or leave its tools out of ptc{self._by_files(found.rules)}"
        )

    def _by_files(self, rules: ApprovalRules) -> str:
        """What to do besides about rules that ask about file tools."""
        asked = {name for one in rules.siblings for name in one.interrupt_on}
        return ", and pass files=False" if asked & self.callable_.files else ""

    def direct(self, request: ToolCallRequest) -> Approvals | None:
        """The approvals that a call needs which the model makes itself; `None` if it needs none.

        Raises:
            ConfigurationError: The agent's rules cannot be fulfilled.
        """
        name, own = request.tool_call["name"], self.own.own
        if own is None or name not in own.interrupt_on:
            return None
        found = self.rules(graph_run(request.runtime.config))
        asked = name in found.asked_elsewhere
        return None if asked else Approvals(ApprovalRules(own, self.own.named))

    def limits(self, run: GraphRun | None, running: EvalCall) -> CallLimits | None:
        """The limits on the calls of an eval; `None` without any."""
        limiters = self.rules(run).limiters
        if run is None or not limiters:
            return None
        return CallLimits.of(
            run,
            running.calls.message,
            limiters=limiters,
            tools=self.callable_,
            runtime=running.request.runtime,
            name=f"{running.name}:{running.place}",
            goes_on=running.name != running.calls.name,
            state=as_mapping(running.request.state),
        )

    def _made(self, nodes: Mapping[str, Any]) -> Rules:
        siblings = middleware_of(nodes)
        rules = self.own.beside(siblings, self.callable_)
        if rules.siblings and not self.durable:
            self._refuse(rules)
        limiters = tuple(
            one
            for one in siblings
            if isinstance(one, ToolCallLimitMiddleware)
            and (one.tool_name is None or one.tool_name in self.callable_)
        )
        asking = (one for one in siblings if isinstance(one, HumanInTheLoopMiddleware))
        elsewhere = frozenset(name for one in asking for name in one.interrupt_on)
        return Rules(Approvals(rules) if rules else None, limiters, elsewhere)

    def _refuse(self, rules: ApprovalRules) -> None:
        sibling = rules.siblings[0]
        name = min(self.callable_.among(sibling.interrupt_on) - rules.named)
        raise ConfigurationError(
            f"{sibling.name}, beside this interpreter, asks for an approval of {name!r}, which "
            "code can call, and that needs durable=True and a plugin that records evals, as "
            "'durable' does: without a record, calls that were approved would be made again. "
            f"Record evals, leave the tool out of ptc, or pass interrupt_on={{{name!r}: False}} to "
            "have code call it without an approval"
        )
