"""The immutable composition of one engine and ordered plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from inspect import signature
from types import NoneType
from typing import Any, Literal

from attrs import evolve

from interpstack.cells.wrappers import Each
from interpstack.checks import expect, shown
from interpstack.contracts.bridges import Bridge, BridgeRegistry, BridgeSet
from interpstack.contracts.engine import Engine
from interpstack.contracts.errors import ConfigurationError
from interpstack.contracts.languages import GuestLanguage
from interpstack.contracts.limits import Limits
from interpstack.contracts.offer import HostOffer
from interpstack.plugins import PluginInfo, PluginManager, find_engine, find_language
from interpstack.sessions.pool import SessionPool
from interpstack.sessions.session import Session
from interpstack.sync import SyncToo
from interpstack.threads import run_guest

__all__ = ["InterpreterStack"]


class InterpreterStack(SyncToo):
    """One engine, its plugins in order, their options and limits; makes the sessions.

    Args:
        engine: Name of an installed engine, or an `Engine` of your own.
        plugins: Names of installed plugins, or objects with hook implementations, in the
            order in which they are to be called.
        bridges: Functions decorated with `@bridge`, offered in every session.
        limits: The limits of each cell.
        options: Keyword arguments for the engine's class.
        unawaited: The treatment of requests that are open when their cell ends: `finish` lets them
            finish before the answer, `cancel` cancels them.
        unhandled: The treatment of calls that fail, and of promises that are rejected, without that
            the code awaits or handles it: `tell` adds a notice and counts them, `raise` makes the
            first of them the error of the cell, `ignore` says nothing.
        check: What is checked before anything of a cell runs: `names` refuses calls of bridges that
            cannot succeed, such as unknown names and wrong literal arguments; `types` finds wrong
            types of values, too (extra `check`); `off` checks nothing.
        max_live_sessions: Sessions that stay live; beyond that, those idle longest hibernate to
            an image of their state, a few kilobytes for a small one.

    Raises:
        ConfigurationError: An argument is wrong; unknown names list the known ones.
    """

    def __init__(
        self,
        engine: str | Engine = "quickjs",
        plugins: Iterable[Any] = (),
        *,
        bridges: Iterable[Bridge] = (),
        limits: Limits | None = None,
        options: Mapping[str, Any] | None = None,
        unawaited: Literal["finish", "cancel"] = "finish",
        unhandled: Literal["tell", "raise", "ignore"] = "tell",
        check: Literal["names", "types", "off"] = "names",
        max_live_sessions: int = 8,
    ) -> None:
        for name, given in (("plugins", plugins), ("bridges", bridges)):
            if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
                raise ConfigurationError(f"{name} takes a list of {name}; got {shown(given)}")
        expect(options, (Mapping, NoneType), "options takes a mapping")
        expect(limits, (Limits, NoneType), "limits takes a Limits object")
        if unawaited not in ("finish", "cancel"):
            raise ConfigurationError(f"unawaited takes 'finish' or 'cancel'; got {unawaited!r}")
        if unhandled not in ("tell", "raise", "ignore"):
            raise ConfigurationError(
                f"unhandled takes 'tell', 'raise' or 'ignore'; got {shown(unhandled)}"
            )
        if check not in ("names", "types", "off"):
            raise ConfigurationError(f"check takes 'names', 'types' or 'off'; got {shown(check)}")
        if type(max_live_sessions) is not int or max_live_sessions < 1:
            raise ConfigurationError(
                f"max_live_sessions takes a whole number above 0; got {max_live_sessions!r}"
            )
        self.limits = limits or Limits()
        self.unawaited: str = unawaited
        self.unhandled: str = unhandled
        self.check: str = check
        self._manager = PluginManager(plugins)
        self._bridges = tuple(bridges)
        self.engine = self._make_engine(engine, dict(options or {}))
        self._own_language = self._checked(
            find_language(self.engine.runs, self._manager, more=False)
        )
        BridgeRegistry(self._bridges, self._own_language)  # wrong names of the host come out here
        self._each: dict[str, Each] = {}
        self._pool = SessionPool(self, max_live_sessions)
        self._bound: dict[int, tuple[HostOffer, BridgeSet]] = {}

    def _make_engine(self, engine: str | Engine, options: dict[str, Any]) -> Engine:
        if isinstance(engine, Engine):
            if options:
                raise ConfigurationError("options are for an engine given by name, not by object")
            return engine
        expect(engine, str, "engine takes a name or an Engine object")
        cls = find_engine(engine, self._manager)
        try:
            return cls(**options)
        except TypeError as error:
            known = signature(cls).parameters
            any_name = any(one.kind is one.VAR_KEYWORD for one in known.values())
            wrong = [repr(name) for name in options if not any_name and name not in known]
            raise ConfigurationError(
                f"engine {engine!r} does not take these options: {', '.join(wrong) or error}; "
                f"it has: {', '.join(known) or 'none'}"
            ) from error

    @cached_property
    def language(self) -> GuestLanguage:
        """The guest language of the engine; a neutral one where no plugin registers it."""
        return self._checked(find_language(self.engine.runs, self._manager))

    def _checked(self, language: GuestLanguage) -> GuestLanguage:
        """A language as the option `check` wants it: with declarations, for a check of types.

        Raises:
            ConfigurationError: There is no such check, or it is not installed.
        """
        if self.check != "types" or language.declares:
            return language
        if language.type_check is None:
            raise ConfigurationError(
                f"check='types' is not there for {language.title}; pass 'names' or 'off'"
            )
        language.type_check(BridgeSet(language=language))  # raises if it is not installed
        return _with_declarations(language)

    def each(self, hook: str) -> Each:
        """For each plugin that implements a hook, in order, its name and a caller of the hook."""
        if hook not in self._each:
            self._each[hook] = self._manager.each(hook)
        return self._each[hook]

    @property
    def hook(self) -> Any:
        """Calls the hooks of this stack's plugins."""
        return self._manager.hook

    def session(self, key: str | None = None) -> Session:
        """The session of this key: the same state for the same key, until it is closed.

        Use the session in a `with` or `async with` block; after the block, the pool may hibernate
        it. A session without a key is closed at the end of its block.
        """
        return self._pool.session(key)

    def bridge_set(self, offer: HostOffer) -> BridgeSet:
        """All bridges of an offer: the host's own, then the plugins'.

        Raises:
            BridgeNameClash: Two of them cannot stand side by side.
        """
        cached = self._bound.get(id(offer))
        if cached is not None and cached[0] is offer:
            return cached[1]
        registry = BridgeRegistry(self._bridges, self._own_language)
        for returned in self.hook.interpstack_register_bridges(
            register=registry, stack=self, offer=offer
        ):
            raise ConfigurationError(
                "interpstack_register_bridges returns nothing: pass each bridge to "
                f"register.bridge(…), and each guest source to register.source(…); a plugin "
                f"returned {shown(returned)}"
            )
        bridges = registry.freeze(offer.error_names, declared=self.check != "off")
        self._bound = {**dict(list(self._bound.items())[-15:]), id(offer): (offer, bridges)}
        return bridges

    def prompt(self, offer: HostOffer | None = None) -> str:
        """The plugins' sections for the system prompt, joined by blank lines."""
        sections = self.hook.interpstack_prompt_section(stack=self, offer=offer or HostOffer())
        for text in sections:
            expect(text, str, "interpstack_prompt_section returns text or None")
        return "\n\n".join(text for text in sections if text)

    def describe(self) -> tuple[PluginInfo, ...]:
        """The plugins of this stack with versions and hooks."""
        return self._manager.describe()

    async def aclose(self) -> None:
        """Close all sessions and the engine. Waits for running cells; closing twice is allowed."""
        await self._pool.aclose()
        # In a thread that is there already: a process that is full may get no other one.
        await run_guest(self.engine.close, lambda: None)


@lru_cache(maxsize=64)
def _with_declarations(language: GuestLanguage) -> GuestLanguage:
    """The language with declarations of tools; the same object each time."""
    return evolve(language, declares=True)
