"""The contract of sandboxes: a command in, its output out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

import attrs

from interpstack import InterpstackError

__all__ = ["OUTPUT_BYTES", "ExecRefused", "ExecSpec", "ExecTimeout", "Sandbox"]

#: Bytes of each stream that are kept, unless the host says otherwise.
OUTPUT_BYTES: Final = 1 << 20


@attrs.frozen
class ExecSpec:
    """A command, as untrusted code asks for it.

    Attributes:
        command: The program.
        args: Its arguments.
        cwd: The folder in which it runs; `None` for that of the sandbox.
        env: Variables beside those of the sandbox.
        stdin: Its input.
    """

    command: str
    args: tuple[str, ...] = ()
    cwd: str | None = None
    env: Mapping[str, str] = attrs.field(factory=dict)
    stdin: str | None = None


#: Runs a command; returns a mapping with `exitCode`, an integer, and with `stdout` and `stderr`,
#: text or bytes. `truncated` may name those of the two that were cut.
Sandbox: TypeAlias = Callable[[ExecSpec], Awaitable[Mapping[str, Any]]]


class ExecRefused(InterpstackError, ValueError):
    """A sandbox refuses a command; nothing was run."""


class ExecTimeout(InterpstackError, TimeoutError):
    """A command took too long, and was killed."""
