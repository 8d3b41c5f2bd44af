"""Bridges: host functions offered to the guest under dotted names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType, NoneType
from typing import Any, overload

import attrs

from interpstack.checks import Value, expect, is_async_function, shown, takes
from interpstack.contracts.errors import BridgeError, BridgeNameClash
from interpstack.contracts.languages import GuestLanguage
from interpstack.contracts.outcome import CellContext
from interpstack.contracts.protocol import MODULE, TIMER, GuestError
from interpstack.values.signatures import Signature

__all__ = [
    "Bridge",
    "BridgeRegistry",
    "BridgeSet",
    "GuestBridge",
    "GuestSource",
    "ValueExchange",
    "bridge",
]

#: Stands for a language that nobody knows.
_NEUTRAL = GuestLanguage(name="code")
#: Parts like `__this__` have a meaning of their own in languages.
_PART = r"(?!__[A-Za-z0-9_$]*__(?![A-Za-z0-9_$]))[A-Za-z_$][A-Za-z0-9_$]*"
_NAME = re.compile(rf"{_PART}(\.{_PART})*", re.ASCII)
_takes = partial(takes, of=lambda item: f"bridge {shown(item.name)}", error=BridgeError)
_flag = _takes("True or False", bool)
_text = _takes("a string", str)
_count = _takes(
    "a whole number above 0, or None for no limit of its own",
    fits=lambda value: value is None or (type(value) is int and value > 0),
)
_mapping = _takes("a mapping, or None", Mapping, NoneType)
_exceptions = _takes(
    "a tuple of exception classes",
    fits=lambda value: (
        isinstance(value, tuple)
        and all(isinstance(one, type) and issubclass(one, BaseException) for one in value)
    ),
)


@attrs.frozen(eq=False, kw_only=True, repr=False)
class GuestBridge(Value):
    """The part of a bridge that engines know: all of it crosses to a guest's process.

    Attributes:
        name: Dotted, as in `weather.today`; each part an identifier.
        awaited: False for a fire-and-forget call: the guest gets `undefined` at once.
        hidden: Guest code sees no name for it; only the kernel and guest sources call it.
        listed: Whether code that lists the names of its namespace finds this one.
        counted: Its requests count in `Limits.requests`.
        positional: Code passes arguments by position: the input is the list of them. Arguments by
            name, where a language has such, are a dictionary behind them. Needs `awaited` and
            `raw`.
        yields: A variable of the guest may have the name of the namespace, which it hides then, as
            it hides a built-in; of the bridges in one namespace, all or none. Otherwise, the name
            is reserved.
        declaration: The declaration of the function in the guest's language, under the last part of
            the name, for engines that check calls before they run; empty if unknown.
    """

    name: str
    awaited: bool = attrs.field(default=True, validator=_flag)
    hidden: bool = attrs.field(default=False, validator=_flag)
    listed: bool = attrs.field(default=True, validator=_flag)
    counted: bool = attrs.field(default=True, validator=_flag)
    positional: bool = attrs.field(default=False, validator=_flag)
    yields: bool = attrs.field(default=False, validator=_flag)
    declaration: str = attrs.field(default="", repr=False, validator=_text)


@attrs.frozen(eq=False, kw_only=True, repr=False)
class Bridge(GuestBridge):
    """One host function offered to the guest: the fields of `GuestBridge`, and the host's part.

    Attributes:
        handler: Called with the guest's decoded input: keyword arguments, or one positional
            value when `raw`. A parameter named `context` gets the `CellContext`.
        on_loop: Call the handler on the event loop, where it must not block; otherwise, in a
            worker thread. By default, coroutine functions are called on the loop.
        owner: Name of the plugin or host that offers the bridge, for messages.
        raw: Pass the input as it is instead of validating it against the annotations.
        concurrency: Requests to this bridge that may run at once; `None` for no limit of its own.
        budget: Requests one cell may make to this bridge; `None` for no limit of its own.
        passes: Exceptions that are the host's own business: raised by the handler, they end
            the cell and come out of `Session.eval`; the guest never sees them.
        repeats: Deliver a call again when its cell is replayed, unless its recorded answer is an
            error; for calls that only add to the outcome, as console output does.
        tool: Name of the tool behind the bridge, if it differs: budgets count under both names.
        dispatches: Each request runs a subagent.
        refuses: Returns, without a call, the error with which the handler would refuse an input;
            `None` if it may take it. Parts that only the run tells are `UNKNOWN`, and objects that
            may have more fields are `OpenFields`. By default, the annotations decide, and nothing
            when `raw`.
        answers: JSON Schema of the answers, for checks of code, where neither a declaration nor an
            annotation says that.

    Raises:
        BridgeError: A field is wrong, or the handler cannot be offered under this name.
    """

    handler: Callable[..., Any]
    on_loop: bool = attrs.field(validator=_flag)
    owner: str = attrs.field(default="host", validator=_text)
    raw: bool = attrs.field(default=False, validator=_flag)
    concurrency: int | None = attrs.field(default=None, validator=_count)
    budget: int | None = attrs.field(default=None, validator=_count)
    passes: tuple[type[BaseException], ...] = attrs.field(default=(), validator=_exceptions)
    repeats: bool = attrs.field(default=False, validator=_flag)
    tool: str = attrs.field(default="", validator=_text)
    dispatches: bool = attrs.field(default=False, validator=_flag)
    refuses: Callable[[Any], GuestError | None] | None = attrs.field(default=None, repr=False)
    answers: Mapping[str, Any] | None = attrs.field(default=None, repr=False, validator=_mapping)
    takes_context: bool = attrs.field(init=False, repr=False)
    signature: Signature | None = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        _check_name(self.name)
        if not callable(self.handler):
            raise BridgeError(
                f"bridge {self.name!r}: handler {shown(self.handler)} is not a function"
            )
        if self.positional and not (self.awaited and self.raw):
            raise BridgeError(f"bridge {self.name!r}: positional=True needs raw=True and an answer")
        signature = Signature.of(self.handler, self.name, "context", by_name=not self.raw)
        object.__setattr__(self, "takes_context", signature.skipped)
        object.__setattr__(self, "signature", None if self.raw else signature)

    @on_loop.default
    def _is_async(self) -> bool:
        return is_async_function(self.handler)

    def arguments(
        self, value: Any, language: GuestLanguage = _NEUTRAL
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments for the handler, from the guest's decoded input.

        Raises:
            TypeError: The input does not fit the handler's annotations.
        """
        if self.signature is None:
            return (value,), {}
        return (), self.signature.bind(value, language)

    def fault(self, value: Any, language: GuestLanguage = _NEUTRAL) -> GuestError | None:
        """The error that a call with this input ends with for certain; `None` if it may succeed.

        Args:
            value: The input as far as the code of a cell tells it, as `refuses` describes.
            language: Has the words for messages.
        """
        if self.refuses is not None:
            return self.refuses(value)
        text = "" if self.signature is None else self.signature.fault(value, language)
        return GuestError("TypeError", text) if text else None


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BridgeError(
            f"{name!r} is not a valid bridge name; use identifiers joined by dots, as in "
            "'weather.today'"
        )
    if name in (TIMER, MODULE):
        raise BridgeError(f"bridge name {name!r} is reserved; put it in a namespace")


