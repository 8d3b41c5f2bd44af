"""Values of the guest that hold their data out of reach: refused, and never an empty object."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Bridge, InterpreterStack


async def _echo(value: Any) -> Any:
    return value


def _evaluated(engine: str, *sources: str) -> list[Any]:
    echo = Bridge(name="echo", handler=_echo, raw=True)
    with InterpreterStack(engine, bridges=[echo]) as stack, stack.session() as session:
        return [session.eval_sync(source) for source in sources]


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
def test_a_built_in_object_without_fields_is_refused_with_a_remedy(engine: str) -> None:
    kinds = {
        "[1].values()": "Array Iterator cannot be passed to the host; make an array of it",
        "new Map([[1, 2]]).keys()": "Map Iterator cannot be passed to the host; make an array",
        "(function* () { yield 1 })()": "Generator cannot be passed to the host; make an array",
        "new URLSearchParams('a=1')": "URLSearchParams cannot be passed to the host; make an array",
        "/a/g": "RegExp cannot be passed to the host; pass its source",
        "new WeakMap()": "WeakMap cannot be passed to the host; pass plain data",
        "new DataView(new ArrayBuffer(2))": "DataView cannot be passed to the host; pass plain",
        "new Float32Array([1.5])": "Float32Array cannot be passed to the host; make an array of it",
        "new Uint16Array([258])": "Uint16Array cannot be passed to the host; make an array of it",
        "new Int8Array([-1])": "Int8Array cannot be passed to the host; make an array of it",
    }
    found = _evaluated(engine, *(f"await echo({{a: [{kind}]}})" for kind in kinds))
    for outcome, words in zip(found, kinds.values(), strict=True):
        assert outcome.error is not None
        assert outcome.error.name == "TypeError"
        assert outcome.error.message.startswith(f"a value of the kind {words}")
        assert outcome.error.message.endswith("(at $.a[0])")


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
def test_a_date_that_is_none_is_refused_and_kept_as_a_variable(engine: str) -> None:
    """As a number, it would be NaN, which a tool may take."""
    sources = ("var due = new Date('31/12/2026')", "await echo({due})", "typeof due.getTime()")
    made, refused, after = _evaluated(engine, *sources)
    assert made.ok
    assert refused.error is not None
    assert (refused.error.name, refused.error.message) == (
        "TypeError",
        "an invalid Date cannot be passed to the host (at $.due)",
    )
    assert after.text == "number"


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
def test_objects_of_code_that_are_empty_or_have_fields_cross(engine: str) -> None:
    sources = [
        "await echo({})",
        "await echo(Object.create(null))",
        "await echo(new class A {})",
        "await echo(new class A { x = 1; get [Symbol.toStringTag]() { return 'A' } })",
        "await echo(Object.assign(/a/, {x: 1}))",
        "await echo(new Uint8ClampedArray([300, 1]))",
        "await echo([...new Float32Array([1.5])])",
    ]
    texts = [outcome.text for outcome in _evaluated(engine, *sources)]
    assert texts == ["{}", "{}", "{}", "{x: 1}", "{x: 1}", "Uint8Array(2) [255, 1]", "[1.5]"]
