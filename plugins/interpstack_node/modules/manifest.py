"""The fields of `package.json` that name files, read as Node's resolution algorithm reads them."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

__all__ = ["Conditions", "exported", "imported", "manifest"]

#: Names of conditions that hold for an importer.
Conditions = frozenset[str]
_MAX_BYTES: Final = 2**20
#: Levels of conditions inside each other, and alternatives of one level.
_MAX_DEPTH: Final = 20


def manifest(folder: Path) -> Mapping[str, Any]:
    """The content of a folder's `package.json`; empty if there is none that can be read."""
    path = os.path.join(folder, "package.json")  # noqa: PTH118 - asked for every file of a package
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return {}
    if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
        return {}
    return _read(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=512)
def _read(path: str, modified: int, size: int) -> Mapping[str, Any]:
    """The content of a file; read once for each size and time of change."""
    try:
        content = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def exported(exports: Any, subpath: str, conditions: Conditions) -> str | None:
    """The file that a package exports under a subpath, as `./file.js`; `None` if it exports none.

    Args:
        exports: The field `exports`.
        subpath: `.`, or as `./sub`.
        conditions: The conditions that hold.
    """
    if not isinstance(exports, dict) or not any(str(key).startswith(".") for key in exports):
        exports = {".": exports}
    found = _matched(exports, subpath, conditions)
    return found if found is None or found.startswith("./") else None


def imported(imports: Any, specifier: str, conditions: Conditions) -> str | None:
    """The target of one of a package's own names, as `#name`; `None` if there is none.

    Args:
        imports: The field `imports`.
        specifier: The name.
        conditions: The conditions that hold.
    """
    if not isinstance(imports, dict):
        return None
    return _matched(imports, specifier, conditions)


def _matched(table: Mapping[str, Any], key: str, conditions: Conditions) -> str | None:
    """The target of a key: its own entry, or that of the pattern with the longest beginning."""
    if "*" not in key and key in table:
        return _target(table[key], "", conditions, 0)
    patterns = sorted(
        (pattern for pattern in table if pattern.count("*") == 1),
        key=lambda pattern: (pattern.index("*"), len(pattern)),
        reverse=True,
    )
    for pattern in patterns:
        head, _, tail = pattern.partition("*")
        long_enough = len(key) >= len(head) + len(tail)
        if long_enough and key.startswith(head) and key.endswith(tail):
            part = key[len(head) : len(key) - len(tail)]
            return _target(table[pattern], part, conditions, 0)
    return None


def _target(target: Any, part: str, conditions: Conditions, depth: int) -> str | None:
    if depth > _MAX_DEPTH:
        return None
    if isinstance(target, str):
        return target.replace("*", part)
    if isinstance(target, list):
        found = (_target(one, part, conditions, depth + 1) for one in target[:_MAX_DEPTH])
        return next((one for one in found if one is not None), None)
    if isinstance(target, dict):
        for condition, inner in target.items():
            if condition == "default" or condition in conditions:
                one = _target(inner, part, conditions, depth + 1)
                if one is not None:
                    return one
    return None
