"""The two tools of the demo: they see one folder and nothing above it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import attrs
from langchain_core.tools import BaseTool, tool

from interpstack_demo.tally import LeftOut, Tally

__all__ = ["MAX_FILES", "folder_tools", "survey"]

#: Files that are listed at most.
MAX_FILES: Final = 2000
#: Bytes of the largest file that is listed.
_MAX_BYTES: Final = 2**20
#: Files and folders that are looked at, whatever they are.
_MAX_ENTRIES: Final = 100_000
_SKIPPED: Final = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__", ".tox"})


def survey(folder: Path, max_files: int = MAX_FILES) -> tuple[list[dict[str, Any]], list[LeftOut]]:
    """The text files of a folder, sorted by path, and the skipped files."""
    listed: list[dict[str, Any]] = []
    left_out: dict[str, LeftOut] = {}
    for path, reason in _entries(folder):
        name = path.relative_to(folder).as_posix()
        reason = reason or _refusal(path)
        if not reason and len(listed) >= max_files:
            reason = f"beyond the first {max_files} files"
        if not reason:
            listed.append({"path": name, "bytes": path.stat().st_size})
            continue
        left_out.setdefault(reason, LeftOut(reason)).add(name)
    return sorted(listed, key=itemgetter("path")), list(left_out.values())


def folder_tools(folder: Path, tally: Tally) -> list[BaseTool]:
    """The tools `list_files` and `read_text` for one folder; `tally` counts their results."""

    @tool
    def list_files() -> dict[str, Any]:
        """List the folder's text files with their sizes, sorted by path, and the skipped files.

        The answer has `files`, of `path` and `bytes`, and `left_out`, of `reason`, `count` and
        `examples`.
        """
        files, left_out = survey(folder)
        tally.leave_out(left_out)
        found = {"files": files, "left_out": [attrs.asdict(one) for one in left_out]}
        tally.add_read(str(found))
        return found

    @tool
    def read_text(path: str) -> str:
        """Read one text file, named by a path that list_files returned."""
        target = (folder / path).resolve()
        if not target.is_relative_to(folder):
            raise ValueError(f"{path!r} lies outside the folder; use a path from list_files")
        text = target.read_text("utf-8")
        tally.add_read(text)
        return text

    return [list_files, read_text]


def _entries(folder: Path) -> Iterator[tuple[Path, str]]:
    """Files in the order of their paths, and folders that are not looked into with the reason."""
    left = _MAX_ENTRIES
    waiting = [folder]
    while waiting:
        at = waiting.pop()
        try:
            entries = sorted(os.scandir(at), key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            yield at, f"folders that cannot be read ({error.strerror or type(error).__name__})"
            continue
        left -= len(entries)
        if left < 0:
            yield at, f"folders beyond the first {_MAX_ENTRIES} entries"
            continue
        for entry in reversed(entries):
            path = Path(entry.path)
            if not entry.is_dir(follow_symlinks=False):
                yield path, ""
            elif entry.name in _SKIPPED:
                yield path, "folders of tools, not searched"
        waiting += [
            Path(entry.path)
            for entry in entries
            if entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED
        ]


def _refusal(path: Path) -> str:
    """The reason why a file is not listed; empty if it is listed."""
    if path.is_symlink():
        return "symbolic links"
    if not path.is_file():
        return "neither files nor folders"
    try:
        if path.stat().st_size > _MAX_BYTES:
            return f"larger than {_MAX_BYTES // 2**20} MiB"
        path.read_text("utf-8")
    except OSError as error:
        return f"files that cannot be read ({error.strerror or type(error).__name__})"
    except UnicodeDecodeError:
        return "not UTF-8 text"
    return ""
