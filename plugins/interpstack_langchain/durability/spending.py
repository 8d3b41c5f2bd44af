"""Budgets of an agent's turns, and the usage that models report.

Each turn has an account, on which its evals draw. A callback handler counts tokens and cost: it is
among the callbacks of the agent's own model, and of everything that code calls. A model that code
calls, such as a subagent's, is not called again once the tokens or cost are used up.

The drawn amounts are written to the graph's state after each eval and each model call, and to the
journals of evals in between, so that they count when another process continues the turn.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

import attrs
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, Callbacks
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables.config import var_child_runnable_config

from interpstack import Bridge, ConfigurationError
from interpstack.checks import is_plain_function, shown
from interpstack_accounts.api import Account, Budget
from interpstack_langchain.durability.spending_records import SpendingRecorder
from interpstack_langchain.evals.eval_call import running_eval
from interpstack_langchain.langgraph_internals.refusals import refusal
from interpstack_langchain.state.graph_state import drawn_of, turn_of
from interpstack_langchain.tools.tool_names import bare

__all__ = ["CostOf", "Spending"]

_log = logging.getLogger(__name__)

CostOf = Callable[[AIMessage], float]
#: Turns that are remembered at once.
_MAX_TURNS: Final = 4096


@attrs.define(eq=False, repr=False)
class Spending:
    """The accounts of one middleware.

    Attributes:
        budget: The budget of each turn.
        cost_of: The cost of a message, where models do not report it.
    """

    budget: Budget
    cost_of: CostOf | None = None
    _accounts: OrderedDict[str, Account] = attrs.field(factory=OrderedDict, init=False)
    _lock: threading.Lock = attrs.field(factory=threading.Lock, init=False)
    #: Names in `tool_requests` that were checked.
    _checked: set[str] = attrs.field(factory=set, init=False)

    @classmethod
    def of(cls, budget: Any, cost_of: Any) -> Spending | None:
        """`None` without a budget.

        Raises:
            TypeError: An argument is of a wrong type.
            ConfigurationError: There is a function for the cost, but no budget for it.
        """
        if budget is not None and not isinstance(budget, Budget):
            raise TypeError(f"budget takes a Budget or None; got {shown(budget)}")
        if cost_of is not None and not is_plain_function(cost_of):
            raise TypeError(
                "cost_of takes a function of an AIMessage that is not async; got " + shown(cost_of)
            )
        if budget is None and cost_of is not None:
            raise ConfigurationError("cost_of needs a budget, as in budget=Budget(cost=1.5)")
        return None if budget is None else cls(budget, cost_of)

    def check_names(self, bridges: Iterable[Bridge]) -> None:
        """Check that the names in `tool_requests` are of calls; otherwise nothing is limited.

        A name that no call has may be one of a subagent's code, which draws on the same budget, or
        of an MCP server that is not connected yet.

        Args:
            bridges: The calls of the agent's code.

        Raises:
            ConfigurationError: A name is that of a call but for its spelling.
        """
        if not (unseen := set(self.budget.tool_requests) - self._checked):
            return
        names = {name for one in bridges for name in (one.name, one.tool) if name is not None}
        spelt = {bare(key): name for name in names for key in (name, name.rpartition(".")[2])}
        for name in sorted(unseen - names):
            if meant := spelt.get(bare(name)) or spelt.get(bare(name.rpartition(".")[2])):
                raise ConfigurationError(
                    f"budget: tool_requests names {name!r}, which no call has; did you mean "
                    f"{meant!r}?"
                )
            if not name.startswith("mcp."):
                _log.warning(
                    "budget: tool_requests names %r, which no call of this agent's code has, so it "
                    "limits nothing unless a subagent's code makes that call; check the spelling",
                    name,
                )
        self._checked |= unseen

    def account(self, turn: str, state: Mapping[str, Any]) -> Account:
        """The account of a turn; its parent is the account of the code that began the turn.

        Args:
            turn: Identifies it.
            state: The graph's state; amounts that another process wrote there count.
        """
        with self._lock:  # evals of one message may be in threads of their own
            account = self._accounts.get(turn)
            if account is None:
                account = Account(self.budget, Account.current(), "this turn")
                self._accounts[turn] = account
                while len(self._accounts) > _MAX_TURNS:
                    self._accounts.popitem(last=False)
            account.restore(drawn_of(state))
            return account

    def update(self, turn: str, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return the update of the graph's state with the amounts drawn in a turn so far."""
        drawn = self.account(turn, state).drawn()
        return {"interpreter_drawn": {"turn": turn_of(state), "drawn": drawn}}

    def end(self, turn: str) -> None:
        """Forget the account of a turn."""
        self._accounts.pop(turn, None)

    @contextmanager
    def eval(self, turn: str, state: Mapping[str, Any]) -> Iterator[Reports]:
        """Let an eval draw on the account of its turn; returns the handler that counts usage."""
        account = self.account(turn, state)
        with account.use():
            yield Reports(account, self.cost_of, stops=account)

    @contextmanager
    def model_call(self, turn: str, state: Mapping[str, Any]) -> Iterator[None]:
        """Count the usage of the agent's own model in the block.

        Only the budget of the code that dispatched the agent can stop this model.
        """
        config, account = var_child_runnable_config.get() or {}, self.account(turn, state)
        stops = None if running_eval.get(None) is None else account.parent
        reports = Reports(account, self.cost_of, stops)
        with account.use():
            callbacks = reports.among(config.get("callbacks"))
            token = var_child_runnable_config.set({**config, "callbacks": callbacks})
            try:
                yield
            finally:
                var_child_runnable_config.reset(token)


