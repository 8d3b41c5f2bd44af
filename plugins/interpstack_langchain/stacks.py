"""The stack of the middleware: its own, or a ready one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from interpstack import ConfigurationError, Engine, InterpreterStack
from interpstack_langchain import plugin
from interpstack_langchain.options import Options, WrongType

__all__ = ["StackArguments"]

#: Arguments that a ready stack has in its own way, and how they are called there.
_OF_STACK: Final = {
    "engine": "engine",
    "plugins": "plugins",
    "bridges": "bridges",
    "options": "options",
    "capture_console": "plugins=[…, 'console']",
}
_OF_LIMITS: Final = {
    "memory_limit": "memory_bytes",
    "timeout": "cpu_seconds",
    "wall_timeout": "wall_seconds",
    "max_ptc_calls": "requests",
    "max_result_chars": "result_chars",
    "console_chars": "console_chars",
    "value_bytes": "value_bytes",
    "timers": "timers",
    "concurrency": "concurrency",
}


@attrs.frozen(kw_only=True)
class StackArguments:
    """What the middleware was given to make its stack of.

    Attributes:
        stack: A ready stack.
        engine: Name of an installed engine, or an engine.
        plugins: More plugins, called after the preset's own.
        bridges: Functions of the host's own, offered in every eval.
        options: Keyword arguments for the engine's class.
    """

    stack: InterpreterStack | None
    engine: str | Engine
    plugins: Any
    bridges: Any
    options: Mapping[str, Any] | None

    def make(self, options: Options) -> InterpreterStack:
        """A stack of the preset's plugins.

        Raises:
            ConfigurationError: An argument is wrong.
            WrongType: `plugins` is no list.
        """
        if isinstance(self.plugins, (str, Mapping)) or not isinstance(self.plugins, Iterable):
            raise WrongType(
                f"plugins takes a list of plugin names and plugins; got {self.plugins!r}"
            )
        durable = ["durable"] if options.durable else []
        console = ["console"] if options.capture_console else []
        own = ["accounts", "persistence", *durable, *console, "ptc", "subagents", "skills"]
        added = list(self.plugins)
        for name in added:
            if isinstance(name, str) and name in ("langchain", *own):
                raise ConfigurationError(
                    f"plugins has {name!r}, which the middleware adds itself; leave it out"
                )
        return InterpreterStack(
            self.engine,
            [plugin, *own, *added],
            bridges=self.bridges,
            options=self.options,
            limits=options.limits(),
        )

    def adopt(
        self, stack: InterpreterStack, options: Options, *, skills: bool, budget: bool
    ) -> Options:
        """The options of a middleware that has a ready stack.

        Args:
            stack: The ready stack.
            options: Of the middleware's other arguments.
            skills: Whether the middleware was given a backend for skills.
            budget: Whether the middleware was given a budget.

        Raises:
            ConfigurationError: The stack lacks a plugin, or an argument is the stack's.
            WrongType: It is no stack.
        """
        if not isinstance(stack, InterpreterStack):
            raise WrongType(f"stack takes an InterpreterStack; got {stack!r:.60}")
        self._check_arguments(options)
        wanted = ["langchain", "persistence"]
        wanted += ["durable"] if options.durable else []
        wanted += ["accounts"] if budget else []
        wanted += ["ptc"] if options.ptc else []
        wanted += ["skills"] if skills else []
        names = {info.name for info in stack.describe()}
        missing = [name for name in wanted if name not in names]
        if missing:
            raise ConfigurationError(
                f"the stack lacks the plugin {missing[0]!r}, which these arguments need; "
                f"make it with plugins=[{', '.join(map(repr, wanted))}, …]"
            )
        limits = stack.limits
        given = {name: getattr(limits, own) for name, own in _OF_LIMITS.items()}
        if given["memory_limit"] is None:
            del given["memory_limit"]
        return attrs.evolve(options, **given, capture_console="console" in names)

    def _check_arguments(self, options: Options) -> None:
        """Refuse arguments that a ready stack would silently ignore."""
        defaults = Options()
        own = {"engine": "quickjs", "plugins": (), "bridges": (), "options": None}
        given = [name for name, default in own.items() if getattr(self, name) != default]
        names = (*_OF_LIMITS, "capture_console")
        given += [name for name in names if getattr(options, name) != getattr(defaults, name)]
        for name in given:
            place = _OF_STACK.get(name) or f"limits=Limits({_OF_LIMITS[name]}=…)"
            raise ConfigurationError(
                f"{name} belongs to the stack when stack= is given: InterpreterStack({place})"
            )
