"""The rules for calls from code in each agent that an interpreter serves.

The agent's other middleware is known once its graph runs. It is looked up with the first eval, and
again only if the interpreter is used in another agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from interpstack import ConfigurationError
from interpstack_langchain.langgraph_internals.siblings import graph_nodes, middleware_of
from interpstack_langchain.rules.approval_rules import ApprovalRules
from interpstack_langchain.rules.approvals import Approvals
from interpstack_langchain.tools.tool_names import CallableTools

__all__ = ["AgentRules"]


@attrs.define(eq=False)
class AgentRules:
    """The rules of one interpreter.

    Attributes:
        own: Rules of the interpreter's `interrupt_on`.
        callable_: The tools that code can call.
        durable: Whether evals are recorded, which approvals need.
    """

    own: ApprovalRules
    callable_: CallableTools
    durable: bool
    #: The nodes of the last agent's graph, and the rules there.
    _known: tuple[Mapping[str, Any], Approvals | None] | None = attrs.field(
        default=None, init=False
    )

    def approvals(self, config: Mapping[str, Any]) -> Approvals | None:
        """The approvals that calls from code need; `None` if no call needs one.

        Args:
            config: Configuration of the task that runs the eval.

        Raises:
            ConfigurationError: The agent's rules cannot be found, or cannot be fulfilled.
        """
        nodes = graph_nodes(config)
        known = self._known
        if known is None or known[0] is not nodes:
            known = self._known = (nodes, self._made(nodes))
        return known[1]

    def _made(self, nodes: Mapping[str, Any]) -> Approvals | None:
        rules = self.own.beside(middleware_of(nodes), self.callable_)
        if rules.siblings and not self.durable:
            self._refuse(rules)
        return Approvals(rules) if rules else None

    def _refuse(self, rules: ApprovalRules) -> None:
        sibling = rules.siblings[0]
        name = min(self.callable_.among(sibling.interrupt_on) - rules.named)
        raise ConfigurationError(
            f"a {type(sibling).__name__} of the agent asks for an approval of {name!r}, which code "
            "can call, and that needs durable=True and a plugin that records evals, as 'durable' "
            "does: without a record, calls that were approved would be made again. Record evals, "
            f"leave the tool out of ptc, or pass interrupt_on={{{name!r}: False}} to have code "
            "call it without an approval"
        )
