"""The stored form of a journal: a list of entries of plain data, which any store can hold.

Kinds of entries:
    step: What the guest requested (`asked`) and received (`settled`), the clock (`now`), refused
        requests (`refused`), amounts drawn on a budget (`drawn`), and the times at which the guest
        began to compute before its requests and had made them (`computed`), if they are known.
    undelivered answers (`kept`): Settlements that the guest has not received yet, and amounts drawn
        on a budget (`drawn`). A suspended cell in the background has such an entry even without
        answers if it draws on a budget.
    notes: Values by key.
    pause: The last step before a pause, with its notes.

The first entry also holds the form, the release that wrote the journal, the clock of the first
poll, and a digest of the source.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import attrs

from interpstack import Cell, Request, Settlement, Step, __version__
from interpstack.values import from_json, to_json
from interpstack_agents import readable_request, readable_wire
from interpstack_durable.forms import VERSION
from interpstack_durable.journal import ReplayDivergence, UndeliveredAnswers

__all__ = [
    "Asked",
    "Computed",
    "Entry",
    "answered_by",
    "asked_entry",
    "compare",
    "digest",
    "header",
    "noted_in",
    "read_answers",
    "read_computed",
    "read_step",
    "read_undelivered",
    "step_entry",
    "undelivered_entry",
]

#: Characters of an input that are stored to describe a request.
_PREVIEW_CHARS: Final = 200

_to_json = json.JSONEncoder(separators=(",", ":")).encode

Entry = Mapping[str, Any]
#: A request as it is recorded: id, bridge, digest of the input, start of the input.
Asked = Sequence[Any]
#: The times at which the guest began to compute and was done, in seconds since 1970.
Computed = tuple[float, float]


def header(cell: Cell, began: float) -> dict[str, Any]:
    """Return the additional fields of the first entry."""
    written = {"version": VERSION, "release": __version__}
    return {**written, "cell": digest(cell.source), "began": began}


def step_entry(
    asked: Sequence[Request], step: Step, computed: Computed | None = None
) -> dict[str, Any]:
    """Return the entry of a step, with the requests before it and the times of their computing."""
    return {
        "asked": [asked_entry(request) for request in asked],
        "now": step.now,
        **_answers(step),
        **_drawn(step),
        **_computed(computed),
    }


def undelivered_entry(
    asked: Sequence[Request] | None,
    ended: Step,
    computed: Computed | None = None,
    made: int | None = None,
) -> dict[str, Any]:
    """Return the entry of undelivered answers, with the guest's requests since the last step.

    While the guest computes, its requests and the times of its computing are not available.

    Args:
        asked: The requests.
        ended: The answers, and the amounts drawn by now.
        computed: The times.
        made: See `UndeliveredAnswers`.
    """
    undelivered = {
        "asked": [asked_entry(request) for request in asked or ()],
        **_answers(ended),
        "pausing": asked is not None,
        **_computed(None if asked is None else computed),
        **({} if made is None else {"made": made}),
    }
    return {"kept": undelivered, **_drawn(ended)}


def read_undelivered(entries: Sequence[Entry]) -> UndeliveredAnswers | None:
    """Read the undelivered answers of several entries; `None` for no entries."""
    if not entries:
        return None
    settled = tuple(answer for entry in entries for answer in read_answers(entry["kept"]))
    pausing = any(entry["kept"]["pausing"] for entry in entries)
    made = entries[-1]["kept"].get("made")
    if type(made) not in (int, type(None)):
        raise ValueError("the number of a request is a whole number")
    return UndeliveredAnswers(Step(0.0, settled, entries[-1].get("drawn", {})), pausing, made)


def answered_by(entry: Entry) -> frozenset[int]:
    """Return the ids of the requests whose answers an entry contains."""
    answers = (*entry.get("settled", ()), *entry.get("kept", {}).get("settled", ()))
    return frozenset(request_id for request_id, *_ in answers)


def noted_in(entries: Sequence[Entry], key: str) -> list[Any]:
    """Return all notes under a key, in order."""
    return [entry["notes"][key] for entry in entries if key in entry.get("notes", {})]


def _answers(step: Step) -> dict[str, Any]:
    return {
        "settled": [_settled(settlement) for settlement in step.settlements],
        "refused": [settlement.id for settlement in step.settlements if settlement.refused],
    }


def read_answers(fields: Mapping[str, Any]) -> tuple[Settlement, ...]:
    """Read the answers from the fields of an entry or of its undelivered part."""
    answers = [from_json(Settlement, item) for item in fields["settled"]]
    refused = set(fields.get("refused", ()))  # the entry of a retry has none
    return tuple(attrs.evolve(one, refused=one.id in refused) for one in answers)


def _drawn(step: Step) -> dict[str, Any]:
    return {"drawn": dict(step.drawn)} if step.drawn else {}


def _computed(computed: Computed | None) -> dict[str, Any]:
    return {} if computed is None else {"computed": list(computed)}


def read_computed(fields: Mapping[str, Any]) -> Computed | None:
    """Read the times of the computing before the requests of an entry; `None` without any."""
    if "computed" not in fields:
        return None
    began, ended = map(float, fields["computed"])
    if not math.isfinite(began) or not math.isfinite(ended):
        raise ValueError("times are finite numbers")
    return began, max(began, ended)  # the clock of a machine may be set back


def asked_entry(request: Request) -> list[Any]:
    """Return the stored form of a request, without its input, which may be large or secret.

    The start of the input is stored as a person reads it, because a cut wire form cannot be read.
    """
    text = _to_json(request.wire)
    # Half of a surrogate pair, which no database holds, is an escape in both forms.
    start = readable_request(request, ascii_only=True) if '"$":' in text else text
    return [request.id, request.bridge, digest(text), start[:_PREVIEW_CHARS]]


def compare(step: int, recorded: Sequence[Asked], asked: Sequence[Request]) -> None:
    """Compare the requests of a cell with the recorded ones.

    Args:
        step: The number of the step, from 1.
        recorded: Requests of the recorded run since the step before.
        asked: Requests of the current run since the step before.

    Raises:
        ReplayDivergence: A request differs, or is missing.
    """
    now = [asked_entry(request) for request in asked]
    for index in range(max(len(recorded), len(now))):
        before = recorded[index] if index < len(recorded) else None
        after = now[index] if index < len(now) else None
        if before is None or after is None or list(before[:3]) != list(after[:3]):
            raise ReplayDivergence(
                f"at step {step} the code asks for {_described(after)}, but the recorded run "
                f"asked for {_described(before)}{_difference(before, after)}; nothing was done"
            )


def _difference(before: Asked | None, after: Asked | None) -> str:
    """Describe the difference of two requests whose descriptions are equal."""
    if before is None or after is None or _described(before) != _described(after):
        return ""
    if before[2] == after[2]:
        return f" (as request {before[0]!s:.40}, and now as request {after[0]!s:.40})"
    if len(after[3]) < _PREVIEW_CHARS:
        return " (its record is damaged)"
    return f" (the inputs differ after their first {_PREVIEW_CHARS} characters)"


def _described(asked: Asked | None) -> str:
    if asked is None:
        return "nothing more"
    return f"{asked[1]!s:.100}({readable_wire(str(asked[3])):.{_PREVIEW_CHARS}})"


def read_step(entry: Entry) -> Step:
    """Read the step of an entry."""
    return Step(float(entry["now"]), read_answers(entry), entry.get("drawn", {}))


def digest(text: str) -> str:
    """Return a digest of a text, as 32 hexadecimal digits."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _settled(settlement: Settlement) -> Any:
    """Return the stored form of an answer; a separate field lists refused calls."""
    return to_json(attrs.evolve(settlement, refused=False) if settlement.refused else settlement)