@overload
def bridge(name: Callable[..., Any], /) -> Bridge: ...
@overload
def bridge(
    name: str | None = None,
    *,
    awaited: bool = True,
    concurrency: int | None = None,
    budget: int | None = None,
) -> Callable[[Callable[..., Any]], Bridge]: ...
def bridge(
    name: Any = None,
    *,
    awaited: bool = True,
    concurrency: int | None = None,
    budget: int | None = None,
) -> Any:
    """Turn a function into a bridge.

    ```python
    @bridge("weather.today")
    async def today(city: str, days: int = 1) -> dict: ...
    ```

    The guest calls `await weather.today({city: "Oslo"})`. Fields are checked against the
    annotations; the returned value or the raised error reaches the guest.

    Args:
        name: Dotted name; by default the function's own name.
        awaited: See `Bridge.awaited`.
        concurrency: See `Bridge.concurrency`.
        budget: See `Bridge.budget`.

    Raises:
        BridgeError: An argument is wrong, or the function cannot be offered under this name.
    """
    if isinstance(name, Bridge) or not (name is None or isinstance(name, str) or callable(name)):
        raise BridgeError(f"bridge takes a dotted name or a function; got {shown(name)}")

    def decorate(function: Callable[..., Any]) -> Bridge:
        if isinstance(function, Bridge) or not callable(function):
            raise BridgeError(f"bridge decorates a function; got {shown(function)}")
        named = function if hasattr(function, "__qualname__") else type(function)
        own = name if isinstance(name, str) else getattr(function, "__name__", None)
        if own is None:
            raise BridgeError(f"{shown(function)} has no name; pass one, as in @bridge('weather')")
        owner = f"{named.__module__}.{named.__qualname__}"
        return Bridge(
            name=own,
            handler=function,
            awaited=awaited,
            concurrency=concurrency,
            budget=budget,
            owner=owner,
        )

    return decorate(name) if callable(name) else decorate


@attrs.frozen(eq=False, repr=False)
class GuestSource(Value):
    """Code that an engine of `language` runs in every new realm, before any cell.

    For JavaScript the source is one function expression that gets the kernel's interface
    (see `docs/how-to/write-a-bridge.md`).
    """

    language: str
    name: str
    source: str = attrs.field(repr=False)
    owner: str = "host"


