"""`JsReplMiddleware`: a persistent JavaScript REPL for an agent, in one import."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from typing import Any, Final, Unpack

from langchain_core.language_models import BaseChatModel

from interpstack import ConfigurationError, Engine, InterpreterStack
from interpstack_agents import Preset
from interpstack_javascript import JAVASCRIPT
from interpstack_js_repl.arguments import (
    InterpreterArguments,
    check_others,
    check_ready,
)
from interpstack_js_repl.freeform import takes_custom_tools
from interpstack_js_repl.guest_global import HelperPaths
from interpstack_js_repl.plugin import JsReplPlugin
from interpstack_js_repl.tools import JsReplSurface
from interpstack_langchain.api import PRESET, CodeInterpreterMiddleware, Surface, WrongType

__all__ = ["JsReplMiddleware"]

_MOST_SECONDS: Final = 10**9
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)


class JsReplMiddleware(CodeInterpreterMiddleware):
    """Middleware that gives an agent the tools `js_repl` and `js_repl_reset`.

    Code runs in Node, keeps its variables from cell to cell, and calls the agent's tools with
    `codex.tool(name, input)`.

    ```python
    agent = create_agent(model, tools=[search], middleware=[JsReplMiddleware()])
    ```

    Args:
        namespace: Name of the global that has the helpers.
        cell_seconds: Seconds that a cell may take, waiting included, if its input names no
            `timeout_ms`. `wall_timeout` is the most that an input may name.
        freeform: Whether the model gets `js_repl` as a custom tool, whose input is raw text; `None`
            for models that are known to take custom tools, which are newer ones of OpenAI.
        cwd: The working directory that code sees as `codex.cwd`, by default that of the process;
            it is only text, and the empty string hides it.
        home_dir: The same for `codex.homeDir`, by default `HOME`.
        tmp_dir: The same for `codex.tmpDir`, by default the directory for temporary files.
        engine: Name of an installed engine whose language is JavaScript, or such an engine.
        preset: See `CodeInterpreterMiddleware`; the helpers take the place of `ptc` in it.
        tool_name: Name of the tool that runs code; the other tool has this name with `_reset`.
        timeout: Seconds that a cell may compute; `None` for no limit besides `cell_seconds`.
        stack: A ready stack with the plugin `JsReplMiddleware.plugin()`, in place of one made from
            the arguments that it covers: the engine, plugins, bridges, limits and paths.
        others: All other arguments of `CodeInterpreterMiddleware`. Without `ptc`, code may call all
            tools of the agent.

    Raises:
        ConfigurationError: An argument has a wrong value; it is also a `ValueError`.
        BridgeError: The global belongs to another plugin.
        TypeError: An argument is of a wrong type, or unknown.
    """

    def __init__(
        self,
        *,
        namespace: str = "codex",
        cell_seconds: float = 30.0,
        freeform: bool | None = None,
        cwd: str | None = None,
        home_dir: str | None = None,
        tmp_dir: str | None = None,
        engine: str | Engine = "node",
        preset: Preset = PRESET,
        tool_name: str = "js_repl",
        timeout: float | None = None,
        stack: InterpreterStack | None = None,
        **others: Unpack[InterpreterArguments],
    ) -> None:
        usual = JsReplMiddleware.__init__.__kwdefaults__ or {}
        _check(namespace, cell_seconds, freeform)
        check_others(others, usual)
        self._repl = JsReplSurface(tool_name, namespace, cell_seconds, _chooser(freeform))
        if stack is None:
            plugin = self.plugin(namespace=namespace, cwd=cwd, home_dir=home_dir, tmp_dir=tmp_dir)
            if isinstance(preset, Preset):
                preset = preset.replace("ptc", plugin)
            made: dict[str, Any] = {"engine": engine, "preset": preset, "timeout": timeout}
        else:
            given = {"engine": engine, "preset": preset, "timeout": timeout}
            given |= {"cwd": cwd, "home_dir": home_dir, "tmp_dir": tmp_dir}
            check_ready(stack, namespace, given, usual)
            made = {"stack": stack}
        super().__init__(tool_name=tool_name, **made, **others)
        language = self.stack.engine.language
        if language != JAVASCRIPT.name:
            self.close()
            raise ConfigurationError(
                f"JsReplMiddleware needs an engine for JavaScript, such as 'node', 'v8' or "
                f"'quickjs'; the language of {self.stack.engine.name!r} is {language!r}"
            )

    @staticmethod
    def plugin(
        *,
        namespace: str = "codex",
        cwd: str | None = None,
        home_dir: str | None = None,
        tmp_dir: str | None = None,
    ) -> JsReplPlugin:
        """The plugin with the helpers, for a stack of your own.

        Args:
            namespace: Name of the global that has the helpers.
            cwd: See `JsReplMiddleware`.
            home_dir: See `JsReplMiddleware`.
            tmp_dir: See `JsReplMiddleware`.

        Raises:
            ConfigurationError: Code cannot use this name.
            TypeError: An argument is of a wrong type.
        """
        _check_namespace(namespace)
        paths = HelperPaths(
            cwd=_path("cwd", cwd, os.getcwd),
            home=_path("home_dir", home_dir, lambda: os.environ.get("HOME", "")),
            tmp=_path("tmp_dir", tmp_dir, tempfile.gettempdir),
        )
        return JsReplPlugin(namespace=namespace, paths=paths)

    def surface(self, tool_name: str) -> Surface:
        return self._repl


def _check(namespace: Any, cell_seconds: Any, freeform: Any) -> None:
    """Refuse wrong arguments.

    Raises:
        ConfigurationError: A value is wrong.
        WrongType: A type is wrong.
    """
    _check_namespace(namespace)
    if isinstance(cell_seconds, bool) or not isinstance(cell_seconds, int | float):
        raise WrongType(f"cell_seconds takes a number; got {cell_seconds!r:.60}")
    if not 0 < cell_seconds <= _MOST_SECONDS:
        raise ConfigurationError(
            f"cell_seconds takes a number above 0, at most {_MOST_SECONDS}; got "
            f"{cell_seconds!r:.60}"
        )
    if freeform is not None and not isinstance(freeform, bool):
        raise WrongType(f"freeform takes True, False or None; got {freeform!r:.60}")


def _check_namespace(namespace: Any) -> None:
    if not isinstance(namespace, str):
        raise WrongType(f"namespace takes a string; got {namespace!r:.60}")
    if not _IDENTIFIER.fullmatch(namespace):
        raise ConfigurationError(
            f"namespace takes the name of a global, an identifier; got {namespace!r:.60}"
        )
    if fault := JAVASCRIPT.name_fault(f"{namespace}.tool"):
        raise ConfigurationError(f"namespace={namespace!r:.60}: {fault}")


def _path(argument: str, value: Any, usual: Callable[[], str]) -> str | None:
    if value is not None and not isinstance(value, str):
        raise WrongType(f"{argument} takes a string or None; got {value!r:.60}")
    return (usual() if value is None else value) or None


def _chooser(freeform: bool | None) -> Callable[[BaseChatModel], bool]:
    return takes_custom_tools if freeform is None else lambda model: freeform
