"""Bridges as tools with schemas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from interpstack import Bridge
from interpstack_javascript import JAVASCRIPT
from interpstack_mcp.bridge_schemas import described_bridge


@dataclass
class Stop:
    name: str
    after: Stop | None = None


class Unknown:
    """A class that has no schema."""


def signature(handler: Any, **fields: Any) -> str:
    tool = described_bridge(Bridge(name="tools.f", handler=handler, **fields))
    return JAVASCRIPT.signature("f", tool)


def test_the_signature_has_parameters_and_the_answer() -> None:
    def price(city: str, days: int = 1, kind: Literal["a", "b"] = "a") -> list[Stop]:
        """The price."""
        raise AssertionError

    text = signature(price)
    assert text.startswith("/** The price. */\nf(input: { city: string; days?: number; kind?: ")
    assert "): Promise<{ name: string;" in text
    assert text.endswith("[]>")


def test_bytes_are_bytes_as_the_bridge_takes_them() -> None:
    def turned(data: bytes, parts: dict[str, list[bytes] | None]) -> bytes:
        raise AssertionError

    taken = "{ data: Uint8Array; parts: Record<string, Uint8Array[] | null> }"
    assert signature(turned) == f"f(input: {taken}): Promise<Uint8Array>"


def test_definitions_of_several_parameters_stay_apart() -> None:
    def go(one: Stop, other: Stop) -> None:
        raise AssertionError

    tool = described_bridge(Bridge(name="tools.f", handler=go))
    assert set(tool.input_schema["$defs"]) == {"one.Stop", "other.Stop"}
    assert "one: { name: string;" in signature(go)


def test_what_has_no_annotation_or_schema_takes_anything() -> None:
    def odd(plain, own: Unknown, **more: int) -> Unknown:  # type: ignore[no-untyped-def]
        raise AssertionError

    assert signature(odd).startswith("f(input: { plain: unknown; own: unknown")
    assert signature(odd).endswith("): Promise<unknown>")
    assert signature(lambda: 1) == "f(): Promise<unknown>"
    assert signature(odd, raw=True) == "f(): Promise<unknown>"


def test_an_answer_whose_name_is_missing_is_left_out() -> None:
    def late(value):  # type: ignore[no-untyped-def]
        raise AssertionError

    late.__annotations__ = {"return": "Missing"}
    assert signature(late, raw=True) == "f(): Promise<unknown>"
