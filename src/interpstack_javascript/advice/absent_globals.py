"""What other hosts of JavaScript have, and other languages, and what is here instead."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

__all__ = ["instead_of", "instead_of_module"]

_NETWORK: Final = "there is no network here{outside}"
_FILES: Final = "there is no file system here{outside}"
_PROCESS: Final = "there are no processes here{outside}"
_SHELL: Final = "there is no shell here{outside}"
_PAGE: Final = "there is no page here; the value of the last expression is the answer"
_STORE: Final = "nothing is stored here, but variables of the top level stay for later cells"
_LIBRARY: Final = "no libraries are loaded here; write what you need of it"
_LOCALES: Final = "the host has not added the plugin intl; write the format in code, with Date"
_TEXT: Final = "the value of the last expression is the answer"

#: By name; {outside} names the functions on offer.
_GLOBALS: Final = {
    **dict.fromkeys(
        ("fetch", "XMLHttpRequest", "WebSocket", "EventSource", "Request", "Response", "Headers"),
        _NETWORK,
    ),
    **dict.fromkeys(("axios", "http", "https", "got", "superagent", "net", "request"), _NETWORK),
    **dict.fromkeys(("fs", "fsPromises", "path", "__dirname", "__filename", "open"), _FILES),
    **dict.fromkeys(("process", "os", "child_process", "Deno", "Bun", "exec", "spawn"), _PROCESS),
    **dict.fromkeys(("bash", "cat", "cd", "curl", "git", "grep", "ls", "mkdir", "npm"), _SHELL),
    **dict.fromkeys(("npx", "pip", "pwd", "python", "rm", "sh", "sudo"), _SHELL),
    **dict.fromkeys(("document", "window", "self", "navigator", "location", "DOMParser"), _PAGE),
    **dict.fromkeys(("alert", "confirm", "prompt"), _PAGE),
    **dict.fromkeys(("localStorage", "sessionStorage", "indexedDB"), _STORE),
    **dict.fromkeys(("_", "lodash", "moment", "dayjs", "$", "jQuery", "R", "z", "zod"), _LIBRARY),
    **dict.fromkeys(("cheerio", "d3", "Papa", "pd", "np", "numpy", "pandas", "math"), _LIBRARY),
    **dict.fromkeys(("Intl", "Temporal"), _LOCALES),
    "module": "a cell exports nothing; later cells see its variables",
    "exports": "a cell exports nothing; later cells see its variables",
    "global": "globalThis is the global object",
    "None": "in JavaScript: null",
    "True": "in JavaScript: true",
    "False": "in JavaScript: false",
    "nil": "in JavaScript: null",
    "NULL": "in JavaScript: null",
    "len": "in JavaScript: value.length",
    "str": "in JavaScript: String(value)",
    "int": "in JavaScript: Math.trunc(Number(value))",
    "float": "in JavaScript: Number(value)",
    "bool": "in JavaScript: Boolean(value)",
    "list": "in JavaScript: [...values] or Array.from(values)",
    "dict": "in JavaScript: Object.fromEntries(pairs)",
    "tuple": "in JavaScript: an array, as in [1, 2]",
    "set": "in JavaScript: new Set(values)",
    "range": "in JavaScript: Array.from({length: n}, (_, i) => i)",
    "enumerate": "in JavaScript: values.entries()",
    "zip": "in JavaScript: a.map((value, i) => [value, b[i]])",
    "sum": "in JavaScript: values.reduce((total, value) => total + value, 0)",
    "min": "in JavaScript: Math.min(...values)",
    "max": "in JavaScript: Math.max(...values)",
    "abs": "in JavaScript: Math.abs(value)",
    "round": "in JavaScript: Math.round(value)",
    "sorted": "in JavaScript: values.toSorted(compare)",
    "reversed": "in JavaScript: values.toReversed()",
    "isinstance": "in JavaScript: typeof value, or value instanceof Type",
    "type": "in JavaScript: typeof value",
    "json": "in JavaScript: JSON.parse(text) and JSON.stringify(value)",
    "re": "in JavaScript: a regular expression, as in /a+/g",
    "datetime": "in JavaScript: new Date()",
    "asyncio": "in JavaScript: await Promise.all(promises)",
    "console": _TEXT,
}
#: What is used in place of a global, where it is there: the name that has to be there first.
_IF_THERE: Final = {
    "print": ("console", "console.log(value) prints"),
    "echo": ("console", "console.log(value) prints"),
    "setImmediate": ("setTimeout", "setTimeout(callback, 0) is here"),
    "setInterval": ("setTimeout", "setTimeout(callback, ms) is here"),
    **dict.fromkeys(
        ("delay", "sleep", "wait"),
        ("setTimeout", "await new Promise((resolve) => setTimeout(resolve, ms)) waits"),
    ),
}
#: Conversions of bytes and text: what has to be there, and how it is called.
_CONVERSIONS: Final = {
    "TextEncoder": "new TextEncoder().encode(text)",
    "TextDecoder": "new TextDecoder().decode(bytes)",
    "atob": "atob(base64)",
    "btoa": "btoa(binary)",
}
_MODULES: Final = {
    **dict.fromkeys(
        ("axios", "node-fetch", "undici", "http", "https", "net", "got", "dns", "tls", "ws"),
        _NETWORK,
    ),
    **dict.fromkeys(("fs", "fs/promises", "path"), _FILES),
    **dict.fromkeys(("child_process", "os", "process", "worker_threads", "cluster"), _PROCESS),
    "crypto": "there is no module for it here",
}


def instead_of(name: str, functions: str, there: Collection[str]) -> str:
    """What is here instead of a global that other hosts have; empty for other names.

    Args:
        name: The missing name.
        functions: The functions on offer, as text; empty if there are none.
        there: Names of the globals that are there.
    """
    if name == "require":
        return "modules that are on offer are loaded by await import(name)"
    if name == "Buffer":
        ways = [way for needed, way in _CONVERSIONS.items() if needed in there]
        return f"bytes are a Uint8Array{'; here are ' if ways else ''}{', '.join(ways)}"
    if name in _IF_THERE:
        needed, text = _IF_THERE[name]
        return text if needed in there else _TEXT if needed == "console" else ""
    return _filled(_GLOBALS.get(name, ""), functions)


def instead_of_module(specifier: str, functions: str) -> str:
    """What is here instead of a module that other hosts have; empty for other modules."""
    return _filled(_MODULES.get(specifier.removeprefix("node:"), ""), functions)


def _filled(text: str, functions: str) -> str:
    return text.format(outside=f"; on offer: {functions}" if functions else "")
