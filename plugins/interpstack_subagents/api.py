"""Public names of the plugin: parts for adapters to pass to it, and the requests to answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs

from interpstack import CellContext, GuestLanguage
from interpstack_subagents.schema import check_schema

__all__ = ["Dispatch", "Subagents", "check_schema", "subagent_named"]


@attrs.frozen(kw_only=True)
class Dispatch:
    """A request of code to run one subagent.

    Attributes:
        description: The subagent's task.
        subagent_type: Kind of the subagent.
        label: Short text for progress displays; may be empty.
        response_schema: JSON Schema of the answer; `None` for an answer in text.
    """

    description: str
    subagent_type: str
    label: str = ""
    response_schema: Mapping[str, Any] | None = None


@attrs.frozen
class Subagents:
    """Part of a `HostOffer` that gives code the global `task`.

    Attributes:
        dispatch: Runs one subagent and returns its answer.
        concurrency: Subagents of one cell that run at once; the rest wait.
        budget: Subagents that one cell may dispatch; `None` for no limit of its own.
        passes: Exceptions of `dispatch` that are the host's own, see `Bridge.passes`.
    """

    dispatch: Callable[[Dispatch, CellContext], Awaitable[Any]]
    concurrency: int = attrs.field(default=32, kw_only=True)
    budget: int | None = attrs.field(default=None, kw_only=True)
    passes: tuple[type[BaseException], ...] = attrs.field(default=(), kw_only=True)


def subagent_named(wire: Any, language: GuestLanguage) -> str:
    """The kind of subagent that a request of the bridge `task` asks for; empty if it names none.

    Args:
        wire: The wire tree of the request; untrusted, so the name may be anything.
        language: The language of the guest, which spells the field.
    """
    name = wire.get(language.identifier("subagent_type")) if isinstance(wire, dict) else None
    return name if isinstance(name, str) else ""
