"""Check the answers of agents against the JSON Schema that a script asks for.

Schemas come from scripts and are untrusted: they refer to nothing outside themselves, have no
regular expressions, and are evaluated for a bounded time, off the event loop, for a few nested
keywords can describe more work than any machine does.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NoReturn
from urllib.parse import unquote

from interpstack import ConfigurationError
from interpstack.checks import unique_fields
from interpstack_schemas import EvaluationTimeout, bounded_dialect, within

__all__ = ["AnswerSchema", "SchemaFault"]

#: Faults of one answer that are listed, and characters of each.
_FAULTS: Final = 10
_FAULT_CHARS: Final = 300
#: Seconds for which a schema is checked, or a value is checked against it.
_SECONDS: Final = 2.0
#: Keywords that are refused, and the reason.
_REFUSED: Final[Mapping[str, str]] = {
    "pattern": "regular expressions may take forever; describe the text in description, and check "
    "it in the script",
    "patternProperties": "regular expressions may take forever; use additionalProperties",
    "unevaluatedItems": "its evaluation cannot be bounded; list the items in prefixItems and items",
    "unevaluatedProperties": "its evaluation cannot be bounded; use additionalProperties",
}
#: Keywords whose keys are names.
_NAMES: Final = ("properties", "$defs", "definitions", "dependentSchemas", "dependentRequired")
#: The shortest fence of Markdown, and the name of the language of what it has.
_FENCE: Final = "```"
_FENCED: Final = "json"
#: Keywords whose values are data, not schemas.
_DATA: Final = ("const", "default", "enum", "examples")
_OUTSIDE: Final = ("$ref", "$dynamicRef", "$recursiveRef")


class SchemaFault(ValueError):
    """A schema is wrong, or cannot be used; the message says why."""


class AnswerSchema:
    """A checked schema; `read` makes one.

    Args:
        schema: The schema, from a script.
        what: What the messages of faults call it.

    Raises:
        SchemaFault: The schema is not a JSON Schema, has a keyword that is refused, or refers to
            something outside itself.
    """

    def __init__(self, schema: Any, what: str = "agent option schema") -> None:
        try:
            from jsonschema.validators import Draft202012Validator, validator_for
            from referencing import Registry
        except ImportError as error:
            raise SchemaFault(
                f"{what} needs a package that is not installed ({error}); "
                "run: pip install 'interpstack[workflows]'"
            ) from error
        if not isinstance(schema, Mapping):
            raise SchemaFault(f"{what} takes a JSON Schema; got {schema!r:.100}")
        for fault in _refused(schema):
            raise SchemaFault(f"{what}: {fault}")
        kind = validator_for(schema, default=Draft202012Validator)
        bounded = bounded_dialect(kind)
        try:
            errors = within(
                _SECONDS, lambda: _first(bounded(kind.META_SCHEMA).iter_errors(dict(schema)))
            )
        except (RecursionError, EvaluationTimeout) as error:
            why = "nested too deeply" if isinstance(error, RecursionError) else "too long"
            raise SchemaFault(f"{what} is not a JSON Schema: it is {why}") from error
        if errors:
            raise SchemaFault(f"{what} is not a JSON Schema: {errors[0].message:.300}")
        self._validator = bounded(schema, registry=Registry())
        for ref in _unresolved(schema):
            raise SchemaFault(f"{what}: {ref} names nothing in the schema; add it under $defs")

    @classmethod
    async def read(cls, schema: Any) -> AnswerSchema:
        """Return the schema of a script, checked off the event loop.

        Raises:
            SchemaFault: See the class.
        """
        return await asyncio.to_thread(cls, schema)

    async def read_answer(self, answer: Any) -> tuple[Any, list[str]]:
        """Return the value of an answer, and its faults; see `faults`.

        Text is read as JSON. The JSON may be in a fence of Markdown, with prose around it, as
        models write it; of several fences, none is chosen. Text that does not fit as JSON may fit
        as text, as `42` does where the schema wants text.
        """
        value, repeated = _parsed(answer)
        faults = await self.faults(value)
        if faults and isinstance(answer, str):
            if value is answer:
                return value, repeated or faults
            return (answer, []) if not await self.faults(answer) else (value, faults)
        return value, faults

    def value(self, answer: Any) -> Any:
        """Return the JSON value of a text; the answer itself if it is none.

        Text with an object that names one field twice is none, because one value would be lost.
        """
        return _parsed(answer)[0]

    async def faults(self, value: Any) -> list[str]:
        """Return the faults of a value, with their places; none for a value that fits."""
        return await asyncio.to_thread(self._faults, value)

    def _faults(self, value: Any) -> list[str]:
        try:
            found = within(_SECONDS, lambda: _first(self._validator.iter_errors(value)))
        except RecursionError:
            return ["$: the value or the schema is nested too deeply"]
        except EvaluationTimeout:
            return [f"$: the schema takes more than {_SECONDS:g} seconds to evaluate; simplify it"]
        return sorted(f"{error.json_path}: {error.message:.{_FAULT_CHARS}}" for error in found)

    @staticmethod
    def correction(prompt: str, faults: Sequence[str]) -> str:
        """Return the prompt of the second attempt, which lists the faults of the first answer."""
        listed = "\n".join(f"- {fault}" for fault in faults)
        return (
            f"{prompt}\n\nYour last answer did not match the JSON Schema:\n{listed}\n"
            "Answer again with JSON alone that matches it."
        )


def _parsed(answer: Any) -> tuple[Any, list[str]]:
    """Return the value of an answer, and the fault of an object that names one field twice."""
    repeated: list[str] = []
    if not isinstance(answer, str):
        return answer, repeated
    for text in (answer, _unfenced(answer), _fenced(answer)):
        try:
            value = json.loads(
                text,
                parse_constant=_no_number,
                parse_float=_finite,
                object_pairs_hook=unique_fields,
            )
        except ConfigurationError as error:
            repeated = repeated or [f"$: {error}"]
        except (ValueError, RecursionError):
            continue
        else:
            return value, []
    return answer, repeated


def _unfenced(text: str) -> str:
    """Return the content of a text that is one fenced block of Markdown; else the text itself."""
    body = text.strip()
    content = body.lstrip("`")
    fence = body[: len(body) - len(content)]
    if len(fence) < len(_FENCE) or not content.endswith(fence):
        return text
    content = content[: -len(fence)].strip()
    named = content[: len(_FENCED)].lower() == _FENCED  # no value of JSON begins so
    return content[len(_FENCED) :] if named else content


def _fenced(text: str) -> str:
    """Return the content of the only fenced block in a text; else the text itself."""
    lines = text.splitlines()
    fences = [at for at, line in enumerate(lines) if line.lstrip().startswith(_FENCE)]
    if len(fences) != 2 or lines[fences[1]].strip() != _FENCE:
        return text
    return "\n".join(lines[fences[0] + 1 : fences[1]])


def _finite(digits: str) -> float:
    if math.isfinite(number := float(digits)):
        return number
    return _no_number(digits)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _first(errors: Iterable[Any]) -> list[Any]:
    return list(islice(errors, _FAULTS))


def _unresolved(schema: Mapping[str, Any]) -> Iterator[str]:
    """References by a path, as in `#/$defs/item`, that lead nowhere.

    A schema with a name of its own is left to the validator, for paths are relative to that name.
    """
    waiting: list[Any] = [schema]
    refs: list[str] = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            if "$id" in node:
                return
            ref = node.get("$ref")
            if isinstance(ref, str) and ref.startswith("#/"):
                refs.append(ref)
            waiting += [value for key, value in node.items() if key not in _DATA]
        elif isinstance(node, list):
            waiting += node
    for ref in refs:
        target: Any = schema
        for part in ref[2:].split("/"):
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(target, list) and key.isdecimal() and int(key) < len(target):
                target = target[int(key)]
            elif isinstance(target, Mapping) and key in target:
                target = target[key]
            else:
                yield f"$ref {ref!r:.80}"
                break


def _refused(schema: Any) -> Iterator[str]:
    """Faults of a schema that its own language allows."""
    waiting = [(schema, True)]  # whether the keys are keywords: those of `properties` are names
    while waiting:
        node, keywords = waiting.pop()
        if isinstance(node, list):
            waiting += [(item, True) for item in node]
        if not isinstance(node, Mapping):
            continue
        for key, value in node.items():
            if keywords and key in _REFUSED:
                yield f"{key} is not supported, for {_REFUSED[key]}"
            outside = isinstance(value, str) and not value.startswith("#")
            if keywords and key in _OUTSIDE and outside:
                yield f"{key} takes a reference within the schema, as in '#/$defs/item'"
            waiting.append((value, not (keywords and key in _NAMES)))
