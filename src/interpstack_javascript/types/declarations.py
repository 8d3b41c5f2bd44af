"""Declarations of the functions on offer, for the compiler."""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Final, Literal, NotRequired, Required, Union, get_args, get_origin

from interpstack.contracts.bridges import Bridge, BridgeSet
from interpstack_javascript.signatures import render_type

__all__ = ["declarations"]

#: Characters of all declarations; what is beyond takes and gives anything.
_CHARS: Final = 300_000
_DEPTH: Final = 8
_ANY: Final = "any"
#: Globals that engines have, or that the check of the run has better words for.
_GLOBALS: Final = "declare var console: any;\n"
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_UNKNOWN: Final = re.compile(r"\bunknown\b")
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_LISTS: Final = (list, tuple, Sequence, Iterable)


def declarations(bridges: BridgeSet, hidden: Iterable[str] = ()) -> str:
    """The declarations as one text.

    Args:
        bridges: The functions.
        hidden: Namespaces that variables of the guest hide.
    """
    roots: dict[str, Any] = {}
    left = _CHARS
    for one in bridges:
        path = one.name.split(".")
        if one.hidden or path[0] in hidden:
            continue
        inside = roots
        for part in path[:-1]:
            inside = inside.setdefault(part, {})
        text = _function(path[-1], one)
        left -= len(text)
        inside[path[-1]] = text if left > 0 else f"{path[-1]}(...given: any[]): any"
    texts = [
        f"declare const {name}: {_namespace(value)};"
        if isinstance(value, dict)
        else f"declare function {value};"
        for name, value in roots.items()
    ]
    return _GLOBALS + "\n".join(texts)


def _namespace(members: Mapping[str, Any]) -> str:
    texts = [
        f"{name}: {_namespace(value)}" if isinstance(value, dict) else value
        for name, value in members.items()
    ]
    return "{\n" + ";\n".join(texts) + "\n}"


def _function(name: str, bridge: Bridge) -> str:
    if bridge.declaration:  # of the language, with what is known of the answers
        return _UNKNOWN.sub(_ANY, _COMMENT.sub("", bridge.declaration)).strip()
    if not bridge.awaited:
        return f"{name}(...given: any[]): any"
    if bridge.answers is not None:
        answer = _UNKNOWN.sub(_ANY, _COMMENT.sub("", render_type(bridge.answers)))
        return f"{name}(...given: any[]): Promise<{answer}>"
    signature = bridge.signature
    if signature is None:
        return f"{name}(...given: any[]): Promise<any>"
    fields = {key: (_takes(kind), must) for key, (kind, must) in signature.parameters.items()}
    given = "...given: any[]"
    if fields:
        more = ["[name: string]: any"] if signature.more is not None else []
        given = f"input: {_object(fields, more)}"
    return f"{name}({given}): Promise<{_gives(signature.answer)}>"


def _object(fields: Mapping[str, tuple[str, bool]], more: Sequence[str] = ()) -> str:
    texts = [
        f"{key if _IDENTIFIER.fullmatch(key) else json.dumps(key)}{'' if must else '?'}: {kind}"
        for key, (kind, must) in fields.items()
    ]
    return "{" + "; ".join([*more, *texts]) + "}"


def _takes(annotation: Any) -> str:
    """The type of the values that a parameter takes: of values of other kinds, it takes none."""
    return _rendered(annotation, {str: "string", bool: "boolean", int: "number", float: "number"})


def _gives(annotation: Any) -> str:
    """The type of the values that a function returns."""
    kinds = {str: "string", bool: "boolean", int: "number", float: "number", bytes: "Uint8Array"}
    return _rendered(annotation, kinds)


def _rendered(annotation: Any, kinds: Mapping[type, str], depth: int = 0) -> str:
    if depth > _DEPTH:
        return _ANY
    base, args = get_origin(annotation) or annotation, get_args(annotation)
    if base in (typing.Annotated, Required, NotRequired):
        return _rendered(args[0], kinds, depth + 1)
    if base in (Union, UnionType):
        texts = dict.fromkeys(_rendered(one, kinds, depth + 1) for one in args)
        return _ANY if _ANY in texts else " | ".join(texts)
    if base is Literal:
        plain = all(type(one) in (str, int, bool) for one in args)
        return " | ".join(map(json.dumps, args)) if plain else _ANY
    if base in (None, NoneType):
        return "null"
    if isinstance(base, type) and base in kinds:
        return kinds[base]
    if base in _LISTS:
        is_many = base is not tuple or args[1:] == (...,)
        inner = _rendered(args[0], kinds, depth + 1) if args and is_many else _ANY
        return f"({inner})[]"
    if base in (dict, Mapping):
        return f"Record<string, {_rendered(args[1], kinds, depth + 1) if len(args) > 1 else _ANY}>"
    if typing.is_typeddict(base):
        return _typed_dict(base, kinds, depth)
    return _ANY


def _typed_dict(base: Any, kinds: Mapping[type, str], depth: int) -> str:
    try:
        hints = typing.get_type_hints(base, include_extras=True)
    except Exception:  # noqa: BLE001 - annotations may be any text
        return _ANY
    if not hints:
        return "Record<string, any>"
    fields = {
        key: (_rendered(kind, kinds, depth + 1), key in base.__required_keys__)
        for key, kind in hints.items()
    }
    return _object(fields)
