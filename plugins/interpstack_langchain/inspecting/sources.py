"""The sources of this package, by what a person named on the command line."""

from __future__ import annotations

from pathlib import Path

from interpstack_inspect.api import RunSource, SourceRequest
from interpstack_langchain.inspecting.agents import AgentSource, is_reference
from interpstack_langchain.inspecting.databases import DatabaseSource

__all__ = ["open_source"]


def open_source(request: SourceRequest) -> RunSource | None:
    """The source of a request; `None` if this package has none of its kind.

    Raises:
        ConfigurationError: There is no such database or agent, or an option is wrong.
    """
    if is_reference(request.target) and not Path(request.target).exists():
        return AgentSource.of(request)
    return DatabaseSource.of(request)
