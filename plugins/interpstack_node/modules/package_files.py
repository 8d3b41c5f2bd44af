"""Files of packages, as manifests and guesses lead to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from interpstack_node.modules.manifest import Conditions, exported, manifest
from interpstack_node.modules.places import Places, inside
from interpstack_node.modules.specifiers import (
    ABSENT,
    SHOWN_CHARS,
    UnresolvedSpecifier,
    address_of,
    joined,
    name_and_subpath,
    not_found,
    unsupported,
)

__all__ = [
    "FoundModule",
    "folders_above",
    "in_package",
    "package_file",
    "package_folder",
    "real_file",
]

_FORMATS: Final = {".mjs": "module", ".cjs": "commonjs", ".json": "json"}


@attrs.frozen
class FoundModule:
    """A module.

    Attributes:
        name: Its address, as `file:///x/y.js` or `node:path`.
        kind: `module`, `commonjs`, `json`, or `builtin:` with the form in which code gets it.
        local: Whether it is a file of the working folder, which each cell reads again.
    """

    name: str
    kind: str
    local: bool = False


def in_package(folder: Path, root: Path, specifier: str, conditions: Conditions) -> FoundModule:
    """The file of a package that a specifier means.

    Args:
        folder: The package's own.
        root: The folder of packages that the file must be in.
        specifier: As code writes it.
        conditions: Those under which the manifest is read.

    Raises:
        UnresolvedSpecifier: There is none, or the package does not export it.
    """
    _, subpath = name_and_subpath(specifier)
    about = manifest(folder)
    exports = about.get("exports")
    if exports is not None:
        meant = exported(exports, subpath, conditions)
        if meant is None:
            raise UnresolvedSpecifier(
                f"Package path not exported: {specifier[:SHOWN_CHARS]}",
                "ERR_PACKAGE_PATH_NOT_EXPORTED",
            )
        return package_file(joined(folder, meant), root, specifier)
    if subpath != ".":
        return package_file(joined(folder, subpath), root, specifier, guess=True)
    main = about.get("main")
    path = joined(folder, main) if isinstance(main, str) else folder / "index.js"
    try:
        return package_file(path, root, specifier, guess=True)
    except UnresolvedSpecifier as error:
        if error.code != ABSENT:
            raise
        return package_file(folder / "index.js", root, specifier)


def package_file(path: Path, root: Path, specifier: str, *, guess: bool = False) -> FoundModule:
    """A file of a package.

    Args:
        path: Where it should be.
        root: The folder of packages that it must be in.
        specifier: For messages.
        guess: Whether an ending may be missing, as where files are required.
    """
    for candidate in _candidates(path) if guess else (path,):
        real = real_file(candidate)
        if real is None or not inside(real, root):
            continue
        if real.suffix == ".node":
            raise UnresolvedSpecifier(
                f"Native addons are not allowed: {specifier[:SHOWN_CHARS]}", "ERR_DLOPEN_DISABLED"
            )
        if real.suffix == ".wasm":
            raise unsupported(specifier, "WebAssembly modules are not supported.")
        return FoundModule(address_of(real), _FORMATS.get(real.suffix) or _format(real, root))
    raise not_found(specifier)


def _candidates(path: Path) -> Iterator[Path]:
    yield path
    for ending in (".js", ".json", ".node", ".cjs"):
        yield path.with_name(path.name + ending)
    main = manifest(path).get("main") if path.is_dir() else None
    if isinstance(main, str):
        yield joined(path, main)
        yield joined(path, f"{main}.js")
        yield joined(path, f"{main}/index.js")
    for ending in (".js", ".json", ".node"):
        yield path / f"index{ending}"


def _format(path: Path, root: Path) -> str:
    """The kind of a file that its name leaves open."""
    folder = package_folder(path.parent, root)
    kind = manifest(folder).get("type") if folder is not None else None
    return "module" if kind == "module" else "commonjs"


def package_folder(folder: Path, root: Path) -> Path | None:
    """The folder of the package that a folder belongs to."""
    for one in (folder, *folder.parents):
        if not inside(one, root) or one == root or one.name == "node_modules":
            return None
        if (one / "package.json").is_file():
            return one
    return None


def folders_above(folder: Path, root: Path, places: Places) -> tuple[Path, ...]:
    """Folders of packages for an importer: those above it in its own tree, then the named ones."""
    own = [one / "node_modules" for one in (folder, *folder.parents) if inside(one, root)]
    nested = [one for one in own if one.parent.name != "node_modules" and one.is_dir()]
    named = [one for one in (folder, *folder.parents) if one.name == "node_modules"]
    return (*nested, *(one for one in named if inside(one, root)), *places.packages)


def real_file(path: Path) -> Path | None:
    """A regular file without symbolic links on the way; `None` if there is none."""
    try:
        real = path.resolve()
        return real if real.is_file() else None
    except (OSError, RuntimeError, ValueError):
        return None
