"""Public names of the plugin: the part for adapters to pass to it, and sources of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal

import attrs

from interpstack import (
    BridgeRegistry,
    ConfigurationError,
    GuestLanguage,
    HostOffer,
    StackView,
    hookimpl,
)
from interpstack.checks import expect, shown
from interpstack_files.bridges import file_bridges, function_names
from interpstack_files.directory import DirectoryFiles
from interpstack_files.overlay import Overlay
from interpstack_files.paths import missing_file
from interpstack_files.patterns import Pattern
from interpstack_files.source import FileEntry, FileLimitExceeded, FileLimits, FileSource

__all__ = [
    "DirectoryFiles",
    "FileEntry",
    "FileLimitExceeded",
    "FileLimits",
    "FileSource",
    "Files",
    "Overlay",
    "Pattern",
    "missing_file",
]

_MODES: Final = ("read-only", "read-write", "overlay")


def _as_source(given: Any) -> FileSource:
    if isinstance(given, (str, Path)):
        return DirectoryFiles(given)
    expect(given, FileSource, "Files takes the path of a directory, or a FileSource")
    source: FileSource = given
    return source


def _is_mode(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    if value not in _MODES:
        accepted = ", ".join(map(repr, _MODES))
        raise ConfigurationError(f"Files: mode takes one of {accepted}; got {shown(value)}")


def _are_limits(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    expect(value, FileLimits, "Files: limits takes FileLimits, as FileLimits(file_bytes=2**20)")


@attrs.frozen(eq=False)
class Files:
    """Part of a `HostOffer` that gives code the namespace `files`; also a plugin, for any stack.

    ```python
    InterpreterStack(plugins=["console", Files("data")])
    ```

    Attributes:
        source: A directory, or another source.
        mode: `read-only`; `read-write`; or `overlay`: changes stay in `overlay`, and reach the
            source when the host calls `overlay.apply()`.
        limits: Limits of files and folders.
        overlay: The changes of the mode `overlay`; `None` in other modes.

    Raises:
        ConfigurationError: There is no such directory, or an argument is of a wrong type.
    """

    source: FileSource = attrs.field(converter=_as_source)
    mode: Literal["read-only", "read-write", "overlay"] = attrs.field(
        default="read-only", kw_only=True, validator=_is_mode
    )
    limits: FileLimits = attrs.field(factory=FileLimits, kw_only=True, validator=_are_limits)
    overlay: Overlay | None = attrs.field(init=False)
    name = "files"

    @overlay.default
    def _overlay(self) -> Overlay | None:
        return Overlay(self.source) if self.mode == "overlay" else None

    def register(self, register: BridgeRegistry, language: GuestLanguage) -> None:
        """Register the bridges of the namespace."""
        writable = self.mode != "read-only"
        source = self.overlay or self.source
        for bridge in file_bridges(source, self.limits, language, writable=writable):
            register.bridge(bridge)

    def prompt(self, language: GuestLanguage) -> str:
        """Return the prompt section."""
        read, *others = function_names(language, writable=self.mode != "read-only")
        call = language.words.waiting.format(call=f"files.{read}(path)")
        return (
            f"`{call}` gives the raw, whole text of a file: use `files` to work on files in code. "
            f"It also has {', '.join(others)}."
        )

    @hookimpl
    def interpstack_register_bridges(
        self, register: BridgeRegistry, stack: StackView, offer: HostOffer
    ) -> None:
        if offer.part(Files) is None:  # another plugin registers that one
            self.register(register, stack.language)

    @hookimpl
    def interpstack_prompt_section(self, stack: StackView, offer: HostOffer) -> str | None:
        return self.prompt(stack.language) if offer.part(Files) is None else None
