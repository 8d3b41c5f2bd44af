"""Postfix as prompts and tools need to know it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack import EditorRules, GuestLanguage, HostTool, PromptWords

__all__ = ["POSTFIX"]


class _Postfix(GuestLanguage):
    def call(self, function: str, fields: Mapping[str, str]) -> str:
        values = " ".join(f'"{name}" {value}' for name, value in fields.items())
        return f"( {values} ) obj {function}"

    def usage(self, function: str, fields: Mapping[str, bool]) -> str:
        return self.call(function, {name: "…" if must else "…?" for name, must in fields.items()})

    def signature(self, name: str, tool: HostTool) -> str:
        fields = tool.input_schema.get("properties", {})
        required = tool.input_schema.get("required", ())
        about = " ".join(tool.description.split())
        return f"{self.usage(name, {field: field in required for field in fields})}  {about}"


POSTFIX: Final = _Postfix(
    name="postfix",
    title="Postfix",
    endings=(".postfix",),
    words=PromptWords(
        cells="Words take values from a stack; the last value on it is the result.",
        modules="words",
        calling='A call takes one object, as in `( "field" 7 ) obj tools.name await`.',
        together="`await` takes a list, too: `( call call ) await` makes calls run together.",
        failing='A failed call throws: `[ call await ] [ "message" get ] try` goes on.',
        each='items "item" [ {call} ] for',
        job_failing="A failed subagent throws; catch the error with `try`.",
        mapping="an object",
        printing="`print`",
    ),
    editor=EditorRules(words=("await", "drop", "for", "get", "obj", "print", "set", "try")),
    endless="[ true ] [ ] while",
)
