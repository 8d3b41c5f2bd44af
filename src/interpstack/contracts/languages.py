"""Descriptions of guest languages, for prompts, tool names, signatures and editors.

An engine's plugin registers its language with `interpstack_register_language`. Engines with an
unregistered language use the neutral texts below, never those of another language.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import attrs

from interpstack.checks import Value
from interpstack.contracts.offer import HostTool
from interpstack.values.decoding import UNDEFINED, ErrorValue, MapValue, SetValue

__all__ = ["EditorRules", "GuestLanguage", "PromptWords"]

#: Values of guests that JSON does not have.
_WORDS: Final[Sequence[tuple[type, str]]] = (
    (MapValue, "map"),
    (SetValue, "set"),
    (ErrorValue, "error"),
    (bytes, "bytes"),
    (datetime, "date"),
)


@attrs.frozen(eq=False, kw_only=True, repr=False)
class PromptWords(Value):
    """Sentences and words that plugins put into their prompts; empty ones are omitted.

    Attributes:
        cells: Sentences on special features of cells, as `Top-level await works.`
        modules: Word for code that can be imported, as `packages`.
        arguments: The arguments of a call, as `one object`.
        calling: Sentence on how code passes arguments to functions of the host.
        waiting: Code that waits for `{call}`, a call.
        asking: Code that calls `{function}` with one `{text}`, without waiting.
        together: Sentence on how to run independent calls at the same time.
        failing: Sentence on how a failed call shows in code.
        each: Code that calls `{function}` once per item, and waits for all.
        job_failing: How code sees a failed subagent, and how it continues without the answer.
        mapping: Words for a value with named fields, as `a dictionary`.
        importing: Code that imports a module; `{specifier}` stands for its name.
        printing: The functions that print, and a verb, as `print prints`.
        unknown: The type of what may be anything in signatures, as `unknown`.
    """

    cells: str = ""
    modules: str = "modules"
    arguments: str = "named arguments"
    calling: str = "Arguments go by name; the answer comes later: wait for it as the language does."
    waiting: str = "{call}"
    asking: str = ""
    together: str = ""
    failing: str = "A failed call is an error in the code, which can handle it and go on."
    each: str = ""
    job_failing: str = "A failed subagent is an error in the code, which can handle it and go on."
    mapping: str = "a value with named fields"
    importing: str = ""
    printing: str = ""
    unknown: str = ""


@attrs.frozen(eq=False, kw_only=True, repr=False)
class EditorRules(Value):
    """Rules of a language for an editor of single cells.

    Attributes:
        follower: Makes an object that follows a chunk line by line: `feed(lines)` takes lines,
            `closed` tells whether they need no further one, `ends_before(line)` whether a line
            begins another chunk. `None`: each line is a whole.
        whole: When a chunk is complete, as in `once its brackets are closed`.
        words: Words to complete.
        joined: Puts the sources of cells together, so that one cell does what they did in turn;
            `None`: a line after the other.
        indent: One step of indentation.
        openers: Ends of lines after which the next line is indented.
        leavers: First words of lines that end a block.
        quiet: Whether a prompt shows nothing for a statement without a value.
    """

    follower: Callable[[], Any] | None = None
    whole: str = "at the end of the line"
    words: tuple[str, ...] = ()
    joined: Callable[[Sequence[str]], str] | None = None
    indent: str = "  "
    openers: tuple[str, ...] = ("(", "[", "{")
    leavers: tuple[str, ...] = ()
    quiet: bool = False


def _word(value: Any) -> str:
    """A word for a value of a guest that JSON does not have; empty for any other value."""
    if value is UNDEFINED:
        return "undefined"
    return next((word for kind, word in _WORDS if isinstance(value, kind)), "")


@attrs.frozen(eq=False, kw_only=True, repr=False)
class GuestLanguage(Value):
    """One guest language. Languages subclass it, and override the methods.

    Attributes:
        name: As in `Engine.language`; also the name of its lexer in Pygments.
        title: The name for the model and people; by default `name`.
        aliases: Other names that people may type.
        endings: Endings of its files, with the dot; saved files get the first.
        fences: More words for it behind the marks of a fence of Markdown around a cell.
        dialects: Variants with names and file endings of their own, as TypeScript.
        words: For prompts.
        editor: For the REPL.
        kinds: Words for kinds of values in messages, by Python type, as `{list: "an array"}`.
        constants: Names of its globals that take no value, as `undefined`.
        time_unit: The smallest part of a second that its points in time have.
        helper_prefix: Begins names of functions that are not tools, as `_search` on `tools`.
        declares: Whether signatures are declarations that the engine checks calls against.
        cell_check: Makes the `CellCheck` of a `BridgeSet`; `None`: cells are not checked.
        type_check: Makes the one that checks types, too, or raises a `ConfigurationError` that says
            what is to be installed; `None`: there is no such check, or `declares` is true.
        module_endings: Endings of files that code may import.
        module_entries: Names of files that a folder of modules may start with, best first.
        endless: A cell that computes forever, to test limits; empty if there is none.
        hoard: A cell that takes memory without end, to test limits; empty if there is none.
    """

    name: str
    title: str = attrs.field(default=attrs.Factory(lambda self: self.name, takes_self=True))
    aliases: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    fences: tuple[str, ...] = ()
    dialects: tuple[GuestLanguage, ...] = ()
    words: PromptWords = PromptWords()
    editor: EditorRules = EditorRules()
    kinds: Mapping[type, str] = attrs.field(factory=dict, hash=False)
    constants: frozenset[str] = frozenset()
    time_unit: timedelta = timedelta(microseconds=1)
    helper_prefix: str = "_"
    declares: bool = False
    cell_check: Callable[[Any], Any] | None = None
    type_check: Callable[[Any], Any] | None = None
    module_endings: tuple[str, ...] = ()
    module_entries: tuple[str, ...] = ()
    endless: str = ""
    hoard: str = ""

    def identifier(self, name: str) -> str:
        """A tool's or field's name as code spells it; effectively with `_` for other characters."""
        return re.sub(r"[^A-Za-z0-9_]+", "_", name.strip("- ."))

    def name_fault(self, name: str) -> str:
        """A reason why code cannot call a function by its dotted name; effectively empty."""
        return ""

    def literal(self, value: Any) -> str:
        """A value as code writes it, for messages; effectively as JSON, other types by a word."""
        if word := _word(value):
            return word
        return json.dumps(
            value, ensure_ascii=False, default=lambda item: _word(item) or type(item).__name__
        )

    def call(self, function: str, fields: Mapping[str, str]) -> str:
        """Code that calls a function of the host, without waiting; values are code, too."""
        return f"{function}({', '.join(f'{name}: {value}' for name, value in fields.items())})"

    def usage(self, function: str, fields: Mapping[str, bool]) -> str:
        """A function of the host with its fields, for help; `False` marks optional fields."""
        listed = [name if needed else f"[{name}]" for name, needed in fields.items()]
        return f"{function}({', '.join(listed)})"

    def fields(self, tool: HostTool) -> str:
        """The fields of a tool with their types, for messages; effectively their names alone."""
        fields = tool.input_schema.get("properties")
        return ", ".join(map(str, fields)) if isinstance(fields, Mapping) else ""

    def signature(self, name: str, tool: HostTool) -> str:
        """A tool with its types, from its JSON Schemas, under its name in the guest."""
        schema = json.dumps(tool.input_schema, ensure_ascii=False)
        about = " ".join(tool.description.split())
        return f"- `{name}`: {about} Fields, as JSON Schema: `{schema}`"

    def listing(self, namespace: str, signatures: Iterable[str]) -> str:
        """Signatures of the functions in one namespace, as Markdown."""
        return f"On `{namespace}`:\n\n" + "\n".join(signatures)
