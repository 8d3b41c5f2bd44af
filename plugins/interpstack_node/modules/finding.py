"""From a specifier to a module, as Node finds it, within folders that the host has named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

import attrs

from interpstack_node.modules.builtin import builtin_name, granted
from interpstack_node.modules.manifest import Conditions, exported, imported, manifest
from interpstack_node.modules.places import Places, inside

__all__ = ["Found", "ModuleFinder", "Refused"]

_IMPORT: Final[Conditions] = frozenset({"node", "import", "module-sync"})
_REQUIRE: Final[Conditions] = frozenset({"node", "require"})
_PATH_LIKE: Final = ("./", "../", ".\\", "..\\", "/", "file:")
_LOCAL: Final = (".js", ".mjs")
_FORMATS: Final = {".mjs": "module", ".cjs": "commonjs", ".json": "json"}
#: Bytes of one source.
_MAX_BYTES: Final = 16 * 2**20
_ABSENT: Final = "ERR_MODULE_NOT_FOUND"
_SHOWN_CHARS: Final = 200
_MOST_CHARS: Final = 2000


class Refused(Exception):
    """A specifier leads to no module; the message says why.

    Attributes:
        code: As Node calls such an error.
    """

    def __init__(self, message: str, code: str = _ABSENT) -> None:
        super().__init__(message)
        self.code = code


@attrs.frozen
class Found:
    """A module.

    Attributes:
        name: Its address, as `file:///x/y.js` or `node:path`.
        kind: `module`, `commonjs`, `json`, or `builtin:` with the form in which code gets it.
        local: Whether it is a file of the working folder, which each cell reads again.
    """

    name: str
    kind: str
    local: bool = False


class ModuleFinder:
    """Finds and reads modules.

    Args:
        places: The folders.
        files: Whether `node:fs` is granted.
        network: Whether modules of the network are granted.
    """

    def __init__(self, places: Places, *, files: bool, network: bool) -> None:
        self._places = places
        self._files = files
        #: Whether modules of the network are granted.
        self.network = network

    @property
    def working(self) -> Path | None:
        """The folder whose files code may import by path."""
        return self._places.working

    def has(self, specifier: str) -> bool:
        """Whether a cell that imports this means a built-in module, a file or a package in reach.

        Other specifiers are for the module loaders of the host.
        """
        if builtin_name(specifier) or specifier.startswith(("node:", *_PATH_LIKE)):
            return True
        try:
            self.find("", specifier, require=False)
        except Refused as error:
            return error.code != _ABSENT
        return True

    def searched(self, specifier: str) -> str:
        """Words on the folders that have no such package; empty for a specifier of another kind."""
        try:
            _check_bare(specifier)
        except Refused:
            return ""
        if specifier.startswith(("@/", "#")):
            return ""
        folders = " or ".join(map(str, self._places.packages))
        if not folders:
            return (
                "no folder of packages is searched: the engine's option module_dirs names folders"
            )
        return f"no such package is in {folders} (the engine's option module_dirs names folders)"

    def find(self, base: str, specifier: str, *, require: bool) -> Found:
        """The module that a specifier means.

        Args:
            base: Address of the importing file; empty for a cell.
            specifier: As written there.
            require: Whether it is required, not imported.

        Raises:
            Refused: There is none, or code may not have it.
        """
        if len(specifier) > _MOST_CHARS or not specifier.isprintable():
            raise _not_found(specifier)
        try:
            return self._find(base, specifier, require=require)
        except (OSError, ValueError) as error:  # no name of a file
            raise _not_found(specifier) from error

    def _find(self, base: str, specifier: str, *, require: bool) -> Found:
        importer = _path_of(base) if base else None
        root = None if importer is None else self._places.root_of(importer)
        builtin = builtin_name(specifier)
        if builtin is not None:
            return self._builtin(builtin, specifier, for_package=root is not None)
        if specifier.startswith("node:"):
            raise _not_found(specifier)
        if importer is not None and root is not None:
            return self._for_package(importer, root, specifier, require=require)
        if specifier.startswith(_PATH_LIKE) or specifier in (".", ".."):
            return self._local(importer, specifier)
        _check_bare(specifier)
        return self._bare(specifier, _IMPORT, self._places.packages)

    def source(self, name: str) -> str:
        """The text of a module that was found.

        Raises:
            Refused: It cannot be read any more.
        """
        path = _path_of(name).resolve()
        root = self._places.working if self._is_local(path) else self._places.root_of(path)
        if root is None:
            raise _not_found(name)
        try:
            if path.stat().st_size > _MAX_BYTES:
                raise Refused(f"Module too large: {name}", "ERR_MODULE_TOO_LARGE")
            return path.read_text("utf-8", "replace").removeprefix("\ufeff")
        except OSError as error:
            raise _not_found(name) from error

    def stamp(self, name: str) -> tuple[str, int, int]:
        """The module's address, and the time of change and the size of its file; 0 without one."""
        try:
            status = _path_of(name).stat()
        except (OSError, ValueError):
            return name, 0, 0
        return name, status.st_mtime_ns, status.st_size

    # -- kinds of specifiers ---------------------------------------------------------------

    def _builtin(self, name: str, specifier: str, *, for_package: bool) -> Found:
        form = granted(name, for_package=for_package, files=self._files, network=self.network)
        if form is None:
            raise Refused(f'Importing module "{specifier}" is not allowed', "ERR_ACCESS_DENIED")
        return Found(f"node:{name}", f"builtin:{form}")

    def _is_local(self, path: Path) -> bool:
        working = self._places.working
        return working is not None and inside(path, working) and self._places.root_of(path) is None

    def _local(self, importer: Path | None, specifier: str) -> Found:
        working = self._places.working
        folder = (working or Path("/")) if importer is None else importer.parent
        path = _joined(folder, specifier)
        real = _real_file(path)
        root = real and self._places.root_of(real)
        if real and root:  # as `import.meta.resolve` tells the address of a package
            return _file(real, root, specifier)
        if working is None:
            raise _unsupported(
                specifier,
                "This engine has no working folder (its option working_dir); name a package.",
            )
        if path.is_dir():
            raise _unsupported(specifier, "Directory imports are not supported.")
        if path.suffix not in _LOCAL:
            raise _unsupported(specifier, "Only .js and .mjs files are supported.")
        if real is None or not self._is_local(real) or real.suffix not in _LOCAL:
            raise _not_found(specifier)
        return Found(_address(real), "module", local=True)

    def _for_package(self, importer: Path, root: Path, specifier: str, *, require: bool) -> Found:
        conditions = _REQUIRE if require else _IMPORT
        if specifier.startswith(_PATH_LIKE) or specifier in (".", ".."):
            path = _joined(importer.parent, specifier)
            return _file(path, root, specifier, guess=require)
        if specifier.startswith("#"):
            return self._own_name(importer, root, specifier, conditions)
        _check_bare(specifier)
        own = _package_folder(importer.parent, root)
        if own is not None and _parts(specifier)[0] == manifest(own).get("name"):
            exports = manifest(own).get("exports")
            if exports is not None:
                return _in_package(own, root, specifier, conditions)
        return self._bare(specifier, conditions, _above(importer.parent, root, self._places))

    def _own_name(
        self, importer: Path, root: Path, specifier: str, conditions: Conditions
    ) -> Found:
        folder = _package_folder(importer.parent, root)
        meant = folder and imported(manifest(folder).get("imports"), specifier, conditions)
        if not folder or not meant:
            raise _not_found(specifier)
        if meant.startswith("./"):
            return _file(_joined(folder, meant), root, specifier)
        return self.find(_address(importer), meant, require=conditions is _REQUIRE)

    def _bare(self, specifier: str, conditions: Conditions, roots: tuple[Path, ...]) -> Found:
        name, _ = _parts(specifier)
        for folder in roots:
            package = folder / name
            if not package.is_dir():
                continue
            real, root = package.resolve(), self._places.root_of(folder)
            if root is not None and inside(real, root):
                return _in_package(real, root, specifier, conditions)
        raise _not_found(specifier)


