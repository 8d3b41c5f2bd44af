"""Public names of the plugin: the parts that adapters pass to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import attrs

__all__ = ["SkillSource", "Skills"]


class SkillSource(Protocol):
    """Protocol of sources of skills, which find the files of a skill.

    A source may also have a coroutine function `names()`, which returns the names of all skills;
    messages about unknown skills then say which ones are near.
    """

    async def files(self, name: str) -> Mapping[str, str] | None:
        """Texts of a skill's `SKILL.md` and code files, by path below the skill's directory.

        Returns `None` if there is no such skill. Never returns files outside of the skill's
        directory; raises `ValueError` for a skill with more than 256 code files or 1 MiB.
        """


@attrs.frozen
class Skills:
    """Part of a `HostOffer` that gives code skills to import.

    Attributes:
        source: A directory with one subdirectory for each skill, or an object that finds their
            files.
    """

    source: str | Path | SkillSource
