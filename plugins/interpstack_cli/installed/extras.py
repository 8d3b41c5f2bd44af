"""Extras of installed distributions: which packages each one brings, and which are missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, version
from typing import Final

import attrs

__all__ = ["Extra", "extra_for", "extras_of"]

#: A requirement that belongs to an extra, as in `jsrun<0.4,>=0.3; extra == "v8-engine"`.
_REQUIREMENT: Final = re.compile(
    r"\s*(?P<name>[\w.-]+).*;.*\bextra\s*==\s*[\"'](?P<extra>[^\"']+)[\"']",
    re.DOTALL,
)


@attrs.frozen
class Extra:
    """One extra of a distribution.

    Attributes:
        name: The name of the extra, without the distribution's.
        installed: Versions of the packages that are installed, by package.
        missing: Packages that are not installed, sorted.
    """

    name: str
    installed: dict[str, str]
    missing: tuple[str, ...]


def extras_of(distribution: Distribution) -> Iterator[Extra]:
    """Yield the extras that bring packages, sorted by name; nothing is imported."""
    for extra, packages in sorted(_packages(distribution).items()):
        versions = {name: _version(name) for name in sorted(packages)}
        yield Extra(
            name=extra,
            installed={name: found for name, found in versions.items() if found is not None},
            missing=tuple(name for name, found in versions.items() if found is None),
        )


def extra_for(entry: EntryPoint, error: BaseException | None) -> str:
    """Name the extra that brings the package whose import failed; empty if none does.

    Args:
        entry: The entry point whose import failed; its distribution is searched.
        error: The exception of the import.
    """
    if not isinstance(error, ModuleNotFoundError) or entry.dist is None:
        return ""
    module = (error.name or "").partition(".")[0]
    if module in ("", entry.module.partition(".")[0], "interpstack"):
        return ""
    provided = entry.dist.metadata.get_all("Provides-Extra") or []
    if "commands" in entry.group and entry.name in provided:
        return entry.name  # it may need more than the one package that was missed first
    extras = sorted(_packages(entry.dist).items(), key=lambda item: (len(item[1]), item[0]))
    for extra, packages in extras:  # the one that brings the least comes first
        if _normal(module) in map(_normal, packages):
            return extra
    # The package may be called other than its module, or be required by another one.
    plain = entry.name.replace("_", "-")
    return next((name for name in (plain, f"{plain}-engine") if name in provided), "")


def _packages(distribution: Distribution) -> dict[str, set[str]]:
    """Required packages by extra; an extra that only combines others has none."""
    found: dict[str, set[str]] = {}
    own = _normal(distribution.name)
    for requirement in distribution.requires or ():
        match = _REQUIREMENT.match(requirement)
        if match is not None and _normal(match["name"]) != own:
            found.setdefault(match["extra"], set()).add(match["name"])
    return found


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
