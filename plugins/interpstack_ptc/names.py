"""Names of tools as guests see them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from interpstack import ConfigurationError, GuestLanguage, HostTool

__all__ = ["guest_name", "guest_names"]

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)


def guest_name(name: str, language: GuestLanguage) -> str:
    """A tool's name as code of this language calls it.

    Raises:
        ConfigurationError: No identifier comes out of it.
    """
    made = language.identifier(name)
    if not _IDENTIFIER.fullmatch(made) or not made.strip("_"):
        raise ConfigurationError(
            f"tool {name!r} cannot be offered to code: {made!r} is not a name of ASCII letters, "
            "digits and _ that has a letter or a digit and begins with no digit; rename the tool, "
            "or leave it out of ptc"
        )
    return made


def guest_names(tools: Iterable[HostTool], language: GuestLanguage) -> dict[str, HostTool]:
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
