"""The messages between host and workers, with the values of the engine protocol in JSON form.

The host bounds and checks all data from a worker, because a guest may control the worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import attrs

from interpstack import (
    MAX_REJECTED,
    Bridge,
    BridgeRegistry,
    BridgeSet,
    GuestBridge,
    GuestError,
    GuestSource,
    Image,
    Progress,
    Settlement,
)
from interpstack.values import ProtocolError, from_json, to_json
from interpstack_workers.workers import MalformedMessage

__all__ = [
    "PRINTED_CHARS",
    "pack_bridges",
    "pack_settlements",
    "read_bridges",
    "read_image",
    "read_mark",
    "read_names",
    "read_progress",
    "read_settlements",
    "read_text",
    "read_values",
]

_T = TypeVar("_T")

#: Characters of console output in one message, at most, while its cell runs.
PRINTED_CHARS: Final = 1_000_000
#: Characters of a name: of a bridge, an engine; of an error's, as many are taken.
_NAME_CHARS: Final = 1000
#: Characters of an error's message, and of its stack; engines cut them before, to fewer.
_ERROR_CHARS: Final = 65_536
#: Characters of a line of source, on either side of a place.
_PLACE_CHARS: Final = 1000
#: Notices of one progress, and characters of each.
_NOTICES: Final = 10
_NOTICE_CHARS: Final = 4000
#: Characters of the reason of a rejected promise; engines cut it before, to fewer.
_REASON_CHARS: Final = 1000


# -- from the host to a worker -------------------------------------------------------------


def pack_bridges(bridges: BridgeSet) -> dict[str, Any]:
    """The guest's part of bridges, and guest sources; handlers stay in the host."""
    return {
        "bridges": [to_json(bridge, GuestBridge) for bridge in bridges],
        "sources": [to_json(source) for source in bridges.sources],
        "error_names": dict(bridges.error_names),
    }


def read_bridges(data: Mapping[str, Any]) -> BridgeSet:
    """Bridges of the same names, which no worker can call."""
    registry = BridgeRegistry()
    for item in data["bridges"]:
        known = attrs.asdict(from_json(GuestBridge, item))
        registry.bridge(Bridge(handler=_in_the_host, raw=True, **known))
    for item in data["sources"]:
        registry.source(from_json(GuestSource, item))
    return registry.freeze(data["error_names"])


def _in_the_host(given: Any) -> None:
    raise AssertionError("handlers run in the host")


def pack_settlements(settlements: Sequence[Settlement]) -> list[Any]:
    """Answers, in order."""
    return [to_json(settlement) for settlement in settlements]


def read_settlements(data: Sequence[Any]) -> list[Settlement]:
    """The answers that `pack_settlements` wrote."""
    return [from_json(Settlement, item) for item in data]


# -- from a worker to the host -------------------------------------------------------------


def read_progress(data: Any, after: int, seconds: float) -> Progress:
    """A progress.

    Args:
        data: The data that a worker sent.
        after: Id of the last request of this execution; new requests have higher ids.
        seconds: The duration of the poll; the guest cannot have computed longer.

    Raises:
        MalformedMessage: It has another form, or is out of bounds.
    """
    progress = _read(Progress, data)
    for request in progress.requests:
        if request.id <= after:
            raise MalformedMessage(f"requests out of order: {request.id} after {after}")
        after = request.id
    for name in [
        *(r.bridge for r in progress.requests),
        *(c.bridge for c in progress.notifications),
    ]:
        _check_length(name, _NAME_CHARS)
    done = progress.completion
    if done is not None and done.omitted_chars < 0:
        raise MalformedMessage(f"{done.omitted_chars} characters left out")
    return attrs.evolve(
        progress,
        completion=None if done is None else attrs.evolve(done, error=_read_error(done.error)),
        failure=_read_error(progress.failure),
        loss=_check_length(progress.loss, _NOTICE_CHARS),
        cpu_seconds=min(max(0.0, progress.cpu_seconds), seconds),
        notices=[_check_length(text, _NOTICE_CHARS) for text in progress.notices[:_NOTICES]],
        rejected=[_check_length(text, _REASON_CHARS) for text in progress.rejected[:MAX_REJECTED]],
    )


def _read_error(error: GuestError | None) -> GuestError | None:
    """An error whose texts, which code may choose, are cut to their bounds."""
    if error is None:
        return None
    if error.place is not None:
        _check_length(error.place.before, _PLACE_CHARS)
        _check_length(error.place.after, _PLACE_CHARS)
    return attrs.evolve(
        error,
        name=error.name[:_NAME_CHARS],
        message=error.message[:_ERROR_CHARS],
        stack=error.stack[:_ERROR_CHARS],
    )


def _read(kind: type[_T], data: Any) -> _T:
    try:
        return from_json(kind, data)
    except ProtocolError as error:
        raise MalformedMessage(f"malformed data: {error}") from error


def read_mark(data: Any) -> int:
    """The checksum of a progress."""
    return _read(int, data)


def read_image(item: Any, data: bytes) -> Image:
    """An image whose bytes came attached."""
    engine, base = _read(tuple[str, str], item)
    return Image(read_text(engine, _NAME_CHARS), read_text(base, _NAME_CHARS), data)


def read_values(data: Any) -> dict[str, Any]:
    """Portable values by name."""
    return _read(dict[str, Any], data)


def read_names(data: Any) -> tuple[str, ...]:
    """Names of variables, or of members."""
    return _read(tuple[str, ...], data)


def read_text(data: Any, most: int) -> str:
    """A text of at most so many characters."""
    return _check_length(_read(str, data), most)


def _check_length(text: str, most: int) -> str:
    if len(text) > most:
        raise MalformedMessage(f"a text of {len(text)} characters where at most {most} fit")
    return text
