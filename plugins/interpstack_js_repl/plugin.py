"""The plugin of the preset: helpers, time limits, and refusals of calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Self

import attrs

from interpstack import (
    BridgeRegistry,
    Cell,
    CellGuard,
    GuestException,
    HostOffer,
    InterpreterStack,
    Outcome,
    Request,
    Session,
    Settlement,
    hookimpl,
)
from interpstack.checks import listed
from interpstack_js_repl.emitted import judged
from interpstack_js_repl.guest_global import HelperPaths, helper_bridges, helper_source
from interpstack_js_repl.names import spoken, tool_name
from interpstack_js_repl.prompt import JsReplShown, js_repl_section
from interpstack_js_repl.time_limit import TimeLimit
from interpstack_langchain.api import EvalCall

__all__ = ["HELPERS_RECORD", "JsReplPlugin"]

#: Key of the plugin's record in the first entry of a journal.
HELPERS_RECORD: Final = "js_repl"

#: Names of tools that a refusal lists at most.
_LISTED = 30


@attrs.frozen(kw_only=True)
class JsReplPlugin:
    """The helpers on one global of the guest, in the place of the preset's `ptc`.

    Attributes:
        namespace: Name of the global.
        paths: Paths of the host that code sees.
        own: Names of the interpreter's own tools, where the offer of a session does not say them.
    """

    namespace: str
    paths: HelperPaths
    own: tuple[str, ...] = ("js_repl", "js_repl_reset")
    name = "js_repl"

    @classmethod
    def recorded(cls, record: Mapping[str, Any]) -> Self:
        """The plugin that a journal describes, with the usual name of the global by default."""
        texts = {name: record.get(name) for name in ("cwd", "home", "tmp")}
        paths = {name: None if text is None else str(text) for name, text in texts.items()}
        return cls(
            namespace=str(record.get("namespace", "codex")),
            own=tuple(map(str, record["own"])),
            paths=HelperPaths(**paths),
        )

    @property
    def record(self) -> dict[str, Any]:
        """A description of the plugin, as JSON, for a replay of the cells without an agent."""
        paths = attrs.asdict(self.paths)
        return {"namespace": self.namespace, "own": list(self.own), **paths}

    @hookimpl
    def interpstack_register_bridges(
        self, register: BridgeRegistry, stack: InterpreterStack, offer: HostOffer
    ) -> None:
        register.source(helper_source(self.namespace, self.paths))
        for bridge in helper_bridges(self.namespace, offer.tools):
            register.bridge(bridge)

    @hookimpl
    def interpstack_prompt_section(self, stack: InterpreterStack, offer: HostOffer) -> str | None:
        shown = offer.part(JsReplShown)
        return None if shown is None else js_repl_section(shown, stack.language, offer)

    @hookimpl
    def interpstack_open_cell(self, session: Session, cell: Cell) -> CellGuard | None:
        running = session.host
        if not isinstance(running, EvalCall):
            return None
        own = self._own(session.offer)
        running.describe({HELPERS_RECORD: attrs.evolve(self, own=own).record})
        if running.wall_seconds is None:
            return None
        return TimeLimit(running.wall_seconds, own[0])

    @hookimpl
    def interpstack_wrap_request(self, session: Session, request: Request) -> Any:
        root, _, part = request.bridge.partition(".")
        name = tool_name(part) if root == self.namespace else None
        if name is None or any(tool.name == name for tool in session.offer.tools):
            return None
        refusal = self._refusal(name, session.offer)

        async def refuse(make: Callable[[], Awaitable[Settlement]]) -> Settlement:
            raise GuestException(refusal, name="Error", tool=name)

        return refuse

    @hookimpl
    def interpstack_wrap_eval(self, session: Session, cell: Cell) -> Any:
        async def judge(make: Callable[[], Awaitable[Outcome]]) -> Outcome:
            return _spoken(judged(await make()), self.namespace)

        return judge

    def _own(self, offer: HostOffer) -> tuple[str, ...]:
        """Names of the interpreter's own tools."""
        shown = offer.part(JsReplShown)
        return self.own if shown is None else (shown.options.tool_name, shown.reset)

    def _refusal(self, name: str, offer: HostOffer) -> str:
        """The reason why code cannot call a tool of this name."""
        own = self._own(offer)
        if name in own:
            return f"{own[0]} cannot invoke itself"
        if name == "task":
            return "unsupported call: task; subagents have a function of their own, task({…})"
        names = [tool.name for tool in offer.tools]
        known = listed(names, _LISTED) or "none"
        return f"unsupported call: {name}; tools that code can call: {known}"


def _spoken(outcome: Outcome, namespace: str) -> Outcome:
    """An outcome whose error names calls as code writes them, where the host has named them."""
    error = outcome.error
    if error is None:
        return outcome
    if outcome.stopped:  # the message is the host's own
        error = attrs.evolve(error, message=spoken(error.message, namespace))
    if isinstance(error.data.get("tool"), str):
        tool = spoken(error.data["tool"], namespace)
        error = attrs.evolve(error, data={**error.data, "tool": tool})
    return attrs.evolve(outcome, error=error)
