"""A source of files with the methods alone that have no default, and some content."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from interpstack_files.api import FileEntry, FileLimits, FileSource

__all__ = ["CONTENT", "MemoryFiles"]

#: The content of every source.
CONTENT = {
    "/data/sales.csv": b"city,sum\r\nOslo,1\r\nBergen,2",
    "/data/deep/er/notes.txt": "æøå\n\nlast\n".encode(),
    "/data/blob.bin": b"\xff\xfe\x00",
    "/readme.md": b"# Title\n",
    "/.hidden/secret.txt": b"dot",
    "/empty": b"",
}


class MemoryFiles(FileSource):
    """A source with the methods alone that have no default."""

    def __init__(self) -> None:
        self.files = dict(CONTENT)

    async def read(self, path: str, limits: FileLimits) -> bytes:
        await asyncio.sleep(0)  # others may change files meanwhile
        if path in self.files:
            return self.files[path]
        raise IsADirectoryError if self._below(path) else FileNotFoundError

    async def entries(self, path: str, limits: FileLimits) -> Sequence[FileEntry]:
        if path in self.files:
            raise NotADirectoryError
        below = self._below(path)
        if not below and path != "/":
            raise FileNotFoundError
        start = len(path.rstrip("/")) + 1
        names = sorted({one[start:].partition("/")[0] for one in below})
        return [await self.stat(path[: start - 1] + f"/{name}") for name in names]

    async def stat(self, path: str) -> FileEntry:
        if path in self.files:
            return FileEntry(path=path, size=len(self.files[path]))
        if not self._below(path) and path != "/":
            raise FileNotFoundError
        return FileEntry(path=path, type="folder")

    async def write(self, path: str, data: bytes, limits: FileLimits) -> None:
        if self._below(path) or path == "/":
            raise IsADirectoryError
        self.files[path] = data

    async def delete(self, path: str, limits: FileLimits) -> None:
        if path not in self.files:
            raise FileNotFoundError
        del self.files[path]

    def _below(self, path: str) -> list[str]:
        return [one for one in self.files if one.startswith(path.rstrip("/") + "/")]
