"""The same cells in every guest language, for tests that run on engines of several.

A test puts a cell together from expressions and statements. Only what these tests need is here.
"""

from __future__ import annotations

import json
import re
from typing import Any

import attrs

_RESTORED = re.compile(
    r"^<notice>Variables of earlier cells were restored from their values\.[^<]*</notice>\n"
)


def without_restored(answer: str) -> str:
    """An answer without the notice of engines that go on from portable values, not images."""
    return _RESTORED.sub("", answer)


@attrs.frozen
class GuestCode:
    """Code in one language.

    Attributes:
        language: Its name.
        separator: Between statements.
        assign: A global, from `name` and `value`.
        gather: A list of answers, from `calls`.
        caught: Stores in `name` the text of the error that awaiting `call` raises.
        finally_: Stores `call` in `said`, an error in `caught`, and adds `.` to it at the end.
        probe: Shows `there`, or `gone` if there is no global `name`.
        pause: Waits 20 ms on the host.
        length: Of `value`.
        print: Prints `value`.
        endless: Computes for ever.
        throw: Raises an error with the message `value`, named `error_name`.
        error_name: See `throw`.
        imports: Statements that a cell begins with.
    """

    language: str
    separator: str
    assign: str
    gather: str
    caught: str
    finally_: str
    probe: str
    pause: str
    length: str
    print: str
    endless: str
    throw: str
    error_name: str
    imports: tuple[str, ...] = ()

    def cell(self, *statements: str) -> str:
        """A cell of some statements; the last may be an expression, which is its value."""
        return self.separator.join([*self.imports, *statements])

    def set(self, name: str, value: str) -> str:
        """A statement that sets a global."""
        return self.assign.format(name=name, value=value)

    def value(self, value: Any) -> str:
        """A literal."""
        return json.dumps(value) if self.language == "javascript" else repr(value)

    def shown(self, value: Any) -> str:
        """How a value is printed as the result."""
        if isinstance(value, str):
            return value
        return json.dumps(value) if self.language == "javascript" else repr(value)

    def start(self, tool: str, **fields: Any) -> str:
        """An expression that calls a tool and does not await it."""
        if self.language == "javascript":
            name = re.sub(r"_(\w)", lambda found: found[1].upper(), tool)
            return f"tools.{name}({self._fields(fields)})"
        return f"tools.{tool}({self._fields(fields)})"

    def call(self, tool: str, **fields: Any) -> str:
        """An expression that awaits a tool."""
        return f"(await {self.start(tool, **fields)})"

    def pass_on(self, tool: str, field: str, *names: str) -> str:
        """An expression that awaits a tool with some globals, by name, in one field."""
        if self.language == "javascript":
            return f"await tools.{tool}({{{field}: {{{', '.join(names)}}}}})"
        items = ", ".join(f"{name!r}: {name}" for name in names)
        return f"await tools.{tool}({field}={{{items}}})"

    def dispatch(self, **fields: Any) -> str:
        """An expression that calls `task` and does not await it; names as Python has them."""
        if self.language == "javascript":
            fields = {
                re.sub(r"_(\w)", lambda found: found[1].upper(), k): v for k, v in fields.items()
            }
        return f"task({self._fields(fields)})"

    def all(self, *calls: str) -> str:
        """An expression that awaits several calls at once."""
        return self.gather.format(calls=", ".join(calls))

    def catch(self, name: str, call: str) -> str:
        """A statement that sets a global to the error of a call."""
        return self.caught.format(name=name, call=call)

    def guarded(self, call: str) -> str:
        """Statements that try everything to see how a call fails."""
        return self.finally_.format(call=call)

    def exists(self, name: str) -> str:
        """Statements that show whether there is a global."""
        return self.probe.format(name=name)

    def _fields(self, fields: dict[str, Any]) -> str:
        if self.language == "javascript":
            return json.dumps(fields)
        return ", ".join(f"{name}={value!r}" for name, value in fields.items())


JAVASCRIPT = GuestCode(
    language="javascript",
    separator=";\n",
    assign="globalThis.{name} = {value}",
    gather="(await Promise.all([{calls}]))",
    caught="try {{ {call} }} catch (e) {{ globalThis.{name} = `${{e.name}}: ${{e.message}}` }}",
    finally_=(
        "var said; try {{ said = {call} }} "
        "catch (e) {{ caught = String(e) }} finally {{ caught += '.' }}"
    ),
    probe="typeof {name} === 'undefined' ? 'gone' : 'there'",
    pause="await new Promise(go => setTimeout(go, 20))",
    length="{value}.length",
    print="console.log({value})",
    endless="for (;;) {}",
    throw="throw new Error({value})",
    error_name="Error",
)

PYTHON = GuestCode(
    language="python",
    separator="\n",
    assign="{name} = {value}",
    gather="(await asyncio.gather({calls}))",
    caught="try:\n    {call}\nexcept Exception as error:\n    {name} = str(error)",
    finally_=(
        "try:\n    said = {call}\nexcept Exception as error:\n    caught = str(error)\n"
        "finally:\n    caught += '.'"
    ),
    probe="try:\n    {name}\n    told = 'there'\nexcept NameError:\n    told = 'gone'\ntold",
    pause="await asyncio.sleep(0.02)",
    length="len({value})",
    print="print({value})",
    endless="while True: pass",
    throw="raise ValueError({value})",
    error_name="ValueError",
    imports=("import asyncio",),
)

GUESTS = {"javascript": JAVASCRIPT, "python": PYTHON}
