"""The stack of the middleware: its own, or a ready one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from interpstack import ConfigurationError, Engine, HostOffer, HostTool, InterpreterStack
from interpstack.checks import shown
from interpstack_agents import Preset
from interpstack_langchain.options import Options, WrongType
from interpstack_subagents.api import Subagents

__all__ = ["PRESET", "StackArguments"]

#: The plugins of the middleware, in the order in which they are called.
PRESET: Final = Preset(
    [
        "langchain",
        "accounts",
        "persistence",
        "durable",
        "console",
        "display",
        "ptc",
        "subagents",
        "skills",
        "files",
    ]
)

#: The engine where no other one is given.
_DEFAULT_ENGINE: Final = "quickjs"
#: Conversations that stay live in a stack of the middleware's own: as many turns may run at once
#: before one makes another conversation hibernate. One takes 1.6 MB with a small state. With other
#: engines, where one may take a process, as many stay live as in any other stack.
_LIVE: Final = 32

#: Arguments that a ready stack has in its own way, and how they are called there.
_OF_STACK: Final = {
    "engine": "engine",
    "plugins": "plugins",
    "preset": "plugins=[…]",
    "bridges": "bridges",
    "options": "options",
    "capture_console": "plugins=[…, 'console']",
    "unhandled": "unhandled",
    "check": "check",
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
    """The middleware's arguments for its stack.

    Attributes:
        stack: A ready stack.
        engine: Name of an installed engine, or an engine.
        preset: The plugins of the stack.
        plugins: More plugins, called after the plugins of the preset.
        bridges: Functions of the host's own, offered in every eval.
        mcp: Servers whose tools code may call.
        options: Keyword arguments for the engine's class.
    """

    stack: InterpreterStack | None
    engine: str | Engine
    preset: Preset
    plugins: Any
    bridges: Any
    mcp: Any
    options: Mapping[str, Any] | None

    def make(self, options: Options) -> InterpreterStack:
        """A stack of the preset's plugins, without the plugins that an option turns off.

        Raises:
            ConfigurationError: An argument is wrong.
            WrongType: `plugins` is not a list, or `preset` is not a preset.
        """
        if isinstance(self.plugins, (str, Mapping)) or not isinstance(self.plugins, Iterable):
            raise WrongType(
                f"plugins takes a list of plugin names and plugins; got {shown(self.plugins)}"
            )
        if not isinstance(self.preset, Preset):
            raise WrongType(
                "preset takes a Preset, such as interpstack_langchain.PRESET.without('skills'); "
                f"got {shown(self.preset)}"
            )
        added = list(self.plugins)
        for name in added:
            if isinstance(name, str) and name in self.preset:
                raise ConfigurationError(
                    f"plugins has {name!r}, which the middleware adds itself; leave it out"
                )
        named = {getattr(plugin, "name", plugin) for plugin in added}
        if "handles" in named and "handles" not in added:
            raise ConfigurationError(
                "plugins has a Handles, whose handles would not be stored with the conversation; "
                "pass it as handles=Handles(…)"
            )
        if self.mcp is not None and "mcp" not in named and "mcp" not in self.preset:
            added.append("mcp")
        if options.handles is not None and "handles" not in named and "handles" not in self.preset:
            added.append("handles")
        off = {"durable": not options.durable, "console": not options.capture_console}
        left = [role for role, is_off in off.items() if is_off and role in self.preset]
        live: dict[str, Any] = (
            {"max_live_sessions": _LIVE} if self.engine == _DEFAULT_ENGINE else {}
        )
        return InterpreterStack(
            self.engine,
            [*self.preset.without(*left).plugins, *added],
            bridges=self.bridges,
            options=self.options,
            limits=options.limits(),
            unhandled=options.unhandled,
            check=options.check,
            **live,
        )

    def settle(
        self, stack: InterpreterStack, options: Options, *, skills: bool, budget: bool
    ) -> Options:
        """The options as the preset's plugins fulfil them.

        Args:
            stack: The stack made of them.
            options: Options of the middleware.
            skills: Whether the middleware has a backend for skills.
            budget: Whether the middleware has a budget.

        Raises:
            ConfigurationError: An argument needs a plugin that the preset lacks.
        """
        needs = {
            "ptc": ("ptc", options.calls_tools),
            "skills": ("skills_backend", skills),
            "accounts": ("budget", budget),
            "files": ("files", options.asks_for_files),
        }
        for role, (argument, needed) in needs.items():
            if needed and role not in self.preset and not _serves(stack, role):
                raise ConfigurationError(
                    f"{argument} needs the plugin {role!r}, which the preset leaves out, or "
                    "another plugin that does the same"
                )
        return attrs.evolve(
            options,
            durable=options.durable and ("durable" in self.preset or _serves(stack, "durable")),
            capture_console=options.capture_console and "console" in self.preset,
            subagents=options.subagents and _serves(stack, "subagents"),
        )

    def adopt(
        self, stack: InterpreterStack, options: Options, *, skills: bool, budget: bool
    ) -> Options:
        """The options of a middleware that has a ready stack.

        Args:
            stack: The ready stack.
            options: The middleware's other arguments.
            skills: Whether the middleware has a backend for skills.
            budget: Whether the middleware has a budget.

        Raises:
            ConfigurationError: The stack lacks a plugin, or an argument is the stack's.
            WrongType: The object is not a stack.
        """
        if not isinstance(stack, InterpreterStack):
            raise WrongType(f"stack takes an InterpreterStack; got {shown(stack)}")
        self._check_arguments(options)
        wanted = ["langchain", "persistence"]
        wanted += ["durable"] if options.durable else []
        wanted += ["accounts"] if budget else []
        wanted += ["ptc"] if options.calls_tools else []
        wanted += ["skills"] if skills else []
        wanted += ["files"] if options.asks_for_files else []
        wanted += ["mcp"] if self.mcp is not None else []
        wanted += ["handles"] if options.handles is not None else []
        names = {info.name for info in stack.describe()}
        missing = [name for name in wanted if not _serves(stack, name)]
        if missing:
            raise ConfigurationError(
                f"the stack lacks the plugin {missing[0]!r}, which these arguments need; "
                f"make it with plugins=[{', '.join(map(repr, wanted))}, …]"
            )
        limits = stack.limits
        given = {name: getattr(limits, own) for name, own in _OF_LIMITS.items()}
        if given["memory_limit"] is None:
            del given["memory_limit"]
        return attrs.evolve(
            options,
            **given,
            capture_console="console" in names,
            subagents=options.subagents and _serves(stack, "subagents"),
        )

    def _check_arguments(self, options: Options) -> None:
        """Refuse arguments that a ready stack would silently ignore."""
        defaults = Options()
        own: dict[str, Any] = {
            "engine": _DEFAULT_ENGINE,
            "plugins": (),
            "bridges": (),
            "options": None,
        }
        own["preset"] = PRESET
        given = [name for name, default in own.items() if getattr(self, name) != default]
        names = (*_OF_LIMITS, "capture_console", "unhandled", "check")
        given += [name for name in names if getattr(options, name) != getattr(defaults, name)]
        for name in given:
            place = _OF_STACK.get(name) or f"limits=Limits({_OF_LIMITS[name]}=…)"
            raise ConfigurationError(
                f"{name} belongs to the stack when stack= is given: InterpreterStack({place})"
            )


#: Hooks that show that a plugin takes the place of a preset's plugin. Whether a plugin records
#: evals, or draws on budgets, does not show in its hooks.
_SERVING: Final = {
    "persistence": "interpstack_register_persistence",
    "skills": "interpstack_resolve_module",
}


def _serves(stack: InterpreterStack, role: str) -> bool:
    """Whether some plugin of a stack takes the place of the preset's plugin with this name."""
    plugins = stack.describe()
    if any(info.name == role for info in plugins):
        return True
    if role in _PROBES:
        probed, empty = stack.bridge_set(_PROBES[role]), stack.bridge_set(HostOffer())
        return len(probed.bridges) > len(empty.bridges)
    return any(_SERVING.get(role) in info.hooks for info in plugins)


async def _never(given: Any, context: Any) -> None:
    raise AssertionError("only whether it is offered is looked at")


#: Offers of which a plugin in the place of the preset's plugin makes bridges.
_PROBES: Final = {
    "ptc": HostOffer(tools=[HostTool(name="probe", call=_never)]),
    "subagents": HostOffer(parts=[Subagents(_never)]),
}
