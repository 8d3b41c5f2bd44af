"""Names of the bridges behind `codex.tool`, one for each tool."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Final

__all__ = ["bridge_part", "spoken", "tool_name"]

_PREFIX: Final = "tool_"
_UNUSUAL: Final = re.compile(r"[^A-Za-z0-9_]", re.ASCII)
_ENCODED: Final = re.compile(r"\$([0-9a-f]{1,4})\$")


@lru_cache(4096)
def bridge_part(name: str) -> str:
    """The last part of the name of a tool's bridge, an identifier.

    `guest_global.js` has the same rule: a character that identifiers lack is its UTF-16
    code in hexadecimal between dollar signs.
    """
    text = name.encode("utf-16-be", "surrogatepass")
    units = [chr(int.from_bytes(text[at : at + 2])) for at in range(0, len(text), 2)]
    return _PREFIX + "".join(f"${ord(c):x}$" if _UNUSUAL.match(c) else c for c in units)


def tool_name(part: str) -> str | None:
    """The name of the tool whose bridge ends in this part; `None` for the part of another bridge.

    Args:
        part: Untrusted: guest code may ask for any tool.
    """
    if not part.startswith(_PREFIX):
        return None
    text = _ENCODED.sub(lambda match: chr(int(match[1], 16)), part.removeprefix(_PREFIX))
    return text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")


def spoken(text: str, namespace: str) -> str:
    """Text of the host that names calls as code writes them, in place of the bridges behind them.

    Args:
        text: Text such as `codex.tool_look`.
        namespace: Name of the global that has the helpers.
    """

    def written(found: re.Match[str]) -> str:
        return f"{namespace}.tool({json.dumps(tool_name(found[1]), ensure_ascii=False)})"

    return re.sub(rf"(?<![\w$]){re.escape(namespace)}\.({_PREFIX}[A-Za-z0-9_$]+)", written, text)
