"""Commands of scripts: begun on record, run once, their output checked."""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from interpstack_commands import OUTPUT_BYTES
from interpstack_workflows.errors import WorkflowError
from interpstack_workflows.runs.failures import StepFailed
from interpstack_workflows.runs.parts import RunParts
from interpstack_workflows.runs.scopes.scope import OpenRequest
from interpstack_workflows.runs.verbs.host_code import in_own_task

__all__ = ["checked_output", "run_command"]

_STREAMS: Final = ("stdout", "stderr")
#: Exit codes of all systems: a signal's number below zero, 32 bits without a sign on Windows.
_LEAST_CODE, _MOST_CODE = -(2**31), 2**32 - 1


async def run_command(
    parts: RunParts, opened: OpenRequest, begin: Callable[[], Awaitable[None]]
) -> dict[str, Any]:
    """Run the command of a request.

    Args:
        parts: Has the sandboxes.
        opened: The request.
        begin: Records that the command begins, and waits until that is stored.

    Returns:
        The output, as `checked_output` returns it.

    Raises:
        StepFailed: There is no such profile, or an earlier activation of the run began it and
            nobody knows whether it ended.
        Exception: The sandbox's own error, or that of its wrong answer.
    """
    profile = opened.request.profile
    if opened.started is not None:
        raise StepFailed(
            f"the run stopped while the command {opened.request.request.command!r:.100} was"
            f" running in {profile!r:.100}; it is unknown whether it ended. Check what it did, then"
            " run it again (resume with retry_failed), or let the script catch this error",
            "ExecInterrupted",
            {"profile": profile, "startedAt": opened.started.value["now"]},
        )
    sandbox = parts.sandboxes.get(profile)
    if sandbox is None:
        known = ", ".join(sorted(parts.sandboxes)) or "none"
        raise StepFailed(
            f"Unknown sandbox profile {profile!r}; the runner has: {known}", "UnknownProfile"
        )
    await begin()
    answer = await in_own_task(sandbox(opened.request.request))
    return checked_output(profile, answer, parts.output_bytes)


def checked_output(profile: str, answer: Any, most: int = OUTPUT_BYTES) -> dict[str, Any]:
    """Return the answer of a sandbox as scripts and records get it.

    Args:
        profile: The name of the sandbox.
        answer: The answer of the host's own code.
        most: Bytes that each stream has at most; the rest is cut off.

    Returns:
        `exitCode`, `stdout`, `stderr` and, if something was cut off, the names in `truncated`.

    Raises:
        WorkflowError: The answer is malformed.
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
    """Return the streams that a sandbox has cut itself."""
    if value is None:
        return set()
    known = not isinstance(value, str) and isinstance(value, Iterable)
    names = list(value) if known else []
    if not known or any(name not in _STREAMS for name in names):
        raise _wrong(profile, "names of streams, stdout and stderr, as truncated", value)
    return set(names)


def _text(profile: str, name: str, value: Any, most: int) -> tuple[str, bool]:
    """Return the text of a stream and whether it was cut; invalid UTF-8 becomes U+FFFD."""
    if isinstance(value, str):
        data = value[: most + 1].encode("utf-8", "replace")
    elif isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value[: most + 1])
    else:
        raise _wrong(profile, f"text or bytes as {name}", value)
    cut = len(data) > most
    decoder = getincrementaldecoder("utf-8")("replace")  # drops a character that the cut divides
    head = decoder.decode(data[:most], final=not cut).encode()
    if len(head) > most:  # U+FFFD takes more room than the byte that it stands for
        return head[:most].decode("utf-8", "ignore"), True
    return head.decode(), cut


def _wrong(profile: str, wanted: str, value: Any) -> WorkflowError:
    return WorkflowError(
        f"the sandbox {profile!r} has to return {wanted}; it returned {_shown(value)}"
    )


def _shown(value: Any) -> str:
    kind = type(value).__name__
    if value is None or isinstance(value, (bool, int, float)):
        return f"{value!r:.40}"
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"
