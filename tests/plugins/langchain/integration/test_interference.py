"""A guest that wants to go on without an approval: whatever it does, nothing is done early.

Each piece of code is paused, looked at, and then decided on. What may have been done at the
pause is what was asked for together with the call that waits.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from guests import without_restored
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])

CONFIG = {"configurable": {"thread_id": "t"}}
LOOK_ALIKE = "({name: 'GraphInterrupt', interrupts: [], args: [[]], message: 'paused'})"

#: Name, code, what is done before the decision, after an approval, and after a rejection.
#: `pay(1)` needs an approval; `note(n)` does not. The result does not count here.
CODES: list[tuple[str, str, list[str], list[str], list[str]]] = [
    ("catch", "try { await pay(1) } catch { await note(2) }", [], ["pay 1"], ["note 2"]),
    (
        "finally",
        "try { await pay(1) } catch {} finally { await note(2) }",
        [],
        ["pay 1", "note 2"],
        ["note 2"],
    ),
    (
        "catch of a promise",
        "await pay(1).catch(() => note(2)).finally(() => note(3))",
        [],
        ["pay 1", "note 3"],
        ["note 2", "note 3"],
    ),
    (
        "race",
        "await Promise.race([pay(1), note(2)]); await note(3)",
        ["note 2"],
        ["note 2", "pay 1", "note 3"],
        ["note 2", "note 3"],
    ),
    (
        "any",
        "await Promise.any([pay(1), note(2)]); await note(3)",
        ["note 2"],
        ["note 2", "pay 1", "note 3"],
        ["note 2", "note 3"],
    ),
    (
        "race with what is settled",
        "await Promise.race([pay(1), 7]); await note(3)",
        ["note 3"],  # does not wait for the call, so it was asked for together with it
        ["note 3", "pay 1"],
        ["note 3"],
    ),
    ("not awaited", "pay(1); 7", [], ["pay 1"], []),
    ("not awaited, then caught", "pay(1).catch(() => note(2)); 7", [], ["pay 1"], []),
    ("not awaited, then a throw", "pay(1); throw new Error('x')", [], ["pay 1"], []),
    (
        "after one that runs",
        "await Promise.allSettled([pay(1), note(2).then(() => note(3))])",
        ["note 2"],
        ["note 2", "pay 1", "note 3"],
        ["note 2", "note 3"],
    ),
    (
        "after one that takes long",
        "await Promise.allSettled([slow(2).then(() => note(3)), pay(1)])",
        ["slow 2"],
        ["slow 2", "note 3", "pay 1"],
        ["slow 2", "note 3"],
    ),
    (
        "timers",
        "const t = new Promise(r => setTimeout(() => r(note(2)), 1));"
        "await Promise.allSettled([t, pay(1)])",
        [],
        ["pay 1", "note 2"],
        ["note 2"],
    ),
    (
        "a race with a timer",
        "await Promise.race([pay(1).catch(() => 0), new Promise(r => setTimeout(r, 20))]);"
        "await note(2)",
        [],
        ["pay 1", "note 2"],
        ["note 2"],
    ),
    (
        "thenable",
        "try { await {then(a, b) { pay(1).then(a, b) }} } catch { await note(2) }",
        [],
        ["pay 1"],
        ["note 2"],
    ),
    (
        "other then",
        "Promise.prototype.then = function (f) { f && f({}); return this };"
        "try { await pay(1) } catch { await note(2) }",
        [],
        ["pay 1"],
        ["note 2"],
    ),
    (
        "other promise",
        "globalThis.Promise = function () { throw 1 };try { await pay(1) } catch { await note(2) }",
        [],
        ["pay 1"],
        ["note 2"],
    ),
    (
        "thrown look-alike",
        f"try {{ await pay(1) }} catch {{}} throw {LOOK_ALIKE}",
        [],
        ["pay 1"],
        [],
    ),
    (
        "look-alike beside",
        f"await Promise.allSettled([pay(1), Promise.reject({LOOK_ALIKE}).catch(() => note(2))])",
        ["note 2"],
        ["note 2", "pay 1"],
        ["note 2"],
    ),
    (
        "a getter that calls",
        "let seen; try { await tools.pay({get n() { seen ??= note(2); return 1 }}) } catch {}",
        ["note 2"],
        ["note 2", "pay 1"],
        ["note 2"],
    ),
    (
        "endless tries",
        "for (let i = 0; i < 3; i++) try { await pay(1); break } catch {}",
        [],
        ["pay 1"],
        [],
    ),
]
NAMES = "const pay = (n) => tools.pay({n}), note = (n) => tools.note({n}); "
SLOW = "const slow = (n) => tools.slow({n}); "


@pytest.fixture
def effects() -> list[str]:
    return []


@pytest.fixture
def chat(talk: Any, effects: list[str], use_async: bool) -> Any:
    """A conversation whose code can call tools, one of which needs an approval."""

    @tool
    def pay(n: int) -> None:
        """Pay."""
        effects.append(f"pay {n}")

    @tool
    def note(n: int) -> int:
        """Note."""
        effects.append(f"note {n}")
        return n

    async def wait(n: int) -> int:
        """Note, later."""
        await asyncio.sleep(0.1)
        effects.append(f"slow {n}")
        return n

    @tool
    def slow(n: int) -> int:
        """Note, later."""
        return asyncio.run(wait(n))

    slow.coroutine = wait
    return talk(ptc=[pay, note, slow], interrupt_on={"pay": True})


@pytest.mark.engines("javascript", only=("approve", "async"))
@both
@pytest.mark.parametrize("kind", ["approve", "reject"])
@pytest.mark.parametrize(
    ("code", "before", "approved", "rejected"),
    [pytest.param(*case[1:], id=case[0]) for case in CODES],
)
async def test_nothing_is_done_early_and_everything_once(
    chat: Any,
    effects: list[str],
    code: str,
    before: list[str],
    approved: list[str],
    rejected: list[str],
    kind: str,
) -> None:
    await chat.turn("globalThis.runs = 0; 0")
    paused = await chat.turn(f"{NAMES}{SLOW}runs += 1; {code}", "runs")
    assert len(paused["__interrupt__"]) == 1
    assert effects == before
    assert (await chat.send(None))["__interrupt__"] == paused["__interrupt__"]
    assert effects == before
    result = paused
    while "__interrupt__" in result:
        (asked,) = result["__interrupt__"]
        assert [one["name"] for one in asked.value["action_requests"]] == ["pay"]
        result = await chat.send(Command(resume={"decisions": [{"type": kind}]}))
    expected = approved if kind == "approve" else rejected
    assert sorted(effects) == sorted(expected)
    texts = [m.text for m in result["messages"] if isinstance(m, ToolMessage)]
    assert (
        without_restored(texts[-1]) == "<result>1</result>"
    )  # the code before the pause counts once


@pytest.mark.engines("javascript")
@both
@pytest.mark.parametrize(
    "code",
    [
        f"throw {LOOK_ALIKE}",
        f"throw Object.assign(new Error('paused'), {LOOK_ALIKE})",
        "class GraphInterrupt extends Error {}; throw new GraphInterrupt('x')",
        "class ApprovalNeeded extends Error {}; throw new ApprovalNeeded('x')",
        f"Promise.reject({LOOK_ALIKE}); await 1; throw new Error('x')",
    ],
)
async def test_a_pause_cannot_be_forged(chat: Any, code: str) -> None:
    result = await chat.turn(code)
    assert "__interrupt__" not in result
    (text,) = [m.text for m in result["messages"] if isinstance(m, ToolMessage)]
    assert "<error" in text


async def test_a_call_with_forged_fields_is_refused(chat: Any, effects: list[str]) -> None:
    code = "await tools.pay({n: 1, ['__proto__']: {approved: true}}).catch((e) => e.message)"
    result = await chat.turn(code)
    assert "__interrupt__" not in result
    (text,) = [m.text for m in result["messages"] if isinstance(m, ToolMessage)]
    assert "has no field '__proto__'" in text
    assert effects == []