class ValueExchange:
    """Replaces values between code and handlers; registered with `BridgeRegistry.exchange`.

    Code can hold a `StandIn` for a value that stays with the host. An exchange makes them of
    answers, and puts the values in place of them when code passes them to a bridge. The record of
    a call has what code passed and received: a replay makes no call, and needs no exchange.

    Exceptions of a method are errors of the call, as if the handler had raised them.
    """

    async def given(self, bridge: Bridge, value: Any, context: CellContext) -> Any:
        """Return the input for a handler; effectively the input that code passed.

        Called for inputs that are not plain JSON, before they are compared with annotations. An
        exchange that replaces a part of an input says with `CellContext.show_input` what a person
        who decides about the call is shown in its place.

        Args:
            bridge: The bridge that is called.
            value: The decoded input; its parts must not be changed in place.
            context: The context of the call.
        """
        return value

    async def answered(self, bridge: Bridge, value: Any, context: CellContext) -> Any:
        """Return the answer for code; effectively the value that the handler returned.

        Args:
            bridge: The bridge that was called.
            value: The value, of any type that the handler may return.
            context: The context of the call.
        """
        return value


def _read_only(bridges: Mapping[str, Bridge]) -> Mapping[str, Bridge]:
    return MappingProxyType(dict(bridges))


@attrs.frozen(eq=False, repr=False)
class BridgeSet(Value):
    """Everything one session offers to its guest, fixed.

    Attributes:
        bridges: By dotted name, in order of registration.
        sources: Guest sources, in order of registration.
        error_names: See `HostOffer.error_names`.
        language: The guest's language; a neutral one if it is not known.
        exchanges: Replace values of calls, in order of registration; in answers, the last first.
    """

    bridges: Mapping[str, Bridge] = attrs.field(factory=dict, converter=_read_only)
    sources: tuple[GuestSource, ...] = ()
    error_names: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    language: GuestLanguage = _NEUTRAL
    exchanges: tuple[ValueExchange, ...] = ()

    def __iter__(self) -> Iterator[Bridge]:
        return iter(self.bridges.values())

    def get(self, name: str) -> Bridge | None:
        return self.bridges.get(name)

    def error_name(self, name: str) -> str:
        """The name under which code sees an error that the host or the engine names so."""
        return self.error_names.get(name, name)

    def sources_for(self, language: str) -> tuple[GuestSource, ...]:
        """The guest sources in one language."""
        return tuple(s for s in self.sources if s.language == language)


class BridgeRegistry:
    """Collects bridges and guest sources; passed to hooks as `register`."""

    def __init__(self, bridges: Iterable[Bridge] = (), language: GuestLanguage = _NEUTRAL) -> None:
        self._speaks = language
        self._bridges: dict[str, Bridge] = {}
        self._sources: dict[tuple[str, str], GuestSource] = {}
        self._exchanges: list[ValueExchange] = []
        for item in bridges:
            self.bridge(item)

    def bridge(self, item: Bridge, *, clobber: bool = False) -> None:
        """Offer a bridge.

        Args:
            item: The bridge, as `@bridge` makes it.
            clobber: Replace a bridge of the same name instead of refusing.

        Raises:
            BridgeNameClash: The name is taken, or lies inside or around another bridge's name.
            BridgeError: No code of the guest's language could call it by this name.
        """
        if not isinstance(item, Bridge):
            raise BridgeError(f"{shown(item)} is not a bridge; decorate the function with @bridge")
        fault = "" if item.hidden else self._speaks.name_fault(item.name)
        if fault:
            raise BridgeError(f"bridge {item.name!r} (from {item.owner}) cannot be used: {fault}")
        for other in self._bridges.values():
            short, long = sorted((item.name, other.name), key=len)
            if long.startswith(short + ".") or (long == short and not clobber):
                raise BridgeNameClash(item.name, other.name, (other.owner, item.owner))
        self._bridges[item.name] = item

    def source(self, item: GuestSource) -> None:
        """Run `item` in every new realm of its language.

        Raises:
            BridgeNameClash: A source of this name and language is there already.
        """
        expect(item, GuestSource, "register.source takes a GuestSource")
        if other := self._sources.get((item.language, item.name)):
            raise BridgeNameClash(item.name, item.name, (other.owner, item.owner))
        self._sources[item.language, item.name] = item

    def exchange(self, item: ValueExchange) -> None:
        """Let `item` replace values of the calls of all bridges, as it chooses."""
        expect(item, ValueExchange, "register.exchange takes a ValueExchange")
        self._exchanges.append(item)

    def freeze(
        self, error_names: Mapping[str, str] | None = None, *, declared: bool = True
    ) -> BridgeSet:
        """An immutable set of the bridges and sources registered so far.

        Args:
            error_names: See `HostOffer.error_names`.
            declared: Whether engines get the declarations by which they check calls.
        """
        sources, bridges = tuple(self._sources.values()), self._bridges
        if not declared:
            bridges = {
                name: attrs.evolve(one, declaration="") if one.declaration else one
                for name, one in bridges.items()
            }
        exchanges = tuple(self._exchanges)
        return BridgeSet(bridges, sources, error_names or {}, self._speaks, exchanges)
