"""One eval with one tool call, from the making of its stack to its prompt: hooks in their order."""

from __future__ import annotations

from typing import Any

from interpstack import (
    Bridge,
    CellGuard,
    GuestLanguage,
    HostOffer,
    InterpreterStack,
    ModuleBundle,
    SessionState,
    SessionStorage,
)
from interpstack.contracts import hookspecs
from interpstack.contracts.bridges import MODULE
from interpstack_testing import FakeEngine
from interpstack_testing.fake import FakeExecution, FakeRealm

_HOOKS = [name for name in vars(hookspecs) if name.startswith("interpstack_")]


class _Realm(FakeRealm):
    """Offers `load(specifier)`, which asks the host for a module and gives its entry."""

    def bind(self, bridges: Any) -> None:
        super().bind(bridges)
        self.globals["__builtins__"]["load"] = self._load

    def _load(self, specifier: str) -> Any:
        assert isinstance(self.running, FakeExecution)
        return self.running.request(MODULE, specifier)


class _Engine(FakeEngine):
    name = "noting"

    def open(self, limits: Any, bridges: Any, image: Any = None) -> _Realm:
        _noted.append("the engine opens a realm")
        return _Realm(limits, bridges)


class _Storage(SessionStorage):
    async def enter(self, slot: Any) -> None:
        _noted.append("the storage fetches the state")

    async def leave(self, slot: Any, *, changed: bool) -> None:
        _noted.append(f"the storage saves the state: {changed}")

    async def sleep(self, slot: Any) -> None:
        _noted.append("the storage lets the session sleep")


class _Guard(CellGuard):
    def admit(self, bridge: Any, request: Any) -> None:
        _noted.append("the guard lets the request in")


_noted: list[str] = []


class _Noting:
    """A plugin with every hook there is, which notes that they are called."""

    def __init__(self, name: str, results: dict[str, Any]) -> None:
        self.name = name
        for hook in _HOOKS:
            setattr(self, hook, self._noting(hook.removeprefix("interpstack_"), results.get(hook)))

    def _noting(self, hook: str, result: Any) -> Any:
        def note() -> Any:
            _noted.append(f"{hook} of {self.name}")
            return self._wrapper(hook) if hook.startswith("wrap_") else result

        return hookspecs.hookimpl(note)

    def _wrapper(self, hook: str) -> Any:
        async def wrapper(call: Any) -> Any:
            _noted.append(f"{hook} of {self.name} begins")
            value = await call()
            _noted.append(f"{hook} of {self.name} ends")
            return value

        return wrapper


async def _answer() -> int:
    _noted.append("the tool is called")
    return 41


async def _load() -> ModuleBundle:
    return ModuleBundle("end.js", {"end.js": ""})


async def test_hooks_are_called_in_this_order() -> None:
    _noted.clear()
    results = {
        "interpstack_register_language": GuestLanguage(name="python"),
        "interpstack_prompt_section": "section",
        "interpstack_open_cell": _Guard(),
    }
    first = {**results, "interpstack_register_engine": _Engine}
    last = {
        **results,
        "interpstack_keep_state": _Storage(),
        "interpstack_resolve_module": _load,
        "interpstack_render_outcome": "rendered",
    }
    plugins = [_Noting("a", first), _Noting("b", last)]
    bridge = Bridge(name="tools.answer", handler=_answer)
    async with InterpreterStack("noting", plugins, bridges=[bridge]) as stack:
        _noted.append("the stack is made")
        async with stack.session("key") as session:
            outcome = await session.eval("await load('end')\nawait tools.answer() + 1")
            assert (outcome.error, outcome.text) == (None, "42")
            assert session.render(outcome) == "rendered"
            _noted.append("the block ends")
        await session.reset()
        await session.restore_state(SessionState(values={"x": 1}))
        await session.aclose()
        _noted.append("the session is closed")
        assert stack.language.name == "python"
        assert stack.prompt(HostOffer()) == "section\n\nsection"
    assert _noted == _ORDER.split("\n")[1:-1]


_ORDER = """
add_hookspecs of a
add_hookspecs of b
register_engine of a
register_engine of b
register_language of a
register_language of b
the stack is made
keep_state of a
keep_state of b
session_opened of a
session_opened of b
the storage fetches the state
wrap_eval of a
wrap_eval of b
wrap_eval of a begins
wrap_eval of b begins
transform_cell of a
transform_cell of b
open_cell of a
open_cell of b
register_bridges of a
register_bridges of b
the engine opens a realm
wrap_request of a
wrap_request of b
wrap_request of a begins
wrap_request of b begins
resolve_module of a
resolve_module of b
wrap_request of b ends
wrap_request of a ends
wrap_request of a
wrap_request of b
wrap_request of a begins
wrap_request of b begins
the guard lets the request in
the guard lets the request in
the tool is called
wrap_request of b ends
wrap_request of a ends
wrap_eval of b ends
wrap_eval of a ends
the storage saves the state: True
render_outcome of a
render_outcome of b
the block ends
the storage fetches the state
the storage saves the state: True
the storage fetches the state
the engine opens a realm
session_hibernation of a
session_hibernation of b
the storage saves the state: True
session_closing of a
session_closing of b
the storage lets the session sleep
the session is closed
register_language of a
register_language of b
prompt_section of a
prompt_section of b
"""


def test_the_order_has_every_hook() -> None:
    short = [hook.removeprefix("interpstack_") for hook in _HOOKS]
    assert [hook for hook in short if f"\n{hook} of a\n" in _ORDER] == short
