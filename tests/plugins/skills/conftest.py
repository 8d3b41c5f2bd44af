"""Skills in a directory, and a session that may import them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path

import pytest
from engines import OnEngine

from interpstack import HostOffer, InterpreterStack, Limits, Session
from interpstack_skills.api import Skills

MakeSkill = Callable[..., Path]


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    """A directory for skills."""
    root = tmp_path / "skills"
    root.mkdir()
    return root


@pytest.fixture
def skill(skills: Path) -> MakeSkill:
    """Makes a skill of some files."""

    def make(name: str, files: Mapping[str, str | bytes], *, front: str | None = "name: x") -> Path:
        directory = skills / name
        directory.mkdir()
        if front is not None:
            (directory / "SKILL.md").write_text(f"---\n{front}\n---\nHow to use it.\n")
        for path, content in files.items():
            file = directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return directory

    return make


@pytest.fixture
def stack(on_engine: OnEngine) -> Iterator[InterpreterStack]:
    """Keeps one session live; the others hibernate."""
    limits = Limits(cpu_seconds=2)
    plugins = ["console", "skills"]
    with InterpreterStack(on_engine.name, plugins, limits=limits, max_live_sessions=1) as made:
        yield made


@pytest.fixture
def offer(skills: Path) -> HostOffer:
    """Offers the skills."""
    return HostOffer(parts=[Skills(skills)])


@pytest.fixture
async def session(stack: InterpreterStack, offer: HostOffer) -> AsyncIterator[Session]:
    """May import the skills."""
    async with stack.session("main") as made:
        made.bind(offer)
        yield made
