"""Sources by what a person named: packages add kinds of them in a group of entry points."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Final

from interpstack import ConfigurationError
from interpstack_inspect.contract.source import RunSource, SourceRequest

__all__ = ["GROUP", "open_source"]

#: Functions that take a `SourceRequest`, and return a `RunSource` or `None`.
GROUP: Final = "interpstack.run_sources"


def open_source(request: SourceRequest) -> RunSource:
    """Open the source of a request: that of the first package, by name, that knows its kind.

    Raises:
        ConfigurationError: No package knows it, it cannot be opened, or a package is missing.
    """
    tried = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        tried.append(point.name)
        try:
            function = point.load()
        except ImportError as error:
            raise ConfigurationError(
                f"the records of {point.name!r} need a package that is not installed ({error}); "
                "run: pip install 'interpstack[inspect]'"
            ) from error
        source = function(request)
        if source is None:
            continue
        if not isinstance(source, RunSource):
            raise ConfigurationError(
                f"{point.value} returned {source!r:.80}, which is not a RunSource"
            )
        return source
    known = ", ".join(tried) or "none"
    raise ConfigurationError(
        f"no installed package has records of {request.target!r:.200}; these were asked: "
        f"{known}. Name a database, or an agent as MODULE:ATTR"
    )
