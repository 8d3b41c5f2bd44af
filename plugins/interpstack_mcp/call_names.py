"""Names of calls in rules: exact ones, and patterns, which are marked.

A name of a tool may contain any character, so `mcp.files.delete[all]` is a name. Read as a pattern
it would match no call, and calls would be made without their approval.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import attrs

__all__ = ["MARK", "CallName"]

#: The beginning of a pattern, in which `*` stands for any characters, and nothing else is special.
MARK: Final = "glob:"


@attrs.frozen
class CallName:
    """The name of a call, or a pattern of names.

    Attributes:
        given: The name, or `glob:` and a pattern.
    """

    given: str

    @property
    def is_pattern(self) -> bool:
        """Whether it is a pattern."""
        return self.given.startswith(MARK)

    @property
    def text(self) -> str:
        """The name or the pattern."""
        return self.given.removeprefix(MARK)

    def match(self, names: Iterable[str]) -> bool:
        """Whether it means one of some names."""
        if not self.is_pattern:
            return self.given in names
        pattern = ".*".join(map(re.escape, self.text.split("*")))
        return any(re.fullmatch(pattern, name, re.DOTALL) for name in names)

    def server(self, servers: Iterable[str]) -> str | None:
        """The server whose tools alone it can mean; `None` if there is no such server."""
        sure = self.text.partition("*")[0] if self.is_pattern else self.text
        return next((one for one in servers if sure.startswith(f"mcp.{one}.")), None)
