"""The rules of approvals: which calls from code need one, and whose rule decides that.

A rule is a `HumanInTheLoopMiddleware`: one made of the `interrupt_on` of an interpreter, or one
that the agent has beside the interpreter. The latter sees calls of the model only, so the
interpreter applies its rules to calls from code. The `interrupt_on` of one interpreter of the agent
holds for the code of its other interpreters in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import attrs
from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig

from interpstack import ConfigurationError
from interpstack.checks import is_plain_function, shown
from interpstack_langchain.rules.human_decisions import DECISION_TYPES
from interpstack_langchain.tools.tool_names import CallableTools

__all__ = ["ApprovalRules", "HasApprovalRules", "Policy"]

Policy = HumanInTheLoopMiddleware[Any, Any, Any]


class _InterruptOn(HumanInTheLoopMiddleware[Any, Any, Any]):
    """The rules of an interpreter's `interrupt_on`, with a name unlike that of any middleware."""

    def __init__(self, interrupt_on: Mapping[str, Any], tool: str) -> None:
        super().__init__(dict(interrupt_on))
        self._tool = tool

    @property
    def name(self) -> str:
        return f"interrupt_on of {self._tool}"


@attrs.frozen(eq=False, repr=False)
class ApprovalRules:
    """The rules for the calls from code of one agent.

    Attributes:
        own: The rules of the interpreter's `interrupt_on`; `None` without any.
        named: Names in `interrupt_on`, those with `False` included; only `own` decides on their
            calls.
        siblings: Middleware of the agent whose rules hold for calls from code, too.
        others: Middleware with rules for tools that code cannot call, which an edit may name.
    """

    own: Policy | None
    named: frozenset[str]
    siblings: tuple[Policy, ...] = ()
    others: tuple[Policy, ...] = ()

    @classmethod
    def of(cls, interrupt_on: Any, tool: str = "eval") -> ApprovalRules:
        """The rules of the middleware's argument.

        Args:
            interrupt_on: The argument.
            tool: Name of the interpreter's tool.

        Raises:
            TypeError: The rules are not a mapping from tool names.
            ConfigurationError: A tool's configuration is wrong.
        """
        if interrupt_on is None:
            return cls(None, frozenset())
        if not isinstance(interrupt_on, Mapping):
            raise TypeError(
                "interrupt_on takes a mapping of tool names to True, False or an "
                f"InterruptOnConfig; got a {type(interrupt_on).__name__}"
            )
        for name, wanted in interrupt_on.items():
            _check(name, wanted)
        try:
            policy: Policy = _InterruptOn(interrupt_on, tool)
        except ValueError as error:
            raise ConfigurationError(f"interrupt_on: {error}") from error
        return cls(policy if policy.interrupt_on else None, frozenset(interrupt_on))

    def beside(self, siblings: Iterable[Any], callable_: CallableTools) -> ApprovalRules:
        """Add the rules of middleware beside the interpreter.

        Args:
            siblings: All middleware of the agent.
            callable_: The tools that code can call.

        Raises:
            ConfigurationError: A call would be asked about twice.
        """
        found: list[Policy] = []
        others: list[Policy] = []
        for policy in map(self._rule_of, siblings):
            if policy is None:
                continue
            if _asks_itself(policy):
                self._check_once(policy)
            elif callable_.among(policy.interrupt_on) - self.named:
                found.append(policy)
            else:
                others.append(policy)
        return attrs.evolve(self, siblings=tuple(found), others=tuple(others))

    def policies(self, name: str) -> Sequence[Policy]:
        """The rules that decide whether a call of a tool needs an approval."""
        beside = (*self.siblings, *self.others)
        asked = ([self.own] if self.own else []) if name in self.named else beside
        return [policy for policy in asked if name in policy.interrupt_on]

    def _rule_of(self, sibling: Any) -> Policy | None:
        """The rule that a middleware stands for; `None` if it has none, or is the interpreter."""
        if isinstance(sibling, HumanInTheLoopMiddleware):
            return sibling
        if isinstance(sibling, HasApprovalRules) and sibling.approval_rules is not self:
            return sibling.approval_rules.own
        return None

    def __bool__(self) -> bool:
        return self.own is not None or bool(self.siblings)

    def _check_once(self, policy: Policy) -> None:
        """Refuse a second rule about a call that a middleware asks about itself."""
        for name in sorted({*policy.interrupt_on} & self.named):
            raise ConfigurationError(
                f"interrupt_on names {name!r}, and so does a {type(policy).__name__} of the agent "
                "with interrupt_mode='per_call', which asks about calls from code itself; name the "
                "tool in one of them"
            )


@runtime_checkable
class HasApprovalRules(Protocol):
    """An interpreter's middleware, as the other interpreters of the agent see it."""

    @property
    def approval_rules(self) -> ApprovalRules:
        """The rules of its own `interrupt_on`."""


def _asks_itself(policy: Policy) -> bool:
    """Whether a middleware asks as a call starts, in `wrap_tool_call`, which calls of code pass."""
    return getattr(policy, "interrupt_mode", "batched") == "per_call"


def _check(name: Any, wanted: Any) -> None:
    if not isinstance(name, str):
        raise TypeError(f"interrupt_on takes names of tools as keys; got {name!r}")
    if not isinstance(wanted, bool | Mapping):
        raise TypeError(
            f"interrupt_on[{name!r}] takes True, False or an InterruptOnConfig; got {shown(wanted)}"
        )
    if isinstance(wanted, Mapping):
        _check_config(f"interrupt_on[{name!r}]", wanted)


def _check_config(where: str, wanted: Mapping[str, Any]) -> None:
    """An error here would let calls run without their approval."""
    known = InterruptOnConfig.__annotations__
    unknown = [key for key in wanted if key not in known]
    if unknown:
        raise ConfigurationError(f"{where} has {unknown[0]!r}; it takes {', '.join(known)}")
    decisions = wanted.get("allowed_decisions", [])
    if not isinstance(decisions, Sequence) or isinstance(decisions, str):
        raise TypeError(
            f"{where}: 'allowed_decisions' takes a list of decisions; got {shown(decisions)}"
        )
    if not decisions:  # some releases of LangChain would skip the approval
        raise ConfigurationError(
            f"{where} needs 'allowed_decisions', a list of some of {', '.join(DECISION_TYPES)}"
        )
    other = [decision for decision in decisions if decision not in DECISION_TYPES]
    if other:
        raise ConfigurationError(
            f"{where} allows {other[0]!r}; decisions are {', '.join(DECISION_TYPES)}"
        )
    when, description = wanted.get("when"), wanted.get("description")
    if when is not None and not callable(when):
        raise TypeError(f"{where}: 'when' takes a function of a request; got {shown(when)}")
    if not (description is None or isinstance(description, str) or callable(description)):
        raise TypeError(
            f"{where}: 'description' takes text or a function; got {shown(description)}"
        )
    for key, function in (("when", when), ("description", description)):
        # The coroutine of an async one would stand for the answer.
        if callable(function) and not is_plain_function(function):
            raise TypeError(
                f"{where}: {key!r} takes a plain function, since it is not awaited; "
                f"got {shown(function)}"
            )
