"""Skills from a deepagents backend."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from interpstack.checks import shown
from interpstack_langchain.evals.eval_call import running_eval

if TYPE_CHECKING:
    from deepagents.backends.protocol import BackendProtocol

__all__ = ["BackendSkills"]

_MAX_BYTES: Final = 2**20
_MAX_FILES: Final = 256


class BackendSkills:
    """Finds skills through the backend of the agent's own skills.

    A skill's directory is the one in which deepagents' skills middleware found the skill; without
    that middleware, it is `/skills/<name>`.

    Args:
        backend: Lists files with `aglob`, hands them out with `adownload_files`.
        endings: Endings of code files.

    Raises:
        TypeError: The object is not a backend.
    """

    def __init__(self, backend: BackendProtocol, endings: tuple[str, ...]) -> None:
        from deepagents.backends.protocol import BackendProtocol  # loaded with the backend

        if not isinstance(backend, BackendProtocol):
            raise TypeError(f"skills_backend takes a deepagents backend; got {shown(backend)}")
        self._backend = backend
        self._endings = endings

    async def files(self, name: str) -> Mapping[str, str] | None:
        """Texts of a skill's files by path below its directory; `None` if there is no skill.

        Raises:
            ValueError: The skill is too large, or the backend cannot hand it out.
        """
        directory = _directory(name)
        sizes = {} if directory is None else await self._list(directory)
        if directory is None or "SKILL.md" not in sizes:
            return None
        if len(sizes) > _MAX_FILES + 1:
            raise ValueError(f"it has more than {_MAX_FILES} code files")
        _check_size(sum(sizes.values()))
        return await self._download(directory, list(sizes))

    async def names(self) -> list[str]:
        """Names of the agent's skills; empty if the agent has none."""
        return [str(skill["name"]) for skill in _known() or () if "name" in skill]

    async def _list(self, directory: str) -> dict[str, int]:
        """Code files and `SKILL.md` below a directory with their sizes, 0 where unknown.

        Check that the backend returned only files in the directory.
        """
        result = await self._backend.aglob("**/*", directory)
        if result.error or result.matches is None:
            raise ValueError(result.error or "the backend listed nothing")
        if result.truncated:
            raise ValueError("its directory has more files than the backend lists")
        found: dict[str, int] = {}
        for match in sorted(result.matches, key=lambda match: str(match["path"])):
            # Backends give absolute paths or paths below the directory.
            path = posixpath.normpath(posixpath.join(directory, str(match["path"])))
            relative = path.removeprefix(f"{directory}/")
            wanted = relative == "SKILL.md" or relative.endswith(self._endings)
            if relative != path and wanted and "node_modules" not in relative.split("/"):
                found[relative] = match.get("size", 0)
        return found

    async def _download(self, directory: str, paths: list[str]) -> dict[str, str]:
        # Not `aread`: it cuts lines, and takes some code files for videos.
        answers = await self._backend.adownload_files([f"{directory}/{path}" for path in paths])
        found: dict[str, str] = {}
        for path, answer in zip(paths, answers, strict=True):
            if answer.content is None:
                raise ValueError(f"its file {path} cannot be read: {answer.error}")
            try:
                found[path] = answer.content.decode()
            except UnicodeDecodeError as error:
                raise ValueError(f"its file {path} is not UTF-8 text") from error
        _check_size(sum(len(answer.content or b"") for answer in answers))
        return found


def _check_size(size: int) -> None:
    if size > _MAX_BYTES:
        raise ValueError(f"its code has more than {_MAX_BYTES} bytes")


def _directory(name: str) -> str | None:
    """The directory of a skill; `None` if the agent's skills do not include this one."""
    known = _known()
    if known is None:
        return f"/skills/{name}"
    paths = [str(skill["path"]) for skill in known if skill.get("name") == name]
    return posixpath.dirname(posixpath.normpath(paths[-1])) if paths else None


def _known() -> Any:
    """The skills that deepagents' skills middleware found; `None` without that middleware."""
    state: Any = running_eval.get().request.state
    return state.get("skills_metadata") if isinstance(state, dict) else None
