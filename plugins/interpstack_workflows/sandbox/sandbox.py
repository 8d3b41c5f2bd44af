"""The contract of sandboxes, and the check of their answers."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from interpstack_workflows.errors import WorkflowError
from interpstack_workflows.runtime.boundary import ExecSpec

__all__ = ["OUTPUT_BYTES", "ExecRefused", "ExecTimeout", "Sandbox", "checked_output"]

#: Runs a command; returns a mapping with `exitCode`, an integer, and with `stdout` and `stderr`,
#: text or bytes. `truncated` may name those of the two that were cut.
Sandbox: TypeAlias = Callable[[ExecSpec], Awaitable[Mapping[str, Any]]]

#: Bytes of each stream that a step's record has, unless the runner says otherwise.
OUTPUT_BYTES: Final = 1 << 20
_STREAMS: Final = ("stdout", "stderr")
#: Exit codes of all systems: a signal's number below zero, 32 bits without a sign on Windows.
_LEAST_CODE, _MOST_CODE = -(2**31), 2**32 - 1


class ExecRefused(WorkflowError, ValueError):
    """A sandbox refuses a command; nothing was run."""


class ExecTimeout(WorkflowError, TimeoutError):
    """A command took too long, and was killed."""


def checked_output(profile: str, answer: Any, most: int = OUTPUT_BYTES) -> dict[str, Any]:
    """The answer of a sandbox as scripts and records get it.

    Args:
        profile: The name of the sandbox.
        answer: The answer of the host's own code.
        most: Bytes that each stream has at most; the rest is cut off.

    Returns:
        `exitCode`, `stdout`, `stderr` and, if something was cut off, the names in `truncated`.

    Raises:
        WorkflowError: The answer has another form.
    """
    if not isinstance(answer, Mapping):
        raise _wrong(profile, "a mapping with exitCode, stdout and stderr", answer)
    code = answer.get("exitCode")
    if type(code) is not int or not _LEAST_CODE <= code <= _MOST_CODE:
        raise _wrong(profile, "an integer as exitCode", code)
    cut = _named(profile, answer.get("truncated"))
    texts = {}
    for name in _STREAMS:
        texts[name], more = _text(profile, name, answer.get(name, ""), most)
        if more:
            cut.add(name)
    output: dict[str, Any] = {"exitCode": code, **texts}
    return {**output, "truncated": [name for name in _STREAMS if name in cut]} if cut else output


def _named(profile: str, value: Any) -> set[str]:
    """The streams that a sandbox has cut itself."""
    if value is None:
        return set()
    known = not isinstance(value, str) and isinstance(value, Iterable)
    names = list(value) if known else []
    if not known or any(name not in _STREAMS for name in names):
        raise _wrong(profile, "names of streams, stdout and stderr, as truncated", value)
    return set(names)


def _text(profile: str, name: str, value: Any, most: int) -> tuple[str, bool]:
    """The text of a stream, and whether it was cut; bytes that are not UTF-8 become U+FFFD."""
    if isinstance(value, str):
        data = value[: most + 1].encode("utf-8", "replace")
    elif isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value[: most + 1])
    else:
        raise _wrong(profile, f"text or bytes as {name}", value)
    cut = len(data) > most
    decoder = getincrementaldecoder("utf-8")("replace")  # drops a character that the cut divides
    kept = decoder.decode(data[:most], final=not cut).encode()
    if len(kept) > most:  # U+FFFD takes more room than the byte that it stands for
        return kept[:most].decode("utf-8", "ignore"), True
    return kept.decode(), cut


def _wrong(profile: str, wanted: str, value: Any) -> WorkflowError:
    return WorkflowError(
        f"the sandbox {profile!r} has to return {wanted}; it returned {_shown(value)}"
    )


def _shown(value: Any) -> str:
    kind = type(value).__name__
    if value is None or isinstance(value, (bool, int, float)):
        return f"{value!r:.40}"
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"
