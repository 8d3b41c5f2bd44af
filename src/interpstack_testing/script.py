"""Compiles and runs the fake engine's cells, and reports how they ended."""

from __future__ import annotations

import ast
import inspect
import traceback
from collections.abc import Awaitable, Mapping
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from interpstack.contracts.protocol import GuestError

__all__ = ["ScriptGlobals", "describe", "result_text", "run_script"]

#: Characters of an error's message that leave the guest.
_MESSAGE_CHARS = 2**16
#: Where a cell leaves the value of its last expression; no valid name, so no cell can use it.
_RESULT = "<result>"


class ScriptGlobals(dict[str, Any]):
    """A guest's globals; reading one that was not restored raises."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: dict[str, str] = {}

    def offer(self, names: dict[str, Any]) -> None:
        """Make these the builtins, for functions of earlier cells too."""
        offered = self.setdefault("__builtins__", {})
        offered.clear()
        offered.update(names)

    def own(self) -> Mapping[str, Any]:
        """The variables that cells have defined."""
        return {name: value for name, value in self.items() if name != "__builtins__"}

    def __missing__(self, name: str) -> Any:
        if name in self.lost:
            raise ReferenceError(f"Value for {name!r} was not restored because {self.lost[name]}.")
        raise KeyError(name)


async def run_script(source: str, name: str, namespace: ScriptGlobals) -> Any:
    """Run a cell; the value of its last expression, awaited if that is possible."""
    code = _compiled(source, name)
    try:
        running = FunctionType(code, namespace)()
        if inspect.iscoroutine(running):
            await running
        value = namespace.get(_RESULT)
    finally:
        namespace.pop(_RESULT, None)
    return await value if isinstance(value, Awaitable) else value


@lru_cache(maxsize=64)
def _compiled(source: str, name: str) -> CodeType:
    """The code of a cell, whose last expression is stored; cells that run again are common."""
    tree = _parsed(source, name)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        target = ast.Name(_RESULT, ast.Store())
        tree.body[-1] = ast.copy_location(ast.Assign([target], last.value), last)
        ast.fix_missing_locations(tree)
    code: CodeType = compile(tree, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    return code


def _parsed(source: str, name: str) -> ast.Module:
    for _ in range(10):
        try:
            return ast.parse(source, name)
        except SystemError:
            # CPython 3.11 miscounts its recursion when a collection runs code meanwhile.
            continue
    return ast.parse(source, name)


def result_text(value: Any, limit: int) -> tuple[str, int]:
    """A value as text of at most `limit` characters, and the number of omitted characters."""
    text = value if isinstance(value, str) else repr(value)
    return text[:limit], max(0, len(text) - limit)


def describe(error: BaseException, namespace: ScriptGlobals) -> GuestError:
    """An exception of the guest, with the lines of its cells and none of the host's."""
    try:
        message = str(error)[:_MESSAGE_CHARS]
    except Exception:  # noqa: BLE001 - a guest's own __str__ raises anything
        message = "<its message cannot be shown>"
    lines = [
        f"  at {frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_globals is namespace
    ]
    return GuestError(type(error).__name__, message, "\n".join(lines))
