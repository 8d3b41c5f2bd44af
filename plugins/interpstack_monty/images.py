"""Images: Monty's own dump of a session, with the realm's data about the session."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from typing import Any, Final

import attrs
import pydantic_monty

from interpstack import Image, ImageError, Limits
from interpstack_monty.workers import kernel_source

__all__ = ["ENGINE", "Saved", "base_id", "opened", "pack", "sealed", "unpack"]

#: Name of the engine, in images and elsewhere.
ENGINE: Final = "monty"
#: Bytes of an unpacked image; Monty's own dumps may not be larger.
_MAX_BYTES: Final = 2 * 256 * 2**20
_DIGEST: Final = 16
#: Seconds since 1970 that a clock may show.
_MAX_SECONDS: Final = 2.0**37
#: Dumps beyond this lie compressed in the host's memory.
_LARGE_BYTES: Final = 2**20


@attrs.frozen(kw_only=True)
class Saved:
    """A realm's state between two turns of a worker.

    Attributes:
        dump: Monty's dump of the session; empty for one that has run nothing.
        packed: Whether that is compressed, which large ones are.
        names: The guest's own globals.
        bound: The code that bound the bridges in it.
        roots: Names that bridges have or had.
        lost: Why globals are missing, by name.
        kept: Values whose names are not valid in Python, as wire trees.
        made_with: Bytes of memory that the guest was allowed in the image that the state is from;
            `None` for no limit, and for a state that is from no image.
    """

    dump: bytes = attrs.field(default=b"", repr=False)
    packed: bool = False
    names: tuple[str, ...] = ()
    bound: str = ""
    roots: frozenset[str] = frozenset()
    lost: Mapping[str, str] = attrs.field(factory=dict)
    kept: Mapping[str, Any] = attrs.field(factory=dict)
    made_with: int | None = None

    def opened(self) -> bytes:
        """The dump as Monty takes it.

        Raises:
            ImageError: It is damaged, or expands without end.
        """
        return _expanded(self.dump, {}) if self.packed else self.dump

    def after(self, dump: bytes, **changes: Any) -> Saved:
        """The state with another dump, which is compressed if it is large."""
        packed = len(dump) > _LARGE_BYTES
        kept = zlib.compress(dump, 1) if packed else dump
        return attrs.evolve(self, dump=kept, packed=packed, **changes)


def base_id() -> str:
    """Identifies the build that can open an image: dumps fit one version of Monty."""
    kernel = hashlib.sha256(kernel_source().encode()).hexdigest()[:16]
    return f"monty-{pydantic_monty.__version__}-{kernel}"


def pack(
    engine: str, saved: Saved, limits: Limits, running: Mapping[str, Any], snapshot: bytes
) -> Image:
    """An image of a state, and of the cell that runs on top of it, if one does.

    Args:
        engine: Name of the engine.
        saved: The state; with a running cell, the one from before it.
        limits: The limits that the dumps contain.
        running: The state of the running cell; empty if none runs.
        snapshot: Monty's dump of it.
    """
    head = json.dumps(
        {
            "names": saved.names,
            "bound": saved.bound,
            "roots": sorted(saved.roots),
            "lost": dict(saved.lost),
            "kept": dict(saved.kept),
            "limits": _told(limits),
            "running": dict(running),
            "dump": len(saved.dump),
            "packed": saved.packed,
        }
    ).encode()
    body = b"".join((len(head).to_bytes(4, "big"), head, saved.dump, snapshot))
    return Image(engine, base_id(), sealed(body))


def sealed(body: bytes) -> bytes:
    """The data of an image: a checksum, followed by the compressed content."""
    packer = zlib.compressobj(zdict=kernel_source().encode())
    data = packer.compress(body) + packer.flush()
    return hashlib.sha256(data).digest()[:_DIGEST] + data


def opened(data: bytes) -> bytes:
    """The content of an image.

    Raises:
        ImageError: The checksum does not match, or it expands without end.
    """
    digest, packed = data[:_DIGEST], data[_DIGEST:]
    if hashlib.sha256(packed).digest()[:_DIGEST] != digest:
        raise ImageError("the image is damaged: its checksum does not match")
    return _expanded(packed, {"zdict": kernel_source().encode()})


def unpack(image: Image, engine: str, limits: Limits) -> tuple[Saved, Mapping[str, Any], bytes]:
    """The dump of the session, the state of a running cell, and the cell's snapshot.

    Raises:
        ImageError: The image is damaged, of another build, or made under smaller limits.
    """
    if image.engine != engine:
        raise ImageError(
            f"the image was made by engine {image.engine!r:.80}; {engine!r} cannot open it"
        )
    if image.base != base_id():
        raise ImageError("the image was made by another version of Monty or of its kernel")
    body = opened(image.data)
    try:
        return _read(body, limits)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ImageError(f"the image is damaged: {error}") from error


def _read(body: bytes, limits: Limits) -> tuple[Saved, Mapping[str, Any], bytes]:
    start = 4 + int.from_bytes(body[:4], "big")
    head = json.loads(body[4:start])
    middle = start + _number(head["dump"])
    if middle > len(body):
        raise ValueError("it is cut short")
    saved = Saved(
        dump=body[start:middle],
        packed=_typed(head["packed"], bool),
        names=tuple(_texts(head["names"])),
        bound=_typed(head["bound"], str),
        roots=frozenset(_texts(head["roots"])),
        lost=dict(
            zip(_typed(head["lost"], dict), _texts(list(head["lost"].values())), strict=True)
        ),
        kept=_typed(head["kept"], dict),
        made_with=_typed(_typed(head["limits"], list)[1], int, type(None)),
    )
    smaller = _smaller(head["limits"], limits)
    if smaller:
        raise ImageError(
            f"the image was made under a smaller limit of {smaller}; raise the limit to open it"
        )
    return saved, _running(head["running"]), body[middle:]


def _running(data: Any) -> Mapping[str, Any]:
    """The state of a cell, as `MontyExecution.suspend` returns it; empty if none runs."""
    if not _typed(data, dict):
        return {}
    for name in ("cell", "bound", "text"):
        _typed(data[name], str)
    for name in ("lines", "next", "made", "omitted"):
        _number(data[name])
    for number in (*_typed(data["timers"], list), *(n for pair in data["open"] for n in pair)):
        _number(number)
    for digest, length in _typed(data.get("named", []), list):
        _typed(digest, str)
        _number(length)
    if data["blocked"] is not None:
        _number(data["blocked"])
    dict(data["open"])
    for seconds in (data["spent"], *_typed(data.get("clock", []), list)):
        if not 0 <= _typed(seconds, float, int) < _MAX_SECONDS:
            raise ValueError("its times are out of range")
    return {**data, "clock": list(data.get("clock", []))[:2]}


def _expanded(data: bytes, options: Mapping[str, Any]) -> bytes:
    unpacker = zlib.decompressobj(**options)
    try:
        body = unpacker.decompress(data, _MAX_BYTES)
    except zlib.error as error:
        raise ImageError(f"the image is damaged: {error}") from error
    if not unpacker.eof:
        raise ImageError("the image is damaged: it is cut short, or expands without end")
    return body


def _texts(data: Any) -> list[str]:
    return [_typed(text, str) for text in _typed(data, list)]


def _number(data: Any) -> int:
    number: int = _typed(data, int)
    if not 0 <= number < 2**53:
        raise ValueError("it has a number out of range")
    return number


def _typed(data: Any, *kinds: type) -> Any:
    if type(data) not in kinds:
        raise TypeError(f"{type(data).__name__} instead of {kinds[0].__name__}")
    return data


def _told(limits: Limits) -> list[float | None]:
    return [limits.cpu_seconds, limits.memory_bytes]


def _smaller(made_under: list[float | None], limits: Limits) -> str:
    """A limit in the dump that is lower than the current one, and would stay in force."""
    now = _told(limits)
    for name, was, allowed in zip(("CPU time", "memory"), made_under, now, strict=True):
        if was is not None and (allowed is None or allowed > was):
            return name
    return ""
