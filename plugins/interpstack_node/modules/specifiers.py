"""Specifiers and addresses of modules: their parts and paths, and errors about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

__all__ = [
    "ABSENT",
    "SHOWN_CHARS",
    "UnresolvedSpecifier",
    "address_of",
    "check_bare",
    "joined",
    "name_and_subpath",
    "not_found",
    "path_of",
    "unsupported",
]

#: The code of errors about modules that do not exist.
ABSENT: Final = "ERR_MODULE_NOT_FOUND"
#: Characters of a specifier that a message repeats.
SHOWN_CHARS: Final = 200
#: Characters of an address, of which three may stand for one of a path.
_MOST_CHARS: Final = 12_500
#: Parts of a path. The event loop looks for each one, and a guest may ask for thousands of paths.
_MOST_PARTS: Final = 200


class UnresolvedSpecifier(Exception):
    """A specifier leads to no module; the message says why.

    Attributes:
        code: As Node calls such an error.
    """

    def __init__(self, message: str, code: str = ABSENT) -> None:
        super().__init__(message)
        self.code = code


def name_and_subpath(specifier: str) -> tuple[str, str]:
    """Name of a package, and the subpath in it."""
    count = 2 if specifier.startswith("@") else 1
    pieces = specifier.split("/")
    rest = "/".join(pieces[count:])
    return "/".join(pieces[:count]), f"./{rest}" if rest else "."


def check_bare(specifier: str) -> None:
    """Refuse a specifier that is not the name of a package, with a subpath perhaps.

    Raises:
        UnresolvedSpecifier: It is not.
    """
    name = name_and_subpath(specifier)[0]
    pieces = name.split("/")
    scoped = specifier.startswith("@")
    wrong = (
        not specifier
        or specifier != specifier.strip()
        or any(mark in specifier for mark in ("\\", ":", "%", "\0"))
        or any(piece.startswith(".") or not piece for piece in pieces)
        or ".." in specifier.split("/")
        or "node_modules" in specifier.lower().split("/")
        or len(pieces) != (2 if scoped else 1)
        or name == "@"
    )
    if wrong:
        raise unsupported(specifier, 'Use a package name as "lodash-es", or a path as "./x.mjs".')


def joined(folder: Path, specifier: str) -> Path:
    """The path that a specifier means in a folder.

    Raises:
        UnresolvedSpecifier: The specifier is not a path.
    """
    if "\0" in specifier:
        raise not_found(specifier)
    if specifier.startswith("file:"):
        return path_of(specifier)
    path = unquote(specifier.replace("\\", "/"))
    if path.count("/") > _MOST_PARTS:
        raise not_found(specifier)
    return folder / path


def address_of(path: Path) -> str:
    """The address of a file."""
    return "file://" + quote(str(path), safe="/@:!$&'()*+,;=~")


def path_of(address: str) -> Path:
    """The path in the address of a file.

    Raises:
        UnresolvedSpecifier: The address is not that of a file.
    """
    if len(address) > _MOST_CHARS:
        raise not_found(address)
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise not_found(address) from error
    path = unquote(parts.path)
    plain = parts.scheme == "file" and parts.netloc in ("", "localhost")
    if not plain or parts.query or parts.fragment or "\0" in path or not path.startswith("/"):
        raise not_found(address)
    if path.count("/") > _MOST_PARTS:
        raise not_found(address)
    return Path(path)


def not_found(specifier: str) -> UnresolvedSpecifier:
    """The error for a specifier that leads to no module."""
    return UnresolvedSpecifier(f"Module not found: {specifier[:SHOWN_CHARS]}")


def unsupported(specifier: str, advice: str) -> UnresolvedSpecifier:
    """The error for a specifier of a wrong form, with advice for the author."""
    shown = json.dumps(specifier[:SHOWN_CHARS])
    return UnresolvedSpecifier(
        f"Unsupported import specifier {shown}. {advice}", "ERR_UNSUPPORTED_SPECIFIER"
    )
