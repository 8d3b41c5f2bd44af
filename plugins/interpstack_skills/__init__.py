"""Skills as modules: code imports `@/skills/<name>`.

An adapter adds `interpstack_skills.api.Skills` to the parts of its offer: that part says where the
skills are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from interpstack import Capability, HostOffer, ModuleBundle, SessionView, StackView, hookimpl
from interpstack_skills.api import Skills
from interpstack_skills.loader import skill_loader, skills_section


@hookimpl
def interpstack_resolve_module(
    specifier: str, session: SessionView
) -> Callable[[], Awaitable[ModuleBundle]] | None:
    offered = session.offer.part(Skills)
    return None if offered is None else skill_loader(specifier, offered, session.language)


@hookimpl
def interpstack_prompt_section(stack: StackView, offer: HostOffer) -> str | None:
    if offer.part(Skills) is None or Capability.MODULES not in stack.engine.capabilities:
        return None
    return skills_section(stack.language)
