"""The stored form of a cell in the middle of its run: one JSON text."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any

from interpstack import Image, Request, Suspension
from interpstack_durable.forms import VERSION

__all__ = ["read_suspension", "suspension_text"]


def suspension_text(suspension: Suspension) -> str:
    """The stored form."""
    image = suspension.image
    return json.dumps(
        {
            "version": VERSION,
            "image": [image.engine, image.base, b64encode(image.data).decode()],
            "steps": suspension.steps,
            "asked": [_request(request) for request in suspension.asked],
            "open": [_request(request) for request in suspension.open],
            "made": dict(suspension.made),
            "before": suspension.before,
            "console": suspension.console,
            "cpu_seconds": suspension.cpu_seconds,
        },
        separators=(",", ":"),
    )


def read_suspension(text: str) -> Suspension | None:
    """What the text holds.

    `None` if another release wrote it, or if it is damaged: the cell can be run again.
    """
    try:
        return _read(text)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _read(text: str) -> Suspension | None:
    data = json.loads(text)
    if data.get("version") != VERSION:
        return None
    engine, base, image = data["image"]
    return Suspension(
        image=Image(_typed(engine, str), _typed(base, str), b64decode(image)),
        steps=_typed(data["steps"], int),
        asked=tuple(map(_read_request, data["asked"])),
        open=tuple(map(_read_request, data["open"])),
        made={_typed(name, str): _typed(count, int) for name, count in data["made"].items()},
        before=_typed(data["before"], int),
        console=tuple(
            (_typed(text, str), _typed(omitted, int)) for text, omitted in data["console"]
        ),
        cpu_seconds=float(_typed(data["cpu_seconds"], float, int)),
    )


def _read_request(told: Any) -> Request:
    number, bridge, wire, plain = told
    return Request(_typed(number, int), _typed(bridge, str), wire, _typed(plain, bool))


def _typed(told: Any, *kinds: type) -> Any:
    if type(told) not in kinds:
        raise TypeError(f"{type(told).__name__} instead of {kinds[0].__name__}")
    return told


def _request(request: Request) -> list[Any]:
    return [request.id, request.bridge, request.wire, request.plain]
