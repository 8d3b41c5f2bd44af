"""Where skills come from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from interpstack import ConfigurationError

__all__ = ["MAX_BYTES", "MAX_FILES", "DirectorySkills", "SkillSource", "as_source", "is_code"]

#: Bytes of one skill's files that are loaded.
MAX_BYTES: Final = 2**20
#: Files of one skill that are loaded.
MAX_FILES: Final = 256
_CODE: Final = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")


class SkillSource(Protocol):
    """Finds the files of a skill."""

    async def files(self, name: str) -> Mapping[str, str] | None:
        """Texts of a skill's `SKILL.md` and code files, by path below the skill's directory.

        Returns `None` if there is no such skill. Never returns what lies outside of its
        directory; raises `ValueError` for a skill beyond `MAX_FILES` or `MAX_BYTES`.
        """


def as_source(given: Any) -> SkillSource | None:
    """The source that `Turn.options["skills"]` means.

    Raises:
        ConfigurationError: It is neither a directory nor a source.
    """
    if given is None:
        return None
    if isinstance(given, (str, Path)):
        return DirectorySkills(Path(given))
    if callable(getattr(given, "files", None)):
        source: SkillSource = given
        return source
    raise ConfigurationError(f"skills takes a directory or an object with files(); got {given!r}")


def is_code(path: str) -> bool:
    """Whether a file can be imported."""
    return path.endswith(_CODE)


class DirectorySkills:
    """Skills in a plain directory, one subdirectory each.

    Raises:
        ConfigurationError: It is no directory.
    """

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise ConfigurationError(f"skills: {str(root)!r} is no directory")
        self._root = root.resolve()

    async def files(self, name: str) -> Mapping[str, str] | None:
        """See `SkillSource.files`. Symbolic links are not followed."""
        # Compared with the listing, so that case variants are no second name on any system.
        if name not in {entry.name for entry in self._root.iterdir() if not entry.is_symlink()}:
            return None
        directory = self._root / name
        if not (directory / "SKILL.md").is_file():
            return None
        found: dict[str, str] = {}
        size = 0
        for path in _walk(directory):
            relative = path.relative_to(directory).as_posix()
            if relative != "SKILL.md" and not is_code(relative):
                continue
            size += path.stat().st_size
            if len(found) >= MAX_FILES or size > MAX_BYTES:
                raise ValueError(
                    f"skill {name!r} has more than {MAX_FILES} code files or {MAX_BYTES} bytes"
                )
            found[relative] = path.read_text("utf-8")
        return found


def _walk(directory: Path) -> list[Path]:
    """Files below a directory, without following links, sorted."""
    files: list[Path] = []
    for entry in sorted(directory.iterdir()):
        if entry.is_symlink():
            continue
        if entry.is_dir() and entry.name != "node_modules":
            files += _walk(entry)
        elif entry.is_file():
            files.append(entry)
    return files
