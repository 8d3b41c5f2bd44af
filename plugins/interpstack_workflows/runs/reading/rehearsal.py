"""Rehearsals: a script runs with stand-ins for all answers, so that it shows what it would do.

Nothing that a script asks for is done: no agent is called, no command runs, nothing is stored.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from interpstack_javascript.cells import escape
from interpstack_javascript.parser.parsing import Node, walk
from interpstack_workflows.agents.answers import AnswerSchema, SchemaFault
from interpstack_workflows.errors import UnknownAgent, WorkflowModuleError
from interpstack_workflows.module.forms import parsed_tree, placed
from interpstack_workflows.runs.agent_names import agent_named
from interpstack_workflows.runs.failures import ScopeFailed, StepFailed, as_failed, described
from interpstack_workflows.runs.parts import RunParts
from interpstack_workflows.runs.reading.stand_ins import stand_in
from interpstack_workflows.runs.scopes.crossing import module_input
from interpstack_workflows.runs.scopes.identities import identity
from interpstack_workflows.runs.values import ScopePlace
from interpstack_workflows.runs.verbs.agent_options import AgentOptions, OptionFault
from interpstack_workflows.runs.verbs.children import child_place
from interpstack_workflows.runs.verbs.isolation import check_isolation, isolated_value
from interpstack_workflows.runs.verbs.wait_options import wait_seconds
from interpstack_workflows.runtime.boundary import (
    AgentRequest,
    AskRequest,
    CheckpointRequest,
    ExecRequest,
    FailedResolution,
    ModuleBudget,
    ModuleProgress,
    PhaseCall,
    Resolution,
    SleepRequest,
    UndefinedResolution,
    ValueResolution,
    ValueWithBudget,
    WaitRequest,
    WorkflowRequest,
)
from interpstack_workflows.runtime.runtime import ModuleExecution

__all__ = ["Rehearsal", "RehearsedStep", "ScriptFault", "rehearse"]

#: Bounds of one rehearsal: steps, workflows, seconds of computing, and seconds in all.
_STEPS: Final = 500
_SCOPES: Final = 50
_CPU_SECONDS: Final = 5.0
_SECONDS: Final = 20.0
_POLL_SECONDS: Final = 2.0
#: Faults that are listed, characters of each, and characters of the text that names a step.
_FAULTS: Final = 20
_FAULT_CHARS: Final = 500
_WHAT_CHARS: Final = 200
#: Tokens that a stand-in seems to use, so that loops over a budget end.
_TOKENS: Final = 1000
_DESCRIBING: Final = ("prompt", "ref", "question", "signal", "label", "profile", "durationMs")
#: What a run is given, and a rehearsal by `check` is not.
_GIVEN: Final = re.compile(r"\b(?:args|budget)\b")
#: A value in a source, if it is a simple literal.
_LITERAL: Final = (
    r"""(?:(?:(?P<text>'[^'\\\n]*'|"[^"\\\n]*")|(?P<word>true|false|null)"""
    r"""|(?P<number>-?\d+(?:\.\d+)?))\s*(?P<end>[,}]))?"""
)
#: Places of a name that are compared with a line.
_PLACES: Final = 100
#: The message about a name that a script does not have.
_UNDEFINED: Final = re.compile(r"'?([\w$]+)'? is not defined\b")
_PRODUCT: Final = {"patch": "", "base": "0" * 40, "files": []}
_OUTPUT: Final = {"exitCode": 0, "stdout": "", "stderr": "", "truncated": []}


@attrs.frozen(kw_only=True)
class RehearsedStep:
    """One step that a script would take.

    Attributes:
        kind: `agent`, `workflow`, `ask` and so on.
        what: The prompt, the name or another input by which a reader recognizes the step.
        workflow: The name of the workflow that takes it.
        agent: The agent that it would call.
        phase: Its phase.
    """

    kind: str
    what: str
    workflow: str
    agent: str | None = None
    phase: str | None = None


@attrs.frozen(kw_only=True)
class ScriptFault:
    """A fault of a script.

    Attributes:
        message: The fault, on one line.
        line: Number of its line, from 1; 0 if it is not known.
        column: Number of the character in that line, from 1; 0 if it is not known.
        name: The name of the error that a run would get, such as `UnknownAgent`; may be empty.
        source_name: The name of the script that has the line, which may be a child.
        computed: Whether the fault is about a name that the script computes, so that no line has
            it.
        certain: Whether it is an option that a run refuses, too: the script has it literally, or
            before any made-up answer and without a word about its arguments or its budget.
    """

    message: str
    line: int = 0
    column: int = 0
    name: str = ""
    source_name: str = ""
    computed: bool = False
    certain: bool = False


@attrs.frozen(kw_only=True)
class Rehearsal:
    """The path that a script takes when every answer is a stand-in.

    Attributes:
        steps: The steps, in order.
        phases: The phases that it entered, in order, each once.
        faults: Agents, workflows and options that are wrong.
        error: The error with which the script ended; it may come from a stand-in.
        ends: Whether the script came to its end.
        stopped: The limit at which the rehearsal was stopped; empty if it was not.
    """

    steps: Sequence[RehearsedStep] = ()
    phases: Sequence[str] = ()
    faults: Sequence[ScriptFault] = ()
    error: ScriptFault | None = None
    ends: bool = False
    stopped: str = ""


async def rehearse(parts: RunParts, place: ScopePlace, total: int | None = None) -> Rehearsal:
    """Run a script with stand-ins for all answers; takes at most about 20 seconds.

    Args:
        parts: Agents, workflows and profiles that the script may name.
        place: The root.
        total: Tokens of the run's budget.
    """
    run = _Rehearsing(parts, total)
    error, stopped, ends = None, "", False
    try:
        async with asyncio.timeout(_SECONDS):
            ends = await run.scope(place) is not None
    except TimeoutError:
        stopped = f"after {_SECONDS:g} seconds"
    except _Stopped as reached:
        stopped = str(reached)
    except ScopeFailed as failed:
        error = _fault(failed, place)
    return Rehearsal(
        steps=tuple(run.steps),
        phases=tuple(run.phases),
        faults=tuple(run.faults),
        error=error,
        ends=ends,
        stopped=stopped,
    )


class _Stopped(Exception):
    """A bound is reached."""


class _Rehearsing:
    def __init__(self, parts: RunParts, total: int | None) -> None:
        self._parts = parts
        self._budget = ModuleBudget(total, 0)
        self._seconds = 0.0
        self._scopes = 0
        self._answered = False
        self.steps: list[RehearsedStep] = []
        self.phases: dict[str, None] = {}
        self.faults: list[ScriptFault] = []

    async def scope(self, place: ScopePlace) -> ValueResolution:
        """Run one scope to its end.

        Raises:
            ScopeFailed: Its script failed, or stalled.
            _Stopped: A bound is reached.
        """
        self._scopes += 1
        if self._scopes > _SCOPES:
            raise _Stopped(f"after {_SCOPES} workflows")
        given = module_input(place, 0, self._budget.total, self._parts.modules)
        module = await self._parts.runtime.open_module(
            attrs.evolve(given, poll_seconds=_POLL_SECONDS)
        )
        try:
            return await self._drive(module, place)
        except WorkflowModuleError as error:
            raise ScopeFailed.of_module(error) from error
        finally:
            await module.aclose()

    async def _drive(self, module: ModuleExecution, place: ScopePlace) -> ValueResolution:
        now, answers = self._parts.clock(), list[tuple[str, Resolution]]()
        while True:
            self._answered = self._answered or bool(answers)
            progress = await module.advance(now, answers)
            self._note(progress)
            if progress.error is not None:
                raise progress.error
            if progress.complete is not None:
                for request in progress.requests:  # nobody awaits them, but they would begin
                    await self._answer(place, request)
                return ValueResolution(progress.complete.output.result)
            answers = [(one.id, await self._answer(place, one)) for one in progress.requests]
            if not answers:
                raise ScopeFailed("it awaits a promise that nothing can settle", "Stalled")

    def _note(self, progress: ModuleProgress) -> None:
        self._seconds += progress.cpu_seconds
        for call in progress.calls:
            if isinstance(call, PhaseCall) and len(self.phases) < _STEPS:
                self.phases.setdefault(call.name[:_WHAT_CHARS])
        if self._seconds > _CPU_SECONDS:
            raise _Stopped(f"after {_CPU_SECONDS:g} seconds of computing")

    async def _answer(self, place: ScopePlace, request: Any) -> Resolution:
        """Return the stand-in for the answer of a request, which is noted."""
        if len(self.steps) >= _STEPS:
            raise _Stopped(f"after {_STEPS} steps")
        match request:
            case AgentRequest():
                return await self._agent(place, request)
            case WorkflowRequest():
                self._step(place, request)
                return await self._child(place, request)
        self._step(place, request)
        match request:
            case SleepRequest():
                return UndefinedResolution()
            case CheckpointRequest(value=value):
                return ValueResolution(value)
            case ExecRequest(profile=profile):
                if profile not in self._parts.sandboxes:
                    known = ", ".join(sorted(self._parts.sandboxes)) or "none"
                    self._wrong(place, f"Unknown sandbox profile {profile!r}; known: {known}")
                return ValueResolution(_OUTPUT)
            case AskRequest(options=options) | WaitRequest(options=options):
                asks = isinstance(request, AskRequest)
                try:
                    wait_seconds("ask" if asks else "wait", options or {})
                except StepFailed as error:
                    self._wrong(place, str(error))
                return ValueResolution(_decided(options or {}, asks))
        raise TypeError(f"unknown request {type(request).__name__}")

    def _step(self, place: ScopePlace, request: Any, **fields: Any) -> None:
        kind, inputs, _ = identity(request)
        given = next((inputs[name] for name in _DESCRIBING if inputs.get(name) is not None), "")
        what = " ".join(str(given).split())[:_WHAT_CHARS]
        self.steps.append(RehearsedStep(kind=kind, what=what, workflow=place.names[-1], **fields))

    async def _agent(self, place: ScopePlace, request: AgentRequest) -> Resolution:
        given = request.options or {}
        schema, name = given.get("schema"), given.get("agentType")
        try:
            defaults = place.phase_defaults(given)
            options = AgentOptions.read(given, self._parts.models, defaults)
            if schema is not None:
                await AnswerSchema.read(schema)
            name, agent = agent_named(self._parts.agents, options.agent_type)
            if options.isolated:
                check_isolation(self._parts, name, agent)
        except UnknownAgent as error:
            self._wrong(place, str(error), str(name or ""), "UnknownAgent")
        except (OptionFault, SchemaFault) as error:
            self._refused(place, error, schema)
        except StepFailed as error:
            self._wrong(place, str(error), name=error.name)
        phase = given.get("phase")
        self._step(
            place,
            request,
            agent=name if isinstance(name, str) else None,
            phase=phase if isinstance(phase, str) else None,
        )
        self._budget = ModuleBudget(self._budget.total, self._budget.spent + _TOKENS)
        text = "stand-in for an answer"
        value = text if schema is None else stand_in(schema, text)
        if given.get("isolation") is not None:
            value = isolated_value(value, _PRODUCT)
        return ValueWithBudget(value, self._budget)

    async def _child(self, place: ScopePlace, request: WorkflowRequest) -> Resolution:
        step = f"step{len(self.steps)}"
        try:
            child = await child_place(self._parts, place, request, step, None)
        except StepFailed as error:
            ref = request.ref if isinstance(request.ref, str) else request.ref.path
            self._wrong(place, str(error), ref, error.name)
            return _failed(error)
        try:
            return await self.scope(child)
        except ScopeFailed as error:
            found = _fault(error, child)
            message = f"the workflow {child.names[-1]} failed: {found.message}"
            self._wrong(place, message, name=error.name)
            return _failed(error)

    def _refused(self, place: ScopePlace, error: OptionFault | SchemaFault, schema: Any) -> None:
        """Note an option that a run refuses, too, unless an answer or an argument is its cause."""
        source = place.script.source
        fault = (
            OptionFault(str(error), "schema", schema) if isinstance(error, SchemaFault) else error
        )
        line, column = _option_position(source, fault)
        self._note_fault(
            ScriptFault(
                message=_one_line(str(fault)),
                line=line,
                column=column,
                name=fault.name,
                source_name=place.script.source_name,
                certain=bool(line) or not (self._answered or _GIVEN.search(source)),
            )
        )

    def _wrong(self, place: ScopePlace, message: str, named: str = "", name: str = "") -> None:
        """Note a fault, at the place where the script names what is wrong."""
        line, column = _position(place.script.source, named)
        self._note_fault(
            ScriptFault(
                message=_one_line(message),
                line=line,
                column=column,
                name=name,
                source_name=place.script.source_name,
                computed=bool(named) and not line,
            )
        )

    def _note_fault(self, fault: ScriptFault) -> None:
        if fault not in self.faults and len(self.faults) < _FAULTS:
            self.faults.append(fault)


def _decided(options: Mapping[str, Any], is_question: bool) -> Any:
    """Return the stand-in for a person's answer, or for the value of a signal."""
    choices = options.get("choices")
    if isinstance(choices, list) and choices:
        return choices[0]
    return options.get("default", "stand-in for an answer" if is_question else None)


def _failed(error: BaseException) -> FailedResolution:
    return as_failed(described(error))


def _fault(error: ScopeFailed, place: ScopePlace) -> ScriptFault:
    """Return the error of a script, with the first place in it that its stack names."""
    name = re.escape(place.script.source_name)
    found = re.search(rf"{name}:(\d+)(?::(\d+))?", f"{error.stack}\n{error}")
    line, column = (int(found[1]), int(found[2] or 0)) if found else (0, 0)
    first = str(error).strip().partition("\n")[0]
    undefined = _UNDEFINED.match(first)
    if undefined is not None and error.name == "ReferenceError":
        line, column = _name_position(place, undefined[1], line) or (line, column)
    return ScriptFault(
        message=_one_line(f"{error.name}: {first}"),
        line=line,
        column=column,
        name=error.name,
        source_name=place.script.source_name,
    )


def _name_position(place: ScopePlace, name: str, line: int) -> tuple[int, int] | None:
    """Return the first place of a name that is not defined, unless it stands on the given line.

    QuickJS reports such a name at the call before it, or at the beginning of the function.
    """
    source, offsets, others = escape(place.script.source), list[int](), set[int]()

    def enter(node: Node) -> None:
        for field in ("property", "key", "label"):
            if isinstance(node.get(field), dict) and not node.get("computed"):
                others.add(id(node[field]))
        if node["type"] == "Identifier" and node.get("name") == name and id(node) not in others:
            offsets.append(node["start"])

    walk(parsed_tree(source, place.script.source_name)[0], enter)
    places = [placed(source, "", offset, "") for offset in sorted(offsets)[:_PLACES]]
    if not places or any(one.line == line for one in places):
        return None
    return places[0].line, places[0].column


def _one_line(text: str) -> str:
    shown = " ".join(text.split())
    return shown if len(shown) <= _FAULT_CHARS else shown[: _FAULT_CHARS - 1] + "…"


def _position(source: str, named: str) -> tuple[int, int]:
    """Line and column of a quoted name in a source, from 1; zeros if it is not there."""
    places = [source.find(f"{quote}{named}{quote}") for quote in "'\"`"] if named else []
    return _place_of(source, min((one for one in places if one >= 0), default=-1))


def _option_position(source: str, fault: OptionFault) -> tuple[int, int]:
    """Line and column of an option that a source gives literally, from 1; zeros if it does not."""
    option = re.escape(fault.option)
    for found in re.finditer(rf"""(?<![\w$.])['"]?{option}['"]?\s*:\s*{_LITERAL}""", source):
        if not fault.known or (found["end"] and _is_same(found, fault.value)):
            return _place_of(source, found.start())
    return 0, 0


def _is_same(literal: re.Match[str], value: Any) -> bool:
    """Return whether a literal of a source has a value."""
    if literal["text"] is not None:
        return bool(literal["text"][1:-1] == value)
    if literal["word"] is not None:
        return value is {"true": True, "false": False, "null": None}[literal["word"]]
    if literal["number"] is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return float(literal["number"]) == value


def _place_of(source: str, at: int) -> tuple[int, int]:
    """Line and column of an index, from 1; zeros if it is negative."""
    if at < 0:
        return 0, 0
    return source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at)
