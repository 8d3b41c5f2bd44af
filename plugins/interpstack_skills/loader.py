"""From a specifier to the files of a skill."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from interpstack import GuestException, GuestLanguage, ModuleBundle, call_blocking
from interpstack.similar_names import did_you_mean
from interpstack_skills.api import Skills, SkillSource
from interpstack_skills.front_matter import read_front_matter
from interpstack_skills.source import as_source, checked_files

__all__ = ["skill_loader", "skills_section"]

_PREFIX: Final = "@/skills/"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
#: Names of skills that a message lists at most.
_LISTED: Final = 20
#: Characters of a specifier that a message repeats.
_SHOWN_CHARS: Final = 100


def skill_loader(
    specifier: str, offered: Skills, language: GuestLanguage
) -> Callable[[], Awaitable[ModuleBundle]] | None:
    """The function that loads a skill; `None` for any other specifier."""
    source = as_source(offered.source, language.module_endings)
    if not specifier.startswith(_PREFIX):
        return None
    name = specifier.removeprefix(_PREFIX)

    async def load() -> ModuleBundle:
        if not _NAME.fullmatch(name):
            shown = specifier[:_SHOWN_CHARS]
            raise _unavailable(f'{shown!r} is not the name of a skill; import "{_PREFIX}<name>"')
        try:
            files = checked_files(await source.files(name), language.module_endings)
            known = await _names(source) if files is None else []
        except Exception as error:
            raise _unavailable(f"skill {name!r} cannot be loaded: {_reason(error)}") from error
        if files is None:
            raise _unavailable(f"there is no skill {name!r}{_hint(name, known)}")
        return await call_blocking(partial(_bundle, name, files, language))

    return load


async def _names(source: SkillSource) -> list[str]:
    names = getattr(source, "names", None)
    listed = await names() if callable(names) else ()
    return sorted(one for one in listed if isinstance(one, str) and _NAME.fullmatch(one))


def _hint(name: str, known: Sequence[str]) -> str:
    """The nearest names; all of them, if none is near and they are few."""
    if near := did_you_mean(name, known, most=3, alike=0.5):
        return near
    return f"; there are: {', '.join(known)}" if 0 < len(known) <= _LISTED else ""


def _reason(error: Exception) -> str:
    """The reason of an error, without the host's paths."""
    if isinstance(error, OSError) and error.filename is not None:
        return error.strerror or type(error).__name__
    return str(error) or type(error).__name__


def _bundle(name: str, files: Mapping[str, str], language: GuestLanguage) -> ModuleBundle:
    entry = _entry(name, files, language)
    endings = language.module_endings
    code = {f"{_PREFIX}{name}/{path}": t for path, t in files.items() if path.endswith(endings)}
    return ModuleBundle(f"{_PREFIX}{name}/{entry}", code)


def _entry(name: str, files: Mapping[str, str], language: GuestLanguage) -> str:
    """The file a skill starts with: `module` in its front matter, or the usual names."""
    wanted = _front_matter(name, files.get("SKILL.md", "")).get("module")
    if wanted is None:
        entries = language.module_entries
        found = next((entry for entry in entries if entry in files), None)
        if found is None:
            usual = f", and it has no {entries[0]}" if entries else ""
            raise _unavailable(
                f"skill {name!r} has no code to import: its SKILL.md names no `module`{usual}; "
                "read its SKILL.md instead"
            )
        return found
    if not isinstance(wanted, str):
        raise _unavailable(f"skill {name!r}: `module` in its SKILL.md takes the path of a file")
    path = posixpath.normpath(wanted)
    if path not in files or not path.endswith(language.module_endings):
        raise _unavailable(
            f"skill {name!r}: its SKILL.md names the module {wanted[:_SHOWN_CHARS]!r}, which is "
            "not one of its code files"
        )
    return path


def _front_matter(name: str, text: str) -> Mapping[str, Any]:
    try:
        return read_front_matter(text)
    except ValueError as error:
        raise _unavailable(f"skill {name!r}: the front matter of its SKILL.md {error}") from error


def skills_section(language: GuestLanguage) -> str:
    """The prompt section on skills."""
    specifier = f"{_PREFIX}<name>"
    code = language.words.importing.replace("{specifier}", specifier)
    how = f"`{code}` gives" if code else f"importing `{specifier}` gives"
    return f"Skills with code are modules: {how} what the skill exports."


def _unavailable(message: str) -> GuestException:
    return GuestException(message, name="ModuleNotFound")
