"""Names of tools as guests see them."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from interpstack import ConfigurationError, HostTool

__all__ = ["guest_name", "guest_names"]

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)
_FOREIGN = re.compile(r"[-\s.]+")
#: What goes for the sake of a capital: an underscore only before a small letter, so that
#: `v_2` and `GET_ALL` stay what they are.
_JOINT = re.compile(r"_([a-z])|[-\s.]+_?(.?)", re.ASCII)


def guest_name(name: str, language: str = "javascript") -> str:
    """A tool's name as code calls it.

    In Python it is the tool's own, with `_` for what no identifier may have; elsewhere it is
    in camel case: `web_search` and `web-search` become `webSearch`. Capitals stay: `SQL_query`
    becomes `SQLQuery`.

    Raises:
        ConfigurationError: No identifier comes out of it.
    """
    if language == "python":
        made = _FOREIGN.sub("_", name.strip("- ."))
        made += "_" if keyword.iskeyword(made) else ""
    else:
        made = _camel_case(name)
    if not _IDENTIFIER.fullmatch(made) or not made.strip("_"):
        raise ConfigurationError(
            f"tool {name!r} cannot be offered to code: {made!r} is no identifier; "
            "rename the tool, or leave it out of ptc"
        )
    return made


def _camel_case(name: str) -> str:
    return _JOINT.sub(lambda found: (found[1] or found[2]).upper(), name.strip("- ."))


def guest_names(tools: Iterable[HostTool], language: str = "javascript") -> dict[str, HostTool]:
    """Tools by their names in a guest of this language, in order.

    Raises:
        ConfigurationError: Two tools end up with the same name.
    """
    named: dict[str, HostTool] = {}
    for tool in tools:
        name = guest_name(tool.name, language)
        if name in named and named[name] is not tool:
            raise ConfigurationError(
                f"tools {named[name].name!r} and {tool.name!r} would both be tools.{name}; "
                "rename one, or leave one out of ptc"
            )
        named[name] = tool
    return named
