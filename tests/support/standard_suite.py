"""Programs of the JavaScript standard's suite, as scripts."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import yaml

__all__ = ["Program", "sample"]

_FRONT = re.compile(r"/\*---(.*?)---\*/", re.DOTALL)
_FOLDERS = ("test/language", "test/annexB/language")
#: What scripts of one realm cannot be, and what the harness of a host must have.
_LEFT_OUT = {"module", "raw", "async", "CanBlockIsFalse", "CanBlockIsTrue"}


@attrs.frozen
class Program:
    """A program.

    Attributes:
        name: Its path in the suite.
        scripts: What runs before it, and the program itself.
    """

    name: str
    scripts: tuple[str, ...]


def sample(folder: Path, size: int, seed: int) -> Sequence[Program]:
    """A seeded sample of the programs that are plain scripts."""
    paths = sorted(path for each in _FOLDERS for path in (folder / each).rglob("*.js"))
    random.Random(seed).shuffle(paths)
    found: list[Program] = []
    for path in paths:
        if len(found) == size:
            break
        found += _program(folder, path)
    return found


def _program(folder: Path, path: Path) -> Iterator[Program]:
    source = path.read_text("utf-8")
    front = _FRONT.search(source)
    about = {} if front is None else yaml.safe_load(front[1].replace("\r", "\n"))
    flags = about.get("flags") or []
    if path.name.endswith("_FIXTURE.js") or _LEFT_OUT.intersection(flags) or "$262" in source:
        return
    if "onlyStrict" in flags:
        source = f'"use strict";\n{source}'
    names = ["assert.js", "sta.js", *(about.get("includes") or [])]
    harness = [(folder / "harness" / name).read_text("utf-8") for name in names]
    yield Program(str(path.relative_to(folder)), (*harness, source))
