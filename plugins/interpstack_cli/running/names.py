"""Names of Python functions and tools as code calls them."""

from __future__ import annotations

import keyword
import re
from typing import Final

__all__ = ["guest_name"]

_FOREIGN: Final = re.compile(r"[-\s.]+")
_JOINT: Final = re.compile(r"_([a-z])|[-\s.]+_?(.?)", re.ASCII)


def guest_name(name: str, language: str = "javascript") -> str:
    """A name in a guest of this language, as agents' code knows it from the plugin `ptc`.

    In Python it stays as it is, with `_` for what no identifier may have; elsewhere it is in
    camel case: `read_file` becomes `readFile`. Capitals stay as they are.
    """
    if language != "python":
        return _camel_case(name)
    own = _FOREIGN.sub("_", name.strip("- ."))
    return f"{own}_" if keyword.iskeyword(own) else own


def _camel_case(name: str) -> str:
    return _JOINT.sub(lambda found: (found[1] or found[2]).upper(), name.strip("- ."))
