"""The folders that modules come from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import attrs

from interpstack import ConfigurationError

__all__ = ["VARIABLE", "Places", "existing", "packages_beside", "places"]

#: Environment variable with folders whose `node_modules` hold packages.
VARIABLE: Final = "INTERPSTACK_NODE_MODULE_DIRS"
_PACKAGES: Final = "node_modules"


@attrs.frozen
class Places:
    """The folders that modules come from.

    Attributes:
        packages: Folders named `node_modules`, in the order of the search. One that is a symbolic
            link is here only if what it leads to has another name.
        working: The folder whose files code may import by path, without symbolic links; `None` for
            no files.
    """

    packages: tuple[Path, ...] = ()
    working: Path | None = None

    @property
    def roots(self) -> tuple[Path, ...]:
        """All that packages are inside of: their folders, and what the links among them lead to."""
        real = [one.resolve() for one in self.packages]
        return tuple(dict.fromkeys([*self.packages, *real]))

    @property
    def readable(self) -> tuple[str, ...]:
        """The folders to read, without those that are inside of others."""
        named = [*([self.working] if self.working else []), *self.roots]
        outer = [one for one in named if not any(other in one.parents for other in named)]
        return tuple(map(str, dict.fromkeys(outer)))


def places(
    module_dirs: Sequence[str | os.PathLike[str]] | None,
    working_dir: str | os.PathLike[str] | None,
) -> Places:
    """The folders that the options name, and the environment after them.

    Args:
        module_dirs: Folders whose `node_modules` hold packages; the entry may be that
            `node_modules`. `None` for those that the environment variable names.
        working_dir: The folder of files, and the last place for packages; `None` for no files, and
            packages of the process's working directory.

    Raises:
        ConfigurationError: A folder that an option names is not there.
    """
    named = module_dirs
    if named is None:
        named = _from_environment()
    else:
        _check_paths("module_dirs", named, "folders")
    working = None if working_dir is None else _folder("working_dir", working_dir)
    bases = [_folder("module_dirs", one) for one in named]
    found = dict.fromkeys(_roots([*bases, working or Path.cwd()]))
    return Places(tuple(found), working)


def packages_beside(folder: Path) -> list[str]:
    """Folders whose `node_modules` hold packages for the files of a folder, for `module_dirs`.

    Those of the environment variable come first; then, as Node searches them, the folder and those
    above it; then the process's working directory.
    """
    above = [one for one in (folder, *folder.parents) if (one / _PACKAGES).is_dir()]
    return [*_from_environment(), *map(str, above), str(Path.cwd())]


def _from_environment() -> list[str]:
    return [one for one in os.environ.get(VARIABLE, "").split(os.pathsep) if one]


def existing(option: str, named: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Files and folders that an option names, as absolute paths without symbolic links.

    Raises:
        ConfigurationError: One is not there.
    """
    _check_paths(option, named, "paths")
    for one in named:
        if not Path(one).exists():
            raise ConfigurationError(f"{option}: file or folder {os.fspath(one)!r} not found")
    return tuple(dict.fromkeys(str(Path(one).resolve()) for one in named))


def _check_paths(option: str, named: Sequence[str | os.PathLike[str]], kind: str) -> None:
    """Refuse an option that is not a list of paths.

    Raises:
        ConfigurationError: It is not.
    """
    if isinstance(named, str | os.PathLike) or not isinstance(named, Sequence):
        raise ConfigurationError(f"{option} takes a list of {kind}; got {named!r:.100}")
    wrong = [one for one in named if not isinstance(one, str | os.PathLike)]
    if wrong:
        raise ConfigurationError(f"{option} takes a list of {kind}; it has {wrong[0]!r:.100}")


def _folder(option: str, value: str | os.PathLike[str]) -> Path:
    if not isinstance(value, str | os.PathLike):
        raise ConfigurationError(f"{option} takes the path of a folder; got {value!r:.100}")
    path = Path(value)
    if not path.is_dir():
        raise ConfigurationError(f"{option}: there is no folder {os.fspath(value)!r}")
    return path.resolve()


def _roots(bases: Sequence[Path]) -> Iterator[Path]:
    """The folders of packages that are there."""
    for base in bases:
        root = base if base.name == _PACKAGES else base / _PACKAGES
        if root.is_dir():
            real = root.resolve()
            yield real if real.name == _PACKAGES else root
