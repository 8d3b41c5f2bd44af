"""Sources of skills."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from interpstack import ConfigurationError, call_blocking
from interpstack.checks import shown
from interpstack_skills.api import SkillSource

__all__ = ["MAX_BYTES", "MAX_FILES", "DirectorySkills", "as_source", "checked_files"]

#: Bytes of one skill's files that are loaded.
MAX_BYTES: Final = 2**20
#: Code files of one skill that are loaded.
MAX_FILES: Final = 256
#: Characters of a path that a message repeats.
_SHOWN_CHARS: Final = 100
#: Entries of a skill's directory that are looked at, whatever they are.
_MAX_ENTRIES: Final = 100_000


def as_source(given: Any, endings: tuple[str, ...]) -> SkillSource:
    """The source of skills that a host passed.

    Args:
        given: A directory or a source.
        endings: Endings of code files, for a directory; other sources know them.

    Raises:
        ConfigurationError: It is neither a directory nor a source.
    """
    if isinstance(given, (str, Path)):
        return DirectorySkills(Path(given), endings)
    if callable(getattr(given, "files", None)):
        source: SkillSource = given
        return source
    raise ConfigurationError(
        f"skills takes a directory or an object with files(); got {shown(given)}"
    )


def checked_files(files: Any, endings: tuple[str, ...]) -> Mapping[str, str] | None:
    """The files of a skill as a source returned them, within the bounds of any skill.

    Args:
        files: The answer of `SkillSource.files`.
        endings: Endings of code files; others, except for `SKILL.md`, are left out.

    Raises:
        ValueError: It has another form, too many code files, or too large ones.
    """
    if files is None:
        return None
    if not isinstance(files, Mapping) or not all(type(path) is str for path in files):
        raise ValueError("its source takes files as a mapping of paths to texts")
    code = {path for path in files if path.endswith(endings)}
    if len(code) > MAX_FILES:
        raise ValueError(f"it has more than {MAX_FILES} code files")
    kept = {path: text for path, text in files.items() if path in code or path == "SKILL.md"}
    left = MAX_BYTES
    for path, text in kept.items():
        if type(text) is not str:
            raise ValueError(f"its file {path[:_SHOWN_CHARS]} is not a text")
        short = len(text) <= left  # a longer text need not be encoded to tell
        left -= len(text.encode("utf-8", "surrogatepass") if short else text)
        if left < 0:
            raise ValueError(f"its code has more than {MAX_BYTES} bytes")
    return kept


class DirectorySkills:
    """Skills in a plain directory, one subdirectory each. Files are read when a skill is imported.

    Args:
        root: The directory.
        endings: Endings of code files; others, except for `SKILL.md`, are not loaded.
    """

    def __init__(self, root: Path, endings: tuple[str, ...]) -> None:
        self._root = root
        self._endings = endings

    async def files(self, name: str) -> Mapping[str, str] | None:
        """See `SkillSource.files`. Symbolic links are not followed."""
        return await call_blocking(partial(self._files, name))

    async def names(self) -> list[str]:
        """Names of the directory's skills."""
        return await call_blocking(self._names)

    def _names(self) -> list[str]:
        entries = (entry for entry in self._root.iterdir() if not entry.is_symlink())
        return [entry.name for entry in entries if (entry / "SKILL.md").is_file()]

    def _files(self, name: str) -> Mapping[str, str] | None:
        # Compared with the listing, so that case variants are no second name on any system.
        if name not in {entry.name for entry in self._root.iterdir() if not entry.is_symlink()}:
            return None
        directory = self._root / name
        found: dict[str, str] = {}
        left = MAX_BYTES
        for path in _walk(directory):
            relative = path.relative_to(directory).as_posix()
            if relative != "SKILL.md" and not relative.endswith(self._endings):
                continue
            if len(found) > MAX_FILES:
                raise ValueError(f"it has more than {MAX_FILES} code files")
            data = _read(path, left)
            left -= len(data)
            try:
                found[relative] = data.decode()
            except UnicodeDecodeError as error:
                raise ValueError(f"its file {relative} is not UTF-8 text") from error
        if "SKILL.md" not in found and any(name.endswith(self._endings) for name in found):
            raise ValueError("its folder has no SKILL.md, which every skill needs")
        return found or None


def _read(path: Path, left: int) -> bytes:
    with path.open("rb") as file:
        data = file.read(left + 1)
    if len(data) > left:
        raise ValueError(f"its code has more than {MAX_BYTES} bytes")
    return data


def _walk(directory: Path) -> Iterator[Path]:
    """Files below a directory, without links, hidden entries and installed packages."""
    waiting = [directory]
    seen = 0
    while waiting:
        for entry in sorted(waiting.pop().iterdir()):
            seen += 1
            if seen > _MAX_ENTRIES:
                raise ValueError(f"its directory has more than {_MAX_ENTRIES} entries")
            if entry.is_symlink() or entry.name.startswith(".") or entry.name == "node_modules":
                continue
            if entry.is_dir():
                waiting.append(entry)
            elif entry.is_file():
                yield entry
