"""The metadata of workflow modules, read before any code of them runs."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, Final

import attrs

from interpstack import (
    Bridge,
    BridgeSet,
    Cell,
    Engine,
    EngineFailure,
    GuestSource,
    InterpreterStack,
    Limits,
    Settlement,
    encode,
)
from interpstack_javascript import JAVASCRIPT
from interpstack_javascript.cells import TypeScriptError, strip_types
from interpstack_workflows.errors import MetadataError

__all__ = ["PhaseMetadata", "WorkflowMetadata", "read_metadata"]

_OWNER: Final = "interpstack_workflows"
_PARSER, _READING = (
    (files(_OWNER) / "module" / name).read_text("utf-8") for name in ("metadata.js", "reading.js")
)
_GUEST: Final = f"(kernel) => ({_READING.strip()})(kernel, ({_PARSER.strip()})())"
_TYPED: Final = (".ts", ".mts")
#: Seconds that parsing may take.
_SECONDS: Final = 5.0
_FIELDS: Final = ("name", "description", "whenToUse", "phases", "argsSchema")
_PHASE: Final = "{title, detail?, model?, provider?}, all strings"
#: Bytes of a source.
_MOST_BYTES: Final = 2**20
_INVALID: Final = "Workflow script must export valid literal metadata as `export const meta`"


@attrs.frozen(kw_only=True)
class PhaseMetadata:
    """A phase that a workflow announces.

    Attributes:
        title: The name of the phase, as the script passes it to `phase(title)`.
        detail: What happens in it.
        model: The model of its agents, unless a call names another.
        provider: The provider of its agents, unless a call names another.
    """

    title: str
    detail: str | None = None
    model: str | None = None
    provider: str | None = None


@attrs.frozen(kw_only=True)
class WorkflowMetadata:
    """The metadata of a workflow.

    Attributes:
        name: The name by which other workflows call it.
        description: What it does.
        when_to_use: When a model should choose it; `None` if it does not say.
        phases: Its phases, in order.
        args_schema: The JSON Schema of its arguments; `None` if it takes any.
        raw: All that the module exports as `meta`.
    """

    name: str
    description: str
    when_to_use: str | None = None
    phases: tuple[PhaseMetadata, ...] = ()
    args_schema: Mapping[str, Any] | None = None
    raw: Mapping[str, Any] = attrs.field(factory=dict, repr=False)


def read_metadata(source: str, *, name: str) -> WorkflowMetadata:
    """Read the metadata of a workflow module; blocks for some milliseconds.

    Args:
        source: The text of the module.
        name: The name of its file; `.ts` and `.mts` make it TypeScript.

    Raises:
        MetadataError: The module has no metadata, the metadata are not a literal, or a field is
            wrong. The message says what is accepted; the attributes of the error say where the
            fault is.
        EngineFailure: The parser cannot run on this machine.
    """
    if not isinstance(source, str) or len(source.encode("utf-8", "surrogatepass")) > _MOST_BYTES:
        raise MetadataError(f"{name}: a workflow is text of at most {_MOST_BYTES} bytes")
    if name.endswith(_TYPED):
        try:
            source = strip_types(source, name, _SECONDS)
        except TypeScriptError as error:
            line, column = (error.place.line, error.place.column) if error.place else (0, 0)
            place = f"{name}:{line}:{column}" if line else name
            fault = f"{place}: the module does not parse: {error.reason}"
            raise MetadataError(fault, line, column) from error
    found = _found(source)
    line, column = found["line"], found["column"]
    place = f"{name}:{line}:{column}" if line else name
    if "fault" in found:
        fault = _expected(source, name) or f"{_INVALID}: {found['fault']}"
        raise MetadataError(f"{place}: {fault}", line, column)
    try:
        return _metadata(found["value"])
    except ValueError as error:
        raise MetadataError(f"{place}: {_INVALID}: {error}", line, column) from error


def _metadata(raw: Mapping[str, Any]) -> WorkflowMetadata:
    for name in raw:
        near = get_close_matches(name, _FIELDS, 1, cutoff=0.7)
        if near and name not in _FIELDS:  # fields of other tools are none of our business
            raise ValueError(f"there is no field {name}; did you mean {near[0]}?")
    for field in ("name", "description"):
        _expect(isinstance(raw.get(field), str) and raw[field], field, "a string that is not empty")
    when, phases, schema = raw.get("whenToUse"), raw.get("phases", []), raw.get("argsSchema")
    _expect(when is None or isinstance(when, str), "whenToUse", "a string")
    _expect(isinstance(phases, list), "phases", f"an array of {_PHASE}")
    _expect(schema is None or isinstance(schema, dict), "argsSchema", "a JSON Schema, an object")
    return WorkflowMetadata(
        name=raw["name"],
        description=raw["description"],
        when_to_use=when,
        phases=tuple(_phase(each, number) for number, each in enumerate(phases)),
        args_schema=schema,
        raw=raw,
    )


def _phase(data: Any, number: int) -> PhaseMetadata:
    known = {field.name for field in attrs.fields(PhaseMetadata)}
    fits = isinstance(data, dict) and "title" in data and known.issuperset(data)
    _expect(
        fits and all(isinstance(text, str) for text in data.values()), f"phases[{number}]", _PHASE
    )
    return PhaseMetadata(**data)


def _expect(fits: Any, field: str, accepted: str) -> None:
    """Check a field.

    Raises:
        ValueError: It does not fit.
    """
    if not fits:
        raise ValueError(f"{field} takes {accepted}")


def _expected(source: str, name: str) -> str:
    """What a source that does not parse lacks; empty if it parses.

    The parser of types names what it expected, as in "Expected `,` or `)`", and the parser of
    metadata only what it found.
    """
    try:
        strip_types(source, name, _SECONDS)
    except TypeScriptError as error:
        reason = str(error).removeprefix(f"source parse error in {name}: ")
        return f"the module does not parse: {reason}"
    return ""


# -- the parser, in a realm of its own ----------------------------------------------------------


@cache
def _engine() -> Engine:
    return InterpreterStack("quickjs").engine


def _taken(value: Any) -> None:
    raise NotImplementedError("the parser's messages are taken from its polls")


@cache
def _bridges() -> BridgeSet:
    names = {"metadata.source": True, "metadata.read": False}
    bridges = {
        name: Bridge(
            name=name, handler=_taken, owner=_OWNER, raw=True, hidden=True, awaited=awaited
        )
        for name, awaited in names.items()
    }
    source = GuestSource(JAVASCRIPT.name, "interpstack:workflow-metadata", _GUEST, owner=_OWNER)
    return BridgeSet(bridges, (source,), {}, JAVASCRIPT)


def _found(source: str) -> Mapping[str, Any]:
    """The parser's report on a source; its time and memory are limited."""
    realm = _engine().open(Limits(), _bridges())
    try:
        realm.bind(_bridges())
        execution = realm.start(Cell(source="await $metadata()"))
        progress = execution.poll(time.time(), _SECONDS)
        for request in progress.requests:
            execution.settle([Settlement(request.id, json.dumps(encode(source)))])
        progress = execution.poll(time.time(), _SECONDS)
        for call in progress.calls:
            found: Mapping[str, Any] = json.loads(call.wire)
            return found
    finally:
        realm.close()
    if progress.exhausted:
        return _unread(f"it takes more than {_SECONDS:g} s to parse")
    error = progress.failure or (progress.completion and progress.completion.error)
    if error and error.name == "RangeError":
        return _unread("the module is nested too deeply")
    if error and error.name == "OutOfMemory":
        return _unread("the module takes too much memory to parse")
    raise EngineFailure(f"the parser of workflow metadata failed: {error and error.message}")


def _unread(fault: str) -> Mapping[str, Any]:
    return {"fault": fault, "line": 0, "column": 0}
