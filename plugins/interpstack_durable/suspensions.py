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
    """What the text holds; `None` if another release wrote it: the cell can be run again."""
    data = json.loads(text)
    if data.get("version") != VERSION:
        return None
    engine, base, image = data["image"]
    return Suspension(
        image=Image(engine, base, b64decode(image)),
        steps=data["steps"],
        asked=tuple(Request(*item) for item in data["asked"]),
        open=tuple(Request(*item) for item in data["open"]),
        made=data["made"],
        before=data["before"],
        console=tuple((text, omitted) for text, omitted in data["console"]),
        cpu_seconds=data["cpu_seconds"],
    )


def _request(request: Request) -> list[Any]:
    return [request.id, request.bridge, request.wire, request.plain]
