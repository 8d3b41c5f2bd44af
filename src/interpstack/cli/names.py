"""Names of Python functions and tools as code calls them."""

from __future__ import annotations

import keyword
import re
from typing import Final

__all__ = ["guest_name"]

_FOREIGN: Final = re.compile(r"[-\s.]+")
_SEPARATORS: Final = re.compile(r"[-_\s.]+")


def guest_name(name: str, language: str = "javascript") -> str:
    """A name in a guest of this language, as agents' code knows it from the plugin `ptc`.

    In Python it stays as it is, with `_` for what no identifier may have; elsewhere it is in
    camel case: `read_file` becomes `readFile`.
    """
    if language != "python":
        return _camel_case(name)
    own = _FOREIGN.sub("_", name.strip("- ."))
    return f"{own}_" if keyword.iskeyword(own) else own


def _camel_case(name: str) -> str:
    first, *rest = [part for part in _SEPARATORS.split(name) if part] or [name]
    return first[:1].lower() + first[1:] + "".join(p[:1].upper() + p[1:] for p in rest)
