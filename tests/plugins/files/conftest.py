"""Sources of files with the same content, and sessions whose code has them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from engines import OnEngine
from memory_files import CONTENT, MemoryFiles

from interpstack import InterpreterStack, Session
from interpstack_files.api import DirectoryFiles, FileLimits, Files, FileSource, Overlay


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory with the content."""
    root = tmp_path / "root"
    for path, data in CONTENT.items():
        file = root / path[1:]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return root


@pytest.fixture(params=["directory", "overlay", "written overlay", "memory"])
async def source(request: pytest.FixtureRequest, directory: Path) -> FileSource:
    """Each source, with the content."""
    if request.param == "memory":
        return MemoryFiles()
    if request.param == "directory":
        return DirectoryFiles(directory)
    if request.param == "overlay":
        return Overlay(DirectoryFiles(directory))
    empty = directory.parent / "empty"
    empty.mkdir()
    made = Overlay(DirectoryFiles(empty))
    for path, data in CONTENT.items():
        await made.write(path, data, FileLimits())
    return made


MakeSession = Callable[[Files], Session]


@pytest.fixture
async def make_session(on_engine: OnEngine) -> AsyncIterator[MakeSession]:
    """Makes sessions whose code has files."""
    stacks: list[InterpreterStack] = []

    def make(files: Files) -> Session:
        stacks.append(InterpreterStack(on_engine.name, ["console", files]))
        return stacks[-1].session("one")

    yield make
    for stack in stacks:
        await stack.aclose()
