"""The two tools of the demo: they see one folder and nothing above it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from langchain_core.tools import BaseTool, tool

if TYPE_CHECKING:
    from interpstack_langchain.demo import Tally

__all__ = ["MAX_FILES", "folder_tools"]

#: Files that are listed at most.
MAX_FILES: Final = 2000
#: Bytes of the largest file that is listed.
_MAX_BYTES: Final = 2**20
_SKIPPED: Final = frozenset({".git", ".venv", "venv", "node_modules", "__pycache__", ".tox"})


def folder_tools(folder: Path, tally: Tally) -> list[BaseTool]:
    """`list_files` and `read_text` for one folder; what they return is counted in `tally`."""

    @tool
    def list_files() -> list[dict[str, Any]]:
        """List the text files of the folder with their size; sorted by path."""
        found: list[dict[str, Any]] = [
            {"path": path.relative_to(folder).as_posix(), "bytes": path.stat().st_size}
            for path in sorted(folder.rglob("*"))
            if _is_listed(path, folder)
        ][:MAX_FILES]
        tally.chars_read += sum(len(str(entry)) for entry in found)
        return found

    @tool
    def read_text(path: str) -> str:
        """Read one text file, given its path as list_files returns it."""
        target = (folder / path).resolve()
        if not target.is_relative_to(folder):
            raise ValueError(f"{path!r} lies outside the folder; use a path from list_files")
        text = target.read_text("utf-8")
        tally.chars_read += len(text)
        return text

    return [list_files, read_text]


def _is_listed(path: Path, folder: Path) -> bool:
    if _SKIPPED & set(path.relative_to(folder).parts) or path.is_symlink() or not path.is_file():
        return False
    if path.stat().st_size > _MAX_BYTES:
        return False
    try:
        path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return True
