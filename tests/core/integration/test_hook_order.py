"""One eval with one tool call, from the making of its stack to its prompt: hooks in their order."""

from __future__ import annotations

from typing import Any

from interpstack import Bridge, HostOffer, InterpreterStack, hookspecs
from interpstack.cells.guards import CellGuard
from interpstack_testing import FakeEngine

_HOOKS = [name for name in vars(hookspecs) if name.startswith("interpstack_")]


class _Engine(FakeEngine):
    name = "noting"

    def open(self, *args: Any, **kwargs: Any) -> Any:
        _noted.append("the engine opens a realm")
        return super().open(*args, **kwargs)


_RESULTS = {
    "interpstack_open_cell": CellGuard(),
    "interpstack_prompt_section": "section",
    "interpstack_register_engine": _Engine,
}
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
            return result

        return hookspecs.hookimpl(note)


async def _answer() -> int:
    _noted.append("the tool is called")
    return 41


async def test_hooks_are_called_in_this_order() -> None:
    _noted.clear()
    rest = {**_RESULTS, "interpstack_register_engine": None}
    plugins = [_Noting("a", _RESULTS), _Noting("b", rest)]
    bridge = Bridge(name="tools.answer", handler=_answer)
    async with InterpreterStack("noting", plugins, bridges=[bridge]) as stack:
        _noted.append("the stack is made")
        async with stack.session() as session:
            outcome = await session.eval("await tools.answer() + 1")
        assert (outcome.error, outcome.text) == (None, "42")
        _noted.append("the cell has ended")
        assert stack.prompt(HostOffer()) == "section\n\nsection"
    assert _noted == [
        "add_hookspecs of a",
        "add_hookspecs of b",
        "register_engine of a",
        "register_engine of b",
        "the stack is made",
        "open_cell of a",
        "open_cell of b",
        "register_bridges of a",
        "register_bridges of b",
        "the engine opens a realm",
        "the tool is called",
        "the cell has ended",
        "prompt_section of a",
        "prompt_section of b",
    ]
