"""What other languages have, and other Pythons, and what is here instead."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

__all__ = ["BUILTINS", "FILES", "filled", "instead_of", "instead_of_module"]

FILES: Final = "there is no file system here{outside}"
_NETWORK: Final = "there is no network here{outside}"
_PROCESS: Final = "there are no processes here{outside}"
_PACKAGE: Final = "no packages are installed here; write what you need of it"

#: Names that every Python has, which a missing one may be meant for.
BUILTINS: Final = tuple(
    """
    Exception False KeyError None True ValueError abs all any bool dict divmod enumerate filter
    float hasattr int isinstance len list map max min pow print range repr reversed round set sorted
    str sum tuple type zip
    """.split()  # noqa: SIM905 - reads best
)
_NAMES: Final = {
    **dict.fromkeys(("fetch", "XMLHttpRequest", "axios"), _NETWORK),
    **dict.fromkeys(("process", "exec", "spawn"), _PROCESS),
    **dict.fromkeys(("null", "undefined", "nil", "NULL", "none"), "in Python: None"),
    **dict.fromkeys(("os", "path", "Path", "pathlib", "shutil"), FILES),
    "sys": _PROCESS,
    "true": "in Python: True",
    "false": "in Python: False",
    "NaN": 'in Python: float("nan")',
    "Infinity": 'in Python: float("inf")',
    "console": "print(value) prints",
    "JSON": "in Python: import json, then json.loads(text) and json.dumps(value)",
    "Math": "in Python: import math",
    "Object": "in Python: a dict has keys(), values() and items()",
    "Array": "in Python: a list, as in list(values)",
    "Promise": "in Python: import asyncio, then await asyncio.gather(*calls)",
    "Date": "in Python: from datetime import datetime",
    "Number": "in Python: float(value)",
    "String": "in Python: str(value)",
    "Boolean": "in Python: bool(value)",
    "Map": "in Python: a dict",
    "Set": "in Python: set(values)",
    "Error": "in Python: Exception(message)",
    "parseInt": "in Python: int(value)",
    "parseFloat": "in Python: float(value)",
    "isNaN": "in Python: import math, then math.isnan(value)",
    "typeof": "in Python: type(value)",
    "new": "in Python: call the class, as in Name(value)",
    "function": "in Python: def name(value):",
    "const": "in Python: name = value",
    "let": "in Python: name = value",
    "var": "in Python: name = value",
    "this": "in Python: self",
    "setTimeout": "in Python: import asyncio, then await asyncio.sleep(seconds)",
    "require": "modules are loaded by import",
    "globals": "variables of the top level stay; they are read by their names",
    "input": "nobody can answer here; put the value into the code",
}
_MODULES: Final = {
    **dict.fromkeys(
        (
            "aiohttp",
            "ftplib",
            "http",
            "httpx",
            "requests",
            "smtplib",
            "socket",
            "urllib",
            "urllib3",
        ),
        _NETWORK,
    ),
    **dict.fromkeys(("glob", "io", "pickle", "shelve", "shutil", "sqlite3", "tempfile"), FILES),
    **dict.fromkeys(("multiprocessing", "signal", "subprocess", "threading"), _PROCESS),
}
_SHORT: Final = {"np": "numpy", "pd": "pandas", "plt": "matplotlib", "bs4": "bs4", "sp": "scipy"}


def instead_of(name: str, functions: str, modules: Collection[str]) -> str:
    """What is here instead of a name that other languages have; empty for other names.

    Args:
        name: The missing name.
        functions: The functions on offer, as text; empty if there are none.
        modules: Modules that can be imported.
    """
    if name in modules:
        return f"write import {name} first"
    if name in _NAMES:
        return filled(_NAMES[name], functions)
    module = _SHORT.get(name, name)
    if module in _MODULES or name in _SHORT:
        return instead_of_module(module, functions, ())
    return ""


def instead_of_module(module: str, functions: str, modules: Collection[str]) -> str:
    """What is here instead of a module.

    Args:
        module: The missing module, with its package.
        functions: The functions on offer, as text; empty if there are none.
        modules: Modules that can be imported.
    """
    text = filled(_MODULES.get(module.partition(".")[0], ""), functions)
    if text:
        return text
    return f"the modules here are {', '.join(sorted(modules))}" if modules else _PACKAGE


def filled(text: str, functions: str) -> str:
    """A text with the functions on offer where it has `{outside}`."""
    return text.format(outside=f"; on offer: {functions}" if functions else "")