# -- inside a package ----------------------------------------------------------------------


def _in_package(folder: Path, root: Path, specifier: str, conditions: Conditions) -> Found:
    _, subpath = _parts(specifier)
    about = manifest(folder)
    exports = about.get("exports")
    if exports is not None:
        meant = exported(exports, subpath, conditions)
        if meant is None:
            raise Refused(
                f"Package path not exported: {specifier[:_SHOWN_CHARS]}",
                "ERR_PACKAGE_PATH_NOT_EXPORTED",
            )
        return _file(_joined(folder, meant), root, specifier)
    if subpath != ".":
        return _file(_joined(folder, subpath), root, specifier, guess=True)
    main = about.get("main")
    path = _joined(folder, main) if isinstance(main, str) else folder / "index.js"
    try:
        return _file(path, root, specifier, guess=True)
    except Refused as error:
        if error.code != _ABSENT:
            raise
        return _file(folder / "index.js", root, specifier)


def _file(path: Path, root: Path, specifier: str, *, guess: bool = False) -> Found:
    """A file of a package.

    Args:
        path: Where it should be.
        root: The folder of packages that it must be in.
        specifier: For messages.
        guess: Whether an ending may be missing, as where files are required.
    """
    for candidate in _candidates(path) if guess else (path,):
        real = _real_file(candidate)
        if real is None or not inside(real, root):
            continue
        if real.suffix == ".node":
            raise Refused(
                f"Native addons are not allowed: {specifier[:_SHOWN_CHARS]}", "ERR_DLOPEN_DISABLED"
            )
        if real.suffix == ".wasm":
            raise _unsupported(specifier, "WebAssembly modules are not supported.")
        return Found(_address(real), _FORMATS.get(real.suffix) or _format(real, root))
    raise _not_found(specifier)


