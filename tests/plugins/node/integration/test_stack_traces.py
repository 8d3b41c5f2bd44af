"""`Error.prepareStackTrace` of guests, and the frames that it gets."""

from __future__ import annotations

import pytest

from interpstack import Session


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            "Error.prepareStackTrace = (e, frames) => frames.map((f) => f.getFunctionName()); "
            "function named() { return new Error('x') } named().stack[0]",
            "named",
        ),
        (
            "Error.prepareStackTrace = (e, frames) => frames[0].getLineNumber();\n"
            "new Error('x').stack",
            "2",
        ),
        (
            "const f = () => 'mine'; Error.prepareStackTrace = f; Error.prepareStackTrace === f",
            "true",
        ),
        (
            "Error.prepareStackTrace = () => 'mine'; Error.prepareStackTrace = undefined; "
            "new Error('x').stack.startsWith('Error: x\\n    at ')",
            "true",
        ),
    ],
)
async def test_code_writes_its_own_stack_traces(session: Session, source: str, text: str) -> None:
    outcome = await session.eval(source)
    assert outcome.error is None, outcome.error
    assert outcome.text == text


@pytest.mark.parametrize(
    "catch",
    [
        "Error.prepareStackTrace = (e, frames) => frames",
        "globalThis.Error = {prepareStackTrace: (e, frames) => frames}",
        "globalThis.Error = class { static get prepareStackTrace() { return (e, f) => f } }",
        "Function.prototype.prepareStackTrace = (e, frames) => frames",
    ],
)
async def test_no_frame_leads_to_a_function_or_to_the_kernel(session: Session, catch: str) -> None:
    outcome = await session.eval(
        f"{catch}; let frames; (function f() {{ try {{ null.x }} catch (e) {{ frames = e.stack }} "
        "})(); const seen = Array.isArray(frames) ? frames : []; seen.filter((f) => "
        "f.getFunction() !== undefined || f.getThis() !== undefined || "
        "String(f).includes('interpstack:') || f.constructor.constructor !== Function).length"
    )
    assert outcome.error is None, outcome.error
    assert outcome.text == "0"
