"""Skills from a deepagents backend."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from deepagents.backends.protocol import BackendProtocol

from interpstack_langchain.inner import running_eval

__all__ = ["BackendSkills"]

_MAX_BYTES = 2**20
_MAX_FILES = 256
_LOADED = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx", "SKILL.md")


class BackendSkills:
    """Finds skills through the backend that the agent's own skills come from.

    A skill's directory is the one deepagents' skills middleware found it in; without that
    middleware, `/skills/<name>`.
    """

    def __init__(self, backend: BackendProtocol) -> None:
        if not isinstance(backend, BackendProtocol):
            raise TypeError(f"skills_backend takes a deepagents backend; got {backend!r}")
        self._backend = backend

    async def files(self, name: str) -> Mapping[str, str] | None:
        """Texts of a skill's files by path below its directory; `None` if there is no skill."""
        directory = _directory(name)
        listed = await self._list(directory)
        if f"{directory}/SKILL.md" not in listed:
            return None
        wanted = [path for path in listed if path.endswith(_LOADED)]
        if len(wanted) > _MAX_FILES:
            raise ValueError(f"skill {name!r} has more than {_MAX_FILES} code files")
        found: dict[str, str] = {}
        size = 0
        for path in wanted:
            text = await self._read(path)
            size += len(text.encode("utf-8", "replace"))
            if size > _MAX_BYTES:
                raise ValueError(f"skill {name!r} has more than {_MAX_BYTES} bytes of code")
            found[posixpath.relpath(path, directory)] = text
        return found

    async def _list(self, directory: str) -> list[str]:
        """Files below a directory; whatever the backend says, nothing outside of it."""
        result = await self._backend.aglob("**/*", directory)
        if result.error or result.matches is None:
            raise ValueError(result.error or "the backend listed nothing")
        paths = [posixpath.join(directory, str(match["path"])) for match in result.matches]
        return sorted(
            {path for path in map(posixpath.normpath, paths) if path.startswith(directory + "/")}
        )

    async def _read(self, path: str) -> str:
        result = await self._backend.aread(path, 0, 10**9)
        if result.error or result.file_data is None:
            raise ValueError(result.error or f"{path} cannot be read")
        content: Any = result.file_data["content"]
        return content if isinstance(content, str) else "\n".join(content)


def _directory(name: str) -> str:
    state = running_eval.get().request.state
    known = state.get("skills_metadata") if isinstance(state, dict) else None
    for skill in known or ():
        if skill.get("name") == name and skill.get("path"):
            return posixpath.dirname(str(skill["path"])).rstrip("/")
    return f"/skills/{name}"
