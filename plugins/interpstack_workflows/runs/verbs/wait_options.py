"""Options of `ask` and `wait`, as scripts give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from interpstack.checks import shown
from interpstack.values import same_json
from interpstack_javascript import JAVASCRIPT
from interpstack_workflows.runs.failures import StepFailed

__all__ = ["LONGEST_WAIT_MS", "wait_seconds"]

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "ask": ("choices", "default", "key", "timeoutMs"),
    "wait": ("default", "key", "timeoutMs"),
}
#: Milliseconds that a question, a signal or the next attempt of an agent is waited for at most, as
#: long as a sleep may last.
LONGEST_WAIT_MS: Final = 365 * 24 * 60 * 60 * 1000


def wait_seconds(kind: str, options: Mapping[str, Any]) -> float | None:
    """Return the seconds that a question or a signal is waited for; `None` for no limit.

    Args:
        kind: `ask` or `wait`.
        options: The options, all of which are checked.

    Raises:
        StepFailed: An option is unknown or malformed.
    """
    names = _NAMES[kind]
    for name in options:
        if name not in names:
            raise StepFailed(
                f"{kind} has no option {name!r:.60}; it has {', '.join(names)}", "TypeError"
            )
    key, choices = options.get("key"), options.get("choices")
    if key is not None and not (isinstance(key, str) and key):
        raise _wrong(f"{kind}: key takes a string that is not empty", key)
    if choices is not None and not (isinstance(choices, list) and choices):
        raise _wrong(f"{kind}: choices takes an array that is not empty", choices)
    usual = options.get("default")
    if choices and "default" in options and not any(same_json(usual, one) for one in choices):
        raise _wrong(f"{kind}: default takes one of the choices", usual)
    seconds = _timeout(options.get("timeoutMs"))
    if seconds is None and options.get("default") is not None:
        raise StepFailed(
            f"{kind}: default is the value after timeoutMs, which is missing", "TypeError"
        )
    return seconds


def _timeout(given: Any) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not given >= 0:
        raise _wrong("timeoutMs takes milliseconds, 0 or more", given)
    if given > LONGEST_WAIT_MS:
        raise _wrong(f"timeoutMs takes at most {LONGEST_WAIT_MS}, 365 days", given)
    return given / 1000


def _wrong(message: str, given: Any) -> StepFailed:
    return StepFailed(f"{message}; got {shown(given, JAVASCRIPT.literal)}", "TypeError")