def _candidates(path: Path) -> Iterator[Path]:
    yield path
    for ending in (".js", ".json", ".node", ".cjs"):
        yield path.with_name(path.name + ending)
    main = manifest(path).get("main") if path.is_dir() else None
    if isinstance(main, str):
        yield _joined(path, main)
        yield _joined(path, f"{main}.js")
        yield _joined(path, f"{main}/index.js")
    for ending in (".js", ".json", ".node"):
        yield path / f"index{ending}"


def _format(path: Path, root: Path) -> str:
    """The kind of a file that its name leaves open."""
    folder = _package_folder(path.parent, root)
    kind = manifest(folder).get("type") if folder is not None else None
    return "module" if kind == "module" else "commonjs"


def _package_folder(folder: Path, root: Path) -> Path | None:
    """The folder of the package that a folder belongs to."""
    for one in (folder, *folder.parents):
        if not inside(one, root) or one == root or one.name == "node_modules":
            return None
        if (one / "package.json").is_file():
            return one
    return None


def _above(folder: Path, root: Path, places: Places) -> tuple[Path, ...]:
    """Folders of packages for an importer: those above it in its own tree, then the named ones."""
    own = [one / "node_modules" for one in (folder, *folder.parents) if inside(one, root)]
    nested = [one for one in own if one.parent.name != "node_modules" and one.is_dir()]
    named = [one for one in (folder, *folder.parents) if one.name == "node_modules"]
    return (*nested, *(one for one in named if inside(one, root)), *places.packages)


# -- texts and paths -----------------------------------------------------------------------


def _parts(specifier: str) -> tuple[str, str]:
    """Name of a package, and the subpath in it."""
    count = 2 if specifier.startswith("@") else 1
    pieces = specifier.split("/")
    rest = "/".join(pieces[count:])
    return "/".join(pieces[:count]), f"./{rest}" if rest else "."


def _check_bare(specifier: str) -> None:
    name = _parts(specifier)[0]
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
        raise _unsupported(specifier, 'Use a package name as "lodash-es", or a path as "./x.mjs".')


def _joined(folder: Path, specifier: str) -> Path:
    """A path as a specifier names it from a folder."""
    if "\0" in specifier:
        raise _not_found(specifier)
    if specifier.startswith("file:"):
        return _path_of(specifier)
    return folder / unquote(specifier.replace("\\", "/"))


def _address(path: Path) -> str:
    return "file://" + quote(str(path), safe="/@:!$&'()*+,;=~")


def _path_of(address: str) -> Path:
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise _not_found(address) from error
    path = unquote(parts.path)
    plain = parts.scheme == "file" and parts.netloc in ("", "localhost")
    if not plain or parts.query or parts.fragment or "\0" in path or not path.startswith("/"):
        raise _not_found(address)
    return Path(path)


def _real_file(path: Path) -> Path | None:
    """A regular file without symbolic links on the way; `None` if there is none."""
    try:
        real = path.resolve()
        return real if real.is_file() else None
    except (OSError, RuntimeError, ValueError):
        return None


def _not_found(specifier: str) -> Refused:
    return Refused(f"Module not found: {specifier[:_SHOWN_CHARS]}")


def _unsupported(specifier: str, advice: str) -> Refused:
    shown = json.dumps(specifier[:_SHOWN_CHARS])
    return Refused(f"Unsupported import specifier {shown}. {advice}", "ERR_UNSUPPORTED_SPECIFIER")
