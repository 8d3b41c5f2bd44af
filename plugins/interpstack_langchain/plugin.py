"""The hook implementations of this package; the middleware adds them to its stack itself."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from interpstack import HostOffer, InterpreterStack, Session, hookimpl
from interpstack_langchain.evals.eval_call import EvalCall
from interpstack_langchain.prompt import InterpreterPrompt, interpreter_section
from interpstack_langchain.rules.call_limits import LimitGuard
from interpstack_persistence.api import hookspecs

if TYPE_CHECKING:
    from interpstack_workflows.api import Agent


@hookimpl
def interpstack_add_hookspecs() -> ModuleType:
    return hookspecs  # the middleware asks for modes, whoever registers them


@hookimpl
def interpstack_open_cell(session: Session) -> LimitGuard | None:
    limits = session.host.limits if isinstance(session.host, EvalCall) else None
    return None if limits is None else LimitGuard(limits)


@hookimpl
def interpstack_prompt_section(stack: InterpreterStack, offer: HostOffer) -> str | None:
    shown = offer.part(InterpreterPrompt)
    if shown is None:
        return None
    return interpreter_section(shown.options, shown.lifetime, stack.language)


@hookimpl(optionalhook=True)  # where there are workflows
def interpstack_workflow_agent(target: Any, name: str) -> Agent | None:
    from interpstack_langchain.workflows.agents.langchain_agent import agent_of

    return agent_of(target, name)
