"""The shapes of expressions in a tree: what is around one, and what members are called."""

from __future__ import annotations

from typing import Final

from interpstack_javascript.parser.parsing import Node

__all__ = ["CASTS", "UNNAMED", "WRAPPERS", "key_name", "member_name", "unwrapped"]

#: TypeScript's nodes around an expression that have its value and give it another type.
CASTS: Final = frozenset({"TSAsExpression", "TSSatisfiesExpression", "TSTypeAssertion"})
#: Nodes around an expression that have its value.
WRAPPERS: Final = CASTS | {"ChainExpression", "ParenthesizedExpression", "TSNonNullExpression"}
#: The name of a member that is private, or that no path has.
UNNAMED: Final = "#"
#: Indices of arrays are below this.
_INDICES: Final = 2**32


def unwrapped(node: Node, wrappers: frozenset[str] = WRAPPERS) -> Node:
    """The expression inside of parentheses, casts, and the like."""
    while node["type"] in wrappers:
        node = node["expression"]
    return node


def member_name(member: Node) -> str | int | None:
    """What a `MemberExpression` reads.

    Returns:
        A name, an index, `UNNAMED`, or `None` for one that is computed when the code runs.
    """
    key = member["property"]
    if not member["computed"]:
        return UNNAMED if key["type"] == "PrivateIdentifier" else str(key["name"])
    key = unwrapped(key)
    if key["type"] == "TemplateLiteral" and not key["expressions"]:
        return str(key["quasis"][0]["value"]["cooked"])
    if key["type"] != "Literal":
        return None
    value = key.get("value")
    if isinstance(value, str) and not key.get("regex"):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        is_index = value == value // 1 and 0 <= value < _INDICES
        return int(value) if is_index else UNNAMED
    return UNNAMED


def key_name(owner: Node) -> str | None:
    """The name of a property or a member of a class; `None` for a computed or private one."""
    key = owner["key"]
    if key is None or owner["computed"]:
        return None
    if key["type"] == "Identifier":
        return str(key["name"])
    value = key.get("value") if key["type"] == "Literal" else None
    return value if isinstance(value, str) else None
