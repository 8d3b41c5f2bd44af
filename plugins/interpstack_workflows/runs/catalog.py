"""Known workflows: scripts by name, and files within the folders that are allowed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from interpstack import ConfigurationError, call_blocking
from interpstack.checks import listed, shown
from interpstack.similar_names import did_you_mean
from interpstack_workflows.errors import MetadataError, UnknownWorkflow
from interpstack_workflows.module.metadata import WorkflowMetadata, read_metadata
from interpstack_workflows.runs.values import Script

__all__ = ["ENDINGS", "WorkflowCatalog", "metadata_of"]

_read = lru_cache(maxsize=256)(read_metadata)
#: Endings of files that may hold a workflow.
ENDINGS: Final = (".js", ".mjs", ".ts", ".mts")
#: Bytes of a workflow file at most.
_FILE_BYTES: Final = 2**20
_LISTED: Final = 20


async def metadata_of(script: Script) -> WorkflowMetadata:
    """Return the metadata of a script; that of scripts read lately is remembered.

    Raises:
        MetadataError: The script has no metadata, or they are not valid.
    """
    return await call_blocking(partial(_read, script.source, name=script.source_name))


class WorkflowCatalog:
    """The workflows that a runner knows.

    Args:
        workflows: Names with their files or sources; or folders, whose workflows are known by the
            name in their metadata. Files in these folders, and beside named files, may be called
            by path.

    Raises:
        ConfigurationError: A path is not that of a folder.
    """

    def __init__(self, workflows: Mapping[str, Path | str] | Iterable[Path | str] = ()) -> None:
        self._named: dict[str, Path | str] = {}
        self._folders: list[Path] = []
        self._read: dict[Path, tuple[float, str]] = {}
        if isinstance(workflows, Mapping):
            self._named = {name: _as_given(value) for name, value in workflows.items()}
        else:
            self._folders = [Path(folder) for folder in _several(workflows)]
        for folder in self._folders:
            _check(folder)

    def names(self) -> list[str]:
        """Return all known names, in order."""
        return sorted({*self._named, *(name for name, _ in self._in_folders())})

    def given(self, what: Path | str) -> Script:
        """Return the script that a user gave as a path, a name or a source.

        Raises:
            UnknownWorkflow: The text is neither a source nor a known name, or the file is missing.
        """
        if isinstance(what, Path):
            return self._file(what, what.name)
        if not isinstance(what, str):
            raise UnknownWorkflow(
                f"a workflow is a Path, the name of a known one, or a source; got {shown(what)}"
            )
        if what in self._named or ("\n" not in what and what in self.names()):
            return self._by_name(what)
        if "\n" in what or "export" in what:
            return Script(what)
        if what.endswith(ENDINGS):
            return self._file(Path(what), what)
        return self._by_name(what)

    def named(self, name: str) -> Script:
        """Return the script of a name, as a workflow calls it.

        Raises:
            UnknownWorkflow: No workflow has this name; the message lists the known ones.
        """
        return self._by_name(name)

    def beside(self, caller: Script, relative: str) -> Script:
        """Return the script at a path relative to the one that calls it.

        Raises:
            UnknownWorkflow: The file is missing, or outside the folders that are allowed.
        """
        base = caller.path.parent if caller.path is not None else Path.cwd()
        path = (base / relative).resolve()
        allowed = [folder.resolve() for folder in self._allowed(caller)]
        if not any(path.is_relative_to(folder) for folder in allowed):
            places = ", ".join(map(str, allowed)) or "none: the calling script has no file"
            raise UnknownWorkflow(
                f"Script path {relative!r} is outside the allowed folders ({places}); put the"
                " script beside its caller, or give its folder to the runner as workflows=[folder]"
            )
        if path.suffix not in ENDINGS:
            raise UnknownWorkflow(
                f"Script path {relative!r} is not a workflow file; these end in "
                f"{', '.join(ENDINGS)}"
            )
        return self._file(path, relative)

    def _allowed(self, caller: Script) -> Iterator[Path]:
        yield from self._folders
        yield from (path.parent for path in self._named.values() if isinstance(path, Path))
        if caller.path is not None:
            yield caller.path.parent

    def _by_name(self, name: str) -> Script:
        value = self._named.get(name)
        if isinstance(value, str):
            return Script(value, f"{name}.js", None, name)
        path = value or next((path for known, path in self._in_folders() if known == name), None)
        if path is None:
            raise UnknownWorkflow(_unknown(name, self.names()))
        return self._file(path, path.name, name)

    def _in_folders(self) -> Iterator[tuple[str, Path]]:
        """Names in the metadata of the files in all folders; files without any are left out."""
        for folder in self._folders:
            for path in sorted(folder.iterdir() if folder.is_dir() else ()):
                if path.suffix in ENDINGS and path.is_file():
                    name = self._name(path)
                    if name:
                        yield name, path

    def _name(self, path: Path) -> str:
        changed = path.stat().st_mtime
        known = self._read.get(path)
        if known is None or known[0] != changed:
            try:
                text = path.read_text("utf-8") if path.stat().st_size <= _FILE_BYTES else ""
                name = _read(text, name=path.name).name
            except (MetadataError, UnicodeDecodeError):
                name = ""
            self._read[path] = known = (changed, name)
        return known[1]

    def _file(self, path: Path, shown: str, name: str = "") -> Script:
        try:
            if path.stat().st_size > _FILE_BYTES:
                raise UnknownWorkflow(f"{shown} is larger than a workflow may be: 1 MiB")
            return Script(path.read_text("utf-8"), path.name, path.resolve(), name)
        except OSError as error:
            raise UnknownWorkflow(
                f"No workflow file at {shown}: {error.strerror or error}; known workflows:"
                f" {listed(self.names(), _LISTED) or 'none'}"
            ) from error
        except UnicodeDecodeError as error:
            raise UnknownWorkflow(
                f"{shown} is not UTF-8 text: {error.reason}; save it as UTF-8"
            ) from error


def _as_given(value: Path | str) -> Path | str:
    """Return a path if the text names a file, else a source."""
    if isinstance(value, str) and "\n" not in value and value.endswith(ENDINGS):
        return Path(value)
    return value


def _check(folder: Path) -> None:
    """Refuse a path that is not a folder: its workflows would be missed much later.

    Raises:
        ConfigurationError: There is no such folder.
    """
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise ConfigurationError(
            f"WorkflowRunner: workflows takes folders, and {str(folder)!r} {what}; it also takes a"
            " mapping from names to files or sources"
        )


def _several(workflows: Iterable[Path | str]) -> Iterable[Path | str]:
    return [workflows] if isinstance(workflows, (str, Path)) else workflows


def _unknown(name: str, known: list[str]) -> str:
    meant = did_you_mean(name, known) or "."
    if meant == "." and name.endswith(ENDINGS):
        meant = f"; a file is named as workflow({{scriptPath: {name!r:.80}}})."
    return f"Unknown workflow: {name}{meant} Known workflows: {listed(known, _LISTED) or 'none'}"
