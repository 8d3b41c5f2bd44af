"""Resolution of specifiers to modules, by Node's rules, within folders that the host has named."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from interpstack_node.modules.builtin import builtin_name, granted
from interpstack_node.modules.manifest import Conditions, imported, manifest
from interpstack_node.modules.package_files import (
    FoundModule,
    folders_above,
    in_package,
    package_file,
    package_folder,
    real_file,
)
from interpstack_node.modules.places import Places, inside
from interpstack_node.modules.specifiers import (
    ABSENT,
    SHOWN_CHARS,
    UnresolvedSpecifier,
    address_of,
    check_bare,
    joined,
    name_and_subpath,
    not_found,
    path_of,
    unsupported,
)

__all__ = ["ModuleFinder"]

_IMPORT: Final[Conditions] = frozenset({"node", "import", "module-sync"})
_REQUIRE: Final[Conditions] = frozenset({"node", "require"})
_PATH_LIKE: Final = ("./", "../", ".\\", "..\\", "/", "file:")
_LOCAL: Final = (".js", ".mjs")
#: Bytes of one source.
_MAX_BYTES: Final = 16 * 2**20
_MOST_CHARS: Final = 2000
#: Names in one folder.
_MOST_NAMES: Final = 10_000


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
        except UnresolvedSpecifier as error:
            return error.code != ABSENT
        return True

    def searched(self, specifier: str) -> str:
        """Words on the folders that have no such package; empty for a specifier of another kind."""
        try:
            check_bare(specifier)
        except UnresolvedSpecifier:
            return ""
        if specifier.startswith(("@/", "#")):
            return ""
        folders = " or ".join(map(str, self._places.packages))
        if not folders:
            return (
                "no folder of packages is searched: the engine's option module_dirs names folders"
            )
        return f"no such package is in {folders} (the engine's option module_dirs names folders)"

    def find(self, base: str, specifier: str, *, require: bool) -> FoundModule:
        """The module that a specifier means.

        Args:
            base: Address of the importing file; empty for a cell.
            specifier: As written there.
            require: Whether it is required, not imported.

        Raises:
            UnresolvedSpecifier: There is none, or code may not have it.
        """
        if len(specifier) > _MOST_CHARS or not specifier.isprintable():
            raise not_found(specifier)
        try:
            return self._find(base, specifier, require=require)
        except (OSError, ValueError) as error:  # no name of a file
            raise not_found(specifier) from error

    def _find(self, base: str, specifier: str, *, require: bool) -> FoundModule:
        importer = path_of(base) if base else None
        root = None if importer is None else self._places.root_of(importer)
        builtin = builtin_name(specifier)
        if builtin is not None:
            return self._builtin(builtin, specifier, for_package=root is not None)
        if specifier.startswith("node:"):
            raise not_found(specifier)
        if importer is not None and root is not None:
            return self._for_package(importer, root, specifier, require=require)
        if specifier.startswith(_PATH_LIKE) or specifier in (".", ".."):
            return self._local(importer, specifier)
        check_bare(specifier)
        return self._bare(specifier, _IMPORT, self._places.packages)

    def source(self, name: str) -> str:
        """The text of a module that was found.

        Raises:
            UnresolvedSpecifier: It cannot be read any more.
        """
        path = path_of(name).resolve()
        root = self._places.working if self._is_local(path) else self._places.root_of(path)
        if root is None:
            raise not_found(name)
        try:
            if path.stat().st_size > _MAX_BYTES:
                raise UnresolvedSpecifier(f"Module too large: {name}", "ERR_MODULE_TOO_LARGE")
            return path.read_text("utf-8", "replace").removeprefix("\ufeff")
        except OSError as error:
            raise not_found(name) from error

    def own_file(self, name: str) -> Mapping[str, Any]:
        """A file of a package, for packages that read their own files.

        Args:
            name: Its path or address.

        Returns:
            Whether there is such a file or folder, and the content of a file as `base64`. Outside
            of the folders of packages, there is nothing.

        Raises:
            UnresolvedSpecifier: The file is too large.
        """
        try:
            given = path_of(name) if name.startswith("file:") else joined(Path("/"), name)
            path = given.resolve()
            if self._places.root_of(path) is None or not path.exists():
                return {"exists": False}
            size = path.stat().st_size if path.is_file() else None
            if size is None or size > _MAX_BYTES:
                content = None
            else:
                content = b64encode(path.read_bytes()).decode("ascii")
        except (OSError, ValueError, RuntimeError, UnresolvedSpecifier):
            return {"exists": False}
        if content is not None:
            return {"exists": True, "base64": content}
        if size is None:
            return {"exists": True}
        raise UnresolvedSpecifier(f"File too large: {name[:SHOWN_CHARS]}", "ERR_FS_FILE_TOO_LARGE")

    def own_folder(self, name: str) -> Mapping[str, Any]:
        """The `names` in a folder of a package, for packages that look for files of their own.

        Args:
            name: Its path or address.

        Returns:
            Whether there is such a folder, and the names in it. Outside of the folders of packages,
            there is nothing.
        """
        try:
            given = path_of(name) if name.startswith("file:") else joined(Path("/"), name)
            path = given.resolve()
            if self._places.root_of(path) is None:
                return {"exists": False}
            with os.scandir(path) as entries:
                names = [entry.name for entry in islice(entries, _MOST_NAMES)]
        except (OSError, ValueError, RuntimeError, UnresolvedSpecifier):
            return {"exists": False}
        return {"exists": True, "names": sorted(names)}

    def stamp(self, name: str) -> tuple[str, int, int]:
        """The module's address, and the time of change and the size of its file; 0 without one."""
        try:
            status = path_of(name).stat()
        except (OSError, ValueError):
            return name, 0, 0
        return name, status.st_mtime_ns, status.st_size

    # -- kinds of specifiers ---------------------------------------------------------------

    def _builtin(self, name: str, specifier: str, *, for_package: bool) -> FoundModule:
        form = granted(name, for_package=for_package, files=self._files, network=self.network)
        if form is None:
            raise UnresolvedSpecifier(
                f'Importing module "{specifier}" is not allowed', "ERR_ACCESS_DENIED"
            )
        return FoundModule(f"node:{name}", f"builtin:{form}")

    def _is_local(self, path: Path) -> bool:
        working = self._places.working
        return working is not None and inside(path, working) and self._places.root_of(path) is None

    def _local(self, importer: Path | None, specifier: str) -> FoundModule:
        working = self._places.working
        folder = (working or Path("/")) if importer is None else importer.parent
        path = joined(folder, specifier)
        real = real_file(path)
        root = real and self._places.root_of(real)
        if real and root:  # as `import.meta.resolve` tells the address of a package
            return package_file(real, root, specifier)
        if working is None:
            raise unsupported(
                specifier,
                "This engine has no working folder (its option working_dir); name a package.",
            )
        if path.is_dir():
            raise unsupported(specifier, "Directory imports are not supported.")
        if path.suffix not in _LOCAL:
            raise unsupported(specifier, "Only .js and .mjs files are supported.")
        if not inside(Path(os.path.normpath(path)), working):
            raise unsupported(specifier, "It leads out of the working folder (option working_dir).")
        if real is None or not self._is_local(real) or real.suffix not in _LOCAL:
            raise not_found(specifier)
        return FoundModule(address_of(real), "module", local=True)

    def _for_package(
        self, importer: Path, root: Path, specifier: str, *, require: bool
    ) -> FoundModule:
        conditions = _REQUIRE if require else _IMPORT
        if specifier.startswith(_PATH_LIKE) or specifier in (".", ".."):
            path = joined(importer.parent, specifier)
            return package_file(path, root, specifier, guess=require)
        if specifier.startswith("#"):
            return self._own_name(importer, root, specifier, conditions)
        check_bare(specifier)
        own = package_folder(importer.parent, root)
        if own is not None and name_and_subpath(specifier)[0] == manifest(own).get("name"):
            exports = manifest(own).get("exports")
            if exports is not None:
                return in_package(own, root, specifier, conditions)
        return self._bare(specifier, conditions, folders_above(importer.parent, root, self._places))

    def _own_name(
        self, importer: Path, root: Path, specifier: str, conditions: Conditions
    ) -> FoundModule:
        folder = package_folder(importer.parent, root)
        meant = folder and imported(manifest(folder).get("imports"), specifier, conditions)
        if not folder or not meant:
            raise not_found(specifier)
        if meant.startswith("./"):
            return package_file(joined(folder, meant), root, specifier)
        return self.find(address_of(importer), meant, require=conditions is _REQUIRE)

    def _bare(self, specifier: str, conditions: Conditions, roots: tuple[Path, ...]) -> FoundModule:
        name, _ = name_and_subpath(specifier)
        for folder in roots:
            package = folder / name
            if not package.is_dir():
                continue
            real, root = package.resolve(), self._places.root_of(folder)
            if root is not None and inside(real, root):
                return in_package(real, root, specifier, conditions)
        raise not_found(specifier)
