"""The objects of the engine protocol as JSON data.

The worker reads what the host sends as it is. The host reads nothing of a worker before its
shape is checked: its guest may have taken it over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from interpstack import (
    Bridge,
    BridgeRegistry,
    BridgeSet,
    Call,
    Cell,
    Completion,
    GuestError,
    GuestSource,
    Image,
    Place,
    Progress,
    Request,
    Settlement,
)
from interpstack_process.frames import Malformed

__all__ = [
    "PRINTED_CHARS",
    "pack_bridges",
    "pack_progress",
    "pack_settlements",
    "read_bridges",
    "read_cell",
    "read_image",
    "read_names",
    "read_progress",
    "read_settlements",
    "read_text",
    "read_values",
]

#: Characters of console output in one message, at most, while its cell runs.
PRINTED_CHARS: Final = 1_000_000
#: Characters of a name: of a bridge, an error, an engine.
_NAME_CHARS: Final = 1000
#: Characters of a line of source, on either side of a place.
_PLACE_CHARS: Final = 1000
#: Notices of one progress, and characters of each.
_NOTICES: Final = 10
_NOTICE_CHARS: Final = 4000
#: Containers inside containers of a value: the codec has 200 levels, of up to three each.
_DEPTH: Final = 640


# -- from the host to a worker -------------------------------------------------------------


def pack_bridges(bridges: BridgeSet) -> dict[str, Any]:
    """What guests know of bridges, and guest sources; handlers stay in the host."""
    return {
        "bridges": [
            [b.name, b.awaited, b.hidden, b.listed, b.counted, b.declaration] for b in bridges
        ],
        "sources": [[s.language, s.name, s.source, s.owner] for s in bridges.sources],
    }


def read_bridges(told: Mapping[str, Any]) -> BridgeSet:
    """Bridges of the same names, which no worker can call."""
    registry = BridgeRegistry()
    for name, awaited, hidden, listed, counted, declaration in told["bridges"]:
        registry.bridge(
            Bridge(
                name=name,
                handler=_in_the_host,
                raw=True,
                awaited=awaited,
                hidden=hidden,
                listed=listed,
                counted=counted,
                declaration=declaration,
            )
        )
    for source in told["sources"]:
        registry.source(GuestSource(*source))
    return registry.freeze()


def _in_the_host(given: Any) -> None:
    raise AssertionError("handlers run in the host")


def read_cell(told: Mapping[str, Any]) -> Cell:
    """What `attrs.asdict` made of a cell."""
    return Cell(**told)


def pack_settlements(settlements: Sequence[Settlement]) -> list[Any]:
    return [
        [s.id, s.text, None if s.error is None else _pack_error(s.error), dict(s.modules)]
        for s in settlements
    ]


def read_settlements(told: Sequence[Any]) -> list[Settlement]:
    return [
        Settlement(number, text, None if error is None else GuestError(*error[:4]), modules)
        for number, text, error, modules in told
    ]


# -- from a worker to the host -------------------------------------------------------------


def pack_progress(progress: Progress) -> dict[str, Any]:
    done, failure = progress.completion, progress.failure
    return {
        "calls": [[call.bridge, call.wire] for call in progress.calls],
        "requests": [[r.id, r.bridge, r.wire] for r in progress.requests],
        "cancelled": list(progress.cancelled),
        "completion": None if done is None else _pack_completion(done),
        "cpu": progress.cpu_seconds,
        "exhausted": progress.exhausted,
        "failure": None if failure is None else _pack_error(failure),
        "notices": list(progress.notices),
    }


def _pack_completion(done: Completion) -> dict[str, Any]:
    fields = attrs.asdict(done, recurse=False)
    return {**fields, "error": None if done.error is None else _pack_error(done.error)}


def _pack_error(error: GuestError) -> list[Any]:
    place = None if error.place is None else list(attrs.astuple(error.place))
    return [error.name, error.message, error.stack, dict(error.data), place]


def read_progress(told: Any, after: int, seconds: float) -> Progress:
    """A progress.

    Args:
        told: What a worker sent.
        after: Id of the last request of this execution; those of new ones are higher.
        seconds: What the poll took; the guest cannot have computed longer.

    Raises:
        Malformed: It has another form.
    """
    progress = _typed(told, dict)
    requests = [_read_request(item) for item in _typed(progress.get("requests"), list)]
    for request in requests:
        if request.id <= after:
            raise Malformed(f"requests out of order: {request.id} after {after}")
        after = request.id
    done, failure = progress.get("completion"), progress.get("failure")
    return Progress(
        calls=[_read_call(item) for item in _typed(progress.get("calls"), list)],
        requests=requests,
        cancelled=[_typed(item, int) for item in _typed(progress.get("cancelled"), list)],
        completion=None if done is None else _read_completion(done),
        cpu_seconds=min(max(0.0, float(_typed(progress.get("cpu"), float, int))), seconds),
        exhausted=_typed(progress.get("exhausted"), bool),
        failure=None if failure is None else _read_error(failure),
        notices=_read_notices(progress.get("notices")),
    )


def _read_notices(told: Any) -> tuple[str, ...]:
    return tuple(read_text(text, _NOTICE_CHARS) for text in _typed(told, list)[:_NOTICES])


def _read_request(told: Any) -> Request:
    number, bridge, wire = _items(told, 3)
    # Whether a tree holds tags is for the host to find out.
    return Request(_typed(number, int), read_text(bridge, _NAME_CHARS), wire)


def _read_call(told: Any) -> Call:
    bridge, wire = _items(told, 2)
    return Call(read_text(bridge, _NAME_CHARS), wire)


def _read_completion(told: Any) -> Completion:
    fields = _typed(told, dict)
    error = fields.get("error")
    return Completion(
        text=_typed(fields.get("text"), str),
        omitted_chars=max(0, _typed(fields.get("omitted_chars"), int)),
        omitted_exact=_typed(fields.get("omitted_exact"), bool),
        handle=_typed(fields.get("handle"), bool),
        undefined=_typed(fields.get("undefined"), bool),
        error=None if error is None else _read_error(error),
    )


def _read_error(told: Any) -> GuestError:
    name, message, stack, data, place = _items(told, 5)
    _check_depth(_typed(data, dict))
    return GuestError(
        read_text(name, _NAME_CHARS),
        _typed(message, str),
        _typed(stack, str),
        data,
        None if place is None else _read_place(place),
    )


def _read_place(told: Any) -> Place:
    line, column, before, after = _items(told, 4)
    return Place(
        _typed(line, int),
        _typed(column, int),
        read_text(before, _PLACE_CHARS),
        read_text(after, _PLACE_CHARS),
    )


def read_image(told: Any, data: bytes) -> Image:
    """An image whose bytes came attached."""
    engine, base = _items(told, 2)
    return Image(read_text(engine, _NAME_CHARS), read_text(base, _NAME_CHARS), data)


def read_values(told: Any) -> dict[str, Any]:
    """Portable values by name."""
    values: dict[str, Any] = _typed(told, dict)
    _check_depth(values)
    return values


def read_names(told: Any) -> tuple[str, ...]:
    return tuple(_typed(name, str) for name in _typed(told, list))


def read_text(told: Any, most: int) -> str:
    """A text of at most so many characters."""
    text: str = _typed(told, str)
    if len(text) > most:
        raise Malformed(f"a text of {len(text)} characters where at most {most} fit")
    return text


def _items(told: Any, count: int) -> list[Any]:
    items: list[Any] = _typed(told, list)
    if len(items) != count:
        raise Malformed(f"{len(items)} items instead of {count}")
    return items


def _typed(told: Any, *kinds: type) -> Any:
    if type(told) not in kinds:
        raise Malformed(f"{type(told).__name__} instead of {kinds[0].__name__}")
    return told


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(_DEPTH):
        level = [
            item
            for outer in level
            for item in (outer.values() if type(outer) is dict else outer)
            if type(item) is dict or type(item) is list
        ]
        if not level:
            return
    raise Malformed(f"values nested deeper than {_DEPTH} levels")
