"""Paths of files as code writes them: checked, and compared with what is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from interpstack.checks import listed, shown
from interpstack.similar_names import did_you_mean
from interpstack_files.source import FileLimitExceeded, FileLimits, FileSource

__all__ = ["checked_path", "missing_file", "named", "names_near"]

#: Characters of a path, and bytes of one name in it: what systems take.
_PATH_CHARS: Final = 4096
_NAME_BYTES: Final = 255
#: Characters of a path that a message repeats.
_SHOWN_CHARS: Final = 200
#: Names that a message lists.
_LISTED: Final = 6
_MISSING: Final = "there is no such file or folder"


def checked_path(value: object) -> str:
    """Return a path from the root, without empty parts and `.`.

    Args:
        value: The path as code wrote it; one without `/` in front begins at the root, too.

    Raises:
        TypeError: It is not a string.
        ValueError: It is not a path below the root.
    """
    if not isinstance(value, str):
        raise TypeError(f"a path is a string such as '/data/sales.csv'; got {shown(value)}")
    if len(value) > _PATH_CHARS:
        raise ValueError(f"a path has at most {_PATH_CHARS} characters; this one has {len(value)}")
    parts = [part for part in value.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError(
            f"the path {named(value)} has '..'; write the path from the root, as '/data/sales.csv'"
        )
    try:
        sizes = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        raise ValueError(f"the path {named(value)} is not well-formed text") from None
    if "\0" in value:
        raise ValueError(f"the path {named(value)} has a character NUL, which no file's name has")
    if max(sizes, default=0) > _NAME_BYTES:
        raise ValueError(f"a name in a path has at most {_NAME_BYTES} bytes: {named(value)}")
    return "/" + "/".join(parts)


def named(path: str) -> str:
    """Return a path for a message."""
    text = repr(path)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 2]}…'"


async def names_near(source: FileSource, path: str, limits: FileLimits) -> str:
    """Return a hint about a path that is not there: names in the nearest folder that is."""
    folder, _, name = path.rpartition("/")
    while True:
        try:
            entries = await source.entries(folder or "/", limits)
        except (FileNotFoundError, NotADirectoryError):
            if not folder:
                return ""
            folder, _, name = folder.rpartition("/")
        except (FileLimitExceeded, OSError, ValueError):
            return ""
        else:
            return _hint(folder, name, [entry.path.rpartition("/")[2] for entry in entries])


def missing_file(path: str, names: Sequence[str] | None) -> FileNotFoundError:
    """Return the error for a file that is not there, with a hint; for sources that make their own.

    Args:
        path: The path.
        names: The names in its folder; `None` if they are not known.
    """
    folder, _, name = path.rpartition("/")
    hint = "" if names is None else _hint(folder, name, names)
    return FileNotFoundError(f"{_MISSING}{hint}")


def _hint(folder: str, name: str, names: Sequence[str]) -> str:
    """The names nearest to one that a folder lacks, or some of all names."""
    near = did_you_mean(name, names, most=3, write=lambda one: named(f"{folder}/{one}"))
    if near:
        return near
    there = listed(sorted(names), _LISTED, named) or "nothing"
    return f"; {named(folder or '/')} has no {named(name)}; it has {there}"