class Reports(BaseCallbackHandler):
    """A callback handler that draws the usage of models on the account of the code that calls them.

    Args:
        account: The account of a model that is called outside all of them.
        cost_of: The cost of a message, where models do not report it.
        stops: The account without whose tokens and cost no model is called; `None` for none.
    """

    run_inline = True  # in the context of the call, which says whose it is
    raise_error = True  # a cost that cannot be counted would be no limit
    ignore_chain = ignore_agent = ignore_retriever = True

    def __init__(self, account: Account, cost_of: CostOf | None, stops: Account | None) -> None:
        self.account = account
        self.cost_of = cost_of
        self.stops = stops
        self._calls: dict[UUID, Account | None] = {}  # `None` for ended calls
        # Where nothing stops it, no code is around that has a journal.
        recorded = [] if stops is None else [SpendingRecorder(self._begin, self._end)]
        self._both: list[BaseCallbackHandler] = [*recorded, self]

    def among(self, callbacks: Callbacks) -> Callbacks:
        """Callbacks with this handler; it takes the place of that of an outer eval.

        Its amounts are also drawn on the accounts of outer evals, whose handlers must not count
        them again.
        """
        if not isinstance(callbacks, BaseCallbackManager):
            return [*self._kept(callbacks or []), *self._both]
        manager = callbacks.copy()
        # Last: LangChain awaits the handlers in order, and skips the handlers after one that
        # raises.
        manager.handlers = [*self._kept(manager.handlers), *self._both]
        manager.inheritable_handlers = [*self._kept(manager.inheritable_handlers), *self._both]
        return manager

    def _kept(self, handlers: list[BaseCallbackHandler]) -> list[BaseCallbackHandler]:
        for handler in handlers:
            if isinstance(handler, Reports):
                self.cost_of = self.cost_of or handler.cost_of
        return [one for one in handlers if not isinstance(one, (Reports, SpendingRecorder))]

    def on_chat_model_start(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        self._admit(run_id)

    def on_llm_start(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        self._admit(run_id)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        self._end(response, run_id=run_id)

    def on_llm_error(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        self._end(None, run_id=run_id)

    def _admit(self, run_id: UUID) -> None:
        """Begin a model's call, unless the budget of the code is used up.

        Raises:
            BudgetExceeded: The budget is used up; code catches this error if a subagent raised it.
        """
        account = self.stops
        for kind in () if account is None else ("tokens", "cost"):
            if account is not None and account.left(kind) == 0:
                self._end(None, run_id=run_id)
                raise refusal(account.exceeded(kind))
        self._begin(run_id)

    def _begin(self, run_id: UUID) -> None:
        """Note that a call begins, once."""
        if run_id not in self._calls:
            account = Account.current() or self.account
            self._calls[run_id] = account
            account.expect(+1)

    def _end(self, response: LLMResult | None, *, run_id: UUID) -> None:
        """Draw the usage of a call, once; `None` as response for an unanswered call."""
        begun, account = run_id in self._calls, self._calls.get(run_id)
        self._calls[run_id] = None
        if begun and account is None:
            return
        if account is None:  # it began where no handler could note it
            account = Account.current() or self.account
        else:
            account.expect(-1)
        for generations in () if response is None else response.generations:
            for generation in generations:
                message = generation.message if isinstance(generation, ChatGeneration) else None
                if isinstance(message, AIMessage):
                    account.spend({"tokens": _tokens(message)}, calls=1)
                    account.spend({"cost": self._cost(message)}, calls=1)

    def _cost(self, message: AIMessage) -> float:
        if self.cost_of is not None:
            cost = self.cost_of(message)
            fits = isinstance(cost, (int, float)) and not isinstance(cost, bool)
            if not fits or not 0 <= cost < math.inf:
                raise TypeError(f"cost_of returns a number of at least 0; got {shown(cost)}")
            return cost
        return reported_cost(message) or 0


def reported_cost(message: AIMessage) -> float | None:
    """The cost that a model reports with its message; `None` if it does not.

    Providers report it in one of several places: `total_cost`, or `input_cost` and `output_cost`,
    in the `usage_metadata`; `cost` in the `response_metadata`, or in its `token_usage`.
    """
    usage: Mapping[str, Any] = message.usage_metadata or {}
    metadata: Mapping[str, Any] = message.response_metadata or {}
    tokens = metadata.get("token_usage")
    reports: list[Sequence[Any]] = [
        [usage.get("total_cost")],
        [usage.get("input_cost"), usage.get("output_cost")],
        [metadata.get("cost")],
        [tokens.get("cost") if isinstance(tokens, Mapping) else None],
    ]
    for parts in reports:
        if all(_is_amount(part) for part in parts):
            return float(sum(parts))
    return None


def _is_amount(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and 0 <= value < float("inf")


def _tokens(message: AIMessage) -> float:
    usage: Mapping[str, Any] = message.usage_metadata or {}
    parts = _number(usage.get("input_tokens")) + _number(usage.get("output_tokens"))
    return max(parts, _number(usage.get("total_tokens")))


def _number(value: Any) -> float:
    """A number that a provider reports; 0 for any other value."""
    return value if _is_amount(value) else 0
