"""Messages between engines and the kernel."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from interpstack.checks import listed
from interpstack.contracts.bridges import Bridge, BridgeSet
from interpstack.contracts.errors import EngineFailure
from interpstack.contracts.limits import Limits
from interpstack.contracts.protocol import Completion, Notification, Progress, Request, Settlement
from interpstack.values import read_json

__all__ = [
    "MEMBER_SECONDS",
    "answer_text",
    "bind_arguments",
    "drained_progress",
    "read_answer",
    "resume_text",
    "seed_words",
    "value_completion",
]

#: Seconds that a guest may take to tell the members of a value: only its proxies take any.
MEMBER_SECONDS: Final = 0.2


def bind_arguments(bridges: BridgeSet, limits: Limits) -> list[Any]:
    """The arguments of the kernel's `bind`: the guest's part of each bridge, and limits."""
    offered = [_offered(bridge) for bridge in bridges if not bridge.hidden]
    given = {
        "consoleChars": limits.console_chars,
        "valueChars": limits.value_bytes,
        "resultChars": limits.result_chars,
        "renderChars": max(8192, 2 * limits.result_chars),
        "timers": limits.timers,
        "requests": limits.requests,
        "tooMany": bridges.error_name("CallBudgetExceeded"),
        "tooManyText": limits.too_many_requests,
        "noModule": bridges.error_name("ModuleNotFound"),
    }
    return [offered, given]


def _offered(bridge: Bridge) -> list[Any]:
    rest = [bridge.listed, bridge.counted, bridge.positional, bridge.yields]
    if not bridge.yields:  # most need none of these
        del rest[3 if bridge.positional else 0 if bridge.listed and bridge.counted else 2 :]
    return [bridge.name, bridge.awaited, *rest]


def answer_text(settlement: Settlement) -> str:
    """One item of the kernel's `resume`: id, whether it failed, value or error."""
    error = settlement.error
    if error is None:
        return f"[{settlement.id},false,{settlement.text}]"
    body = {"name": error.name, "message": error.message, "data": dict(error.data)}
    return f"[{settlement.id},true,{json.dumps(body)}]"


def resume_text(now_ms: float, answers: Sequence[str]) -> str:
    """The kernel's command `resume`.

    Args:
        now_ms: The guest's clock from now on, in milliseconds since 1970.
        answers: Made by `answer_text`.
    """
    return f'["resume",{now_ms!r},[{",".join(answers)}]]'


def read_answer(text: str) -> Any:
    """The kernel's answer to a command.

    Raises:
        EngineFailure: The text is not JSON, or is nested deeper than Python reads.
    """
    try:
        return read_json(text)
    except (ValueError, RecursionError) as error:
        raise EngineFailure(f"the answer of the guest's kernel cannot be read: {error}") from error


def seed_words(seed: int | None) -> list[int]:
    """A cell's seed as the kernel's `begin` takes it: four words of 32 bits, the lowest first."""
    return [((seed or 0) >> shift) & 0xFFFFFFFF for shift in (0, 32, 64, 96)]


def value_completion(data: Mapping[str, Any]) -> Completion:
    """The completion of a cell that did not throw, from the kernel's report."""
    return Completion(
        text=data["text"],
        omitted_chars=data["omitted"],
        omitted_exact=data["exact"],
        shortened=data.get("shortened") is True,
        handle=data["handle"],
        undefined=data["undefined"],
    )


def _notices(promises: Sequence[Any] | None) -> tuple[str, ...]:
    """The notice about promises that are shown in place of values, if there are any.

    Args:
        promises: Their number, the number of those of calls, and names of some of these calls.
    """
    if not promises:
        return ()
    count, of_calls, *names = promises
    of = ""
    if of_calls:
        of = f" of {listed(names, len(names))}"
        if of_calls < count:
            of = f", {of_calls}{of},"
    if count == 1:
        return (f"A promise{of} is shown, not its value: put await before it.",)
    return (
        f"{count} promises{of} are shown, not their values: put await before each, or around all: "
        "await Promise.all(list).",
    )


def drained_progress(
    drained: Mapping[str, Any],
    completion: Completion | None,
    cpu_seconds: float = 0.0,
    notices: Sequence[str] = (),
) -> Progress:
    """The guest's progress since it was entered, as the kernel's `drain` returns it.

    Args:
        drained: The kernel's answer.
        completion: The engine's form of the kernel's `completion`.
        cpu_seconds: The guest's computing time meanwhile.
        notices: What a reader of the cell's value should know.
    """
    return Progress(
        notifications=[Notification(name, wire) for name, wire in drained["calls"]],
        requests=[Request(*item) for item in drained["requests"]],
        cancelled=drained["cancelled"],
        rejected=drained["rejected"],
        unheard=drained.get("unheard"),
        notices=(*notices, *_notices(drained.get("promises"))),
        completion=completion,
        cpu_seconds=cpu_seconds,
    )
