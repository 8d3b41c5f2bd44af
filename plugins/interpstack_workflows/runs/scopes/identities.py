"""Identities of requests in records: kind, inputs, and the key that a script gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from interpstack_workflows.runtime.boundary import (
    AgentRequest,
    AskRequest,
    CheckpointRequest,
    ExecRequest,
    ScriptPath,
    SleepRequest,
    WaitRequest,
    WorkflowRequest,
)

__all__ = ["MESSAGE_KINDS", "identity"]

#: Kinds of steps whose records name the message that ended them.
MESSAGE_KINDS: Final = frozenset({"ask", "wait"})


def identity(request: Any) -> tuple[str, dict[str, Any], str | None]:
    """Return the kind of a request, the inputs that make two of them the same, and its own key."""
    match request:
        case AgentRequest(prompt=prompt, options=options):
            return _with_key("agent", {"prompt": prompt}, options)
        case WorkflowRequest(ref=ref, args=args):
            shown = {"scriptPath": ref.path} if isinstance(ref, ScriptPath) else ref
            return "workflow", {"ref": shown, "args": args}, None
        case SleepRequest(duration_ms=duration):
            return "sleep", {"durationMs": duration}, None
        case ExecRequest(profile=profile, request=spec):
            return "exec", {"profile": profile, "request": attrs.asdict(spec)}, None
        case AskRequest(question=question, options=options):
            return _with_key("ask", {"question": question}, options)
        case WaitRequest(signal=signal, options=options):
            return _with_key("wait", {"signal": signal}, options)
        case CheckpointRequest(label=label):
            return "checkpoint", {"label": label}, None
    raise TypeError(f"unknown request {type(request).__name__}")


def _with_key(
    kind: str, inputs: dict[str, Any], options: Mapping[str, Any] | None
) -> tuple[str, dict[str, Any], str | None]:
    rest = dict(options or {})
    key = rest.pop("key", None)
    return kind, {**inputs, "options": rest}, key if isinstance(key, str) and key else None
