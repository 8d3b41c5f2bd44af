"""Offers of the host: the agent's tools of the moment, and typed parts for single plugins.

An adapter makes a `HostOffer`; plugins make bridges and prompt text of it. So an adapter need not
know how a plugin shows tools to guest code, and a plugin need not know the agent framework.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

import attrs

from interpstack.checks import Value, expect, shown, takes
from interpstack.contracts.errors import ConfigurationError
from interpstack.contracts.outcome import CellContext

__all__ = ["HostOffer", "HostTool", "LearnedSchema"]

_P = TypeVar("_P")
_text = takes("a string", str, of=lambda tool: "a HostTool", error=ConfigurationError)
_schema = takes("a mapping", Mapping, of=lambda tool: "a HostTool", error=ConfigurationError)


def _is_learned(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    expect(value, (LearnedSchema, type(None)), "learned of a HostTool takes a LearnedSchema")


@attrs.frozen(eq=False, kw_only=True, repr=False)
class LearnedSchema(Value):
    """What earlier answers of a tool were like: evidence of the next one, not a promise.

    Signatures show it to models and people. Nothing may refuse code by it.

    Attributes:
        schema: JSON Schema of the answers.
        seen: How many answers it was made of; 0 if that is not known.
        partial: Whether objects have more fields than it names.
    """

    schema: Mapping[str, Any] = attrs.field(
        validator=takes(
            "a mapping", Mapping, of=lambda one: "a LearnedSchema", error=ConfigurationError
        )
    )
    seen: int = attrs.field(
        default=0,
        validator=takes(
            "a whole number",
            fits=lambda value: type(value) is int and value >= 0,
            of=lambda one: "a LearnedSchema",
            error=ConfigurationError,
        ),
    )

    partial: bool = attrs.field(
        default=False,
        validator=takes(
            "True or False", bool, of=lambda one: "a LearnedSchema", error=ConfigurationError
        ),
    )

    @property
    def note(self) -> str:
        """How often the answers were seen, for a comment; empty if that is not known."""
        times = "once" if self.seen == 1 else f"{self.seen} times"
        more = "there are more fields" if self.partial else ""
        return ", ".join(part for part in (f"seen {times}" if self.seen else "", more) if part)


@attrs.frozen(eq=False, kw_only=True, repr=False)
class HostTool(Value):
    """A tool of the host, independent of any agent framework.

    Attributes:
        name: The tool's own name, as in `web_search`.
        description: One or more sentences.
        input_schema: JSON Schema of the input object.
        output_schema: JSON Schema of the returned value; `None` if unknown.
        learned: What earlier answers were like, where `output_schema` says nothing; `None` if
            unknown.
        call: Takes the guest's decoded input and the `CellContext`; returns a value the codec
            knows, or raises an exception, which the guest can catch.
        passes: See `Bridge.passes`.
        concurrency: See `Bridge.concurrency`.
        budget: See `Bridge.budget`.
        refuses: Says, without a call, why the tool would refuse an input; an empty text if it may
            take it. Gets the fields whose values are known, and the names of the others. `None`
            for a tool that only its schema tells of.
    """

    name: str = attrs.field(validator=_text)
    call: Callable[[dict[str, Any], CellContext], Awaitable[Any]]
    description: str = attrs.field(default="", validator=_text)
    input_schema: Mapping[str, Any] = attrs.field(factory=dict, validator=_schema)
    output_schema: Mapping[str, Any] | None = None
    learned: LearnedSchema | None = attrs.field(default=None, validator=_is_learned)
    passes: tuple[type[BaseException], ...] = ()
    concurrency: int | None = None
    budget: int | None = None
    refuses: Callable[[Mapping[str, Any], Collection[str]], str] | None = None

    @property
    def declared(self) -> HostTool:
        """The tool with what it declares alone, for those that refuse code by it."""
        return self if self.learned is None else attrs.evolve(self, learned=None)


def _as_tools(tools: Iterable[HostTool]) -> tuple[HostTool, ...]:
    expect(tools, Iterable, "tools takes a list of HostTools")
    given = tuple(tools)
    for tool in given:
        expect(tool, HostTool, "the tools of a HostOffer are HostTools")
    return given


def _as_parts(parts: Iterable[object]) -> tuple[object, ...]:
    if isinstance(parts, (str, bytes, Mapping)) or not isinstance(parts, Iterable):
        raise ConfigurationError(f"parts takes a list of plugins' parts; got {shown(parts)}")
    given = tuple(parts)
    kinds = [type(part) for part in given]
    for part, cls in zip(given, kinds, strict=True):
        if cls.__module__ == "builtins":
            raise ConfigurationError(
                "the parts of a HostOffer are objects of classes that plugins declare, such as "
                f"interpstack_skills.api.Skills; got {shown(part)}"
            )
        if kinds.count(cls) > 1:
            raise ConfigurationError(f"a HostOffer has two parts of class {cls.__name__}; pass one")
    return given


@attrs.frozen(eq=False, kw_only=True, repr=False)
class HostOffer(Value):
    """Everything that the host currently offers to guest code.

    A session offers the same until another offer is bound to it with `Session.bind`. Binding the
    same object again costs nothing; a new object makes the plugins register anew.

    Attributes:
        tools: Tools that guests may call.
        code_tool: Name of the tool to which the model passes code, for prompt sections.
        parts: Objects for single plugins, at most one of each class. A plugin declares the class
            of its part in its module `api`, and reads the part with `part`.
        error_names: Other names under which code sees errors of the host, by the usual name, as
            `{"ModuleNotFound": "SkillNotAvailable"}`.
    """

    tools: tuple[HostTool, ...] = attrs.field(default=(), converter=_as_tools)
    code_tool: str = attrs.field(default="eval", validator=attrs.validators.instance_of(str))
    parts: tuple[object, ...] = attrs.field(default=(), converter=_as_parts)
    error_names: Mapping[str, str] = attrs.field(factory=dict, hash=False)

    def part(self, kind: type[_P]) -> _P | None:
        """The part of this class; `None` if the host passed none."""
        return next((part for part in self.parts if isinstance(part, kind)), None)
