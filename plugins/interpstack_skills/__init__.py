"""Skills as modules: `await import("@/skills/<name>")` in the guest.

`Turn.options["skills"]` says where they are: a directory, or an object with the method of
`interpstack_skills.source.SkillSource`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from interpstack import (
    Capability,
    InterpreterStack,
    ModuleBundle,
    Session,
    Turn,
    hookimpl,
)
from interpstack_skills.loader import skill_loader, skills_section


@hookimpl
def interpstack_resolve_module(
    specifier: str, session: Session
) -> Callable[[], Awaitable[ModuleBundle]] | None:
    return skill_loader(specifier, session.turn.options.get("skills"))


@hookimpl
def interpstack_prompt_section(stack: InterpreterStack, turn: Turn) -> str | None:
    if Capability.MODULES not in stack.engine.capabilities:
        return None
    return skills_section(turn.options.get("skills"))
