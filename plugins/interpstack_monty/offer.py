"""The offer of a realm, as code that binds it in the guest."""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterator, Mapping
from typing import Any

from interpstack import Bridge, BridgeSet

__all__ = ["offered", "reachable", "roots", "tree"]


def reachable(bridges: BridgeSet) -> Iterator[Bridge]:
    """Bridges that guest code can name."""
    for bridge in bridges:
        parts = bridge.name.split(".")
        if not bridge.hidden and not any(map(_unspeakable, parts)):
            yield bridge


def _unspeakable(part: str) -> bool:
    return not part.isidentifier() or keyword.iskeyword(part)


def tree(bridges: BridgeSet) -> dict[str, Any]:
    """Namespaces as dictionaries, with bridges as their leaves."""
    found: dict[str, Any] = {}
    for bridge in reachable(bridges):
        *path, last = bridge.name.split(".")
        scope = found
        for part in path:
            scope = scope.setdefault(part, {})
        scope[last] = bridge
    return found


def offered(bridges: BridgeSet, room: int) -> str:
    """Code that binds every root name; the same text means the same offer.

    Args:
        bridges: The bridges on offer.
        room: Bytes of the largest input.
    """
    lines = [
        f"{root} = __interpstack_bind__({json.dumps(root)}, {_literal(members)}, {room})"
        for root, members in tree(bridges).items()
    ]
    return "\n".join(lines)


def _literal(members: Any) -> str:
    if not isinstance(members, Mapping):
        return "True" if members.positional else "None"
    return "{" + ", ".join(f"{json.dumps(k)}: {_literal(v)}" for k, v in members.items()) + "}"


def roots(binding: str) -> frozenset[str]:
    """The names that code from `offered` binds."""
    return frozenset(line.partition(" = ")[0] for line in binding.splitlines())
