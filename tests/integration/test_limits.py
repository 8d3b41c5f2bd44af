"""Limits as engines take them."""

from __future__ import annotations

import attrs
import pytest
from engines import OnEngine

from interpstack import InterpreterStack, Limits, bridge
from interpstack.cells import loop
from interpstack_quickjs.webassembly import machine
from interpstack_wasm.host import TICK_SECONDS

_NAMES = [field.name for field in attrs.fields(Limits)]


def _most(name: str) -> int:
    return 10**9 if name.endswith("_seconds") else 2**53


_CODE = {
    "javascript": "const x = await kit.echo({value: 41}); setTimeout(() => 0, 1); x + 1",
    "python": "x = await kit.echo(value=41)\nx + 1",
}


@pytest.mark.engines("all")
@pytest.mark.parametrize("name", [*_NAMES, "all"])
def test_engines_bear_the_largest_values(on_engine: OnEngine, name: str) -> None:
    @bridge("kit.echo")
    async def echo(value: int) -> int:
        return value

    most = {each: _most(each) for each in _NAMES if name in (each, "all")}
    limits = Limits(**most)  # type: ignore[arg-type]
    with InterpreterStack(on_engine.name, bridges=[echo], limits=limits) as stack:
        outcome = stack.session("k").eval_sync(_CODE[on_engine.language])
    assert (outcome.error, outcome.text) == (None, "42")


_STORMS = {
    "javascript": "(await Promise.allSettled(Array.from({length: 80}, () => kit.one())))"
    ".map((one) => one.reason?.message ?? 'made').join('\\n')",
    "python": """
import asyncio
said = []
async def one():
    try:
        await kit.one()
        said.append("made")
    except Exception as error:
        said.append(str(error).partition(": ")[2] or str(error))
await asyncio.gather(*[one() for _ in range(80)])
"\\n".join(said)""",
}


@pytest.mark.engines("all")
def test_refused_calls_have_one_message_whoever_refuses_them(on_engine: OnEngine) -> None:
    @bridge("kit.one")
    async def one() -> int:
        return 1

    limits = Limits(requests=1, cpu_seconds=30)
    with InterpreterStack(on_engine.name, bridges=[one], limits=limits) as stack:
        outcome = stack.session("k").eval_sync(_STORMS[on_engine.language])
    assert outcome.error is None
    assert sorted(set(outcome.text.splitlines())) == [
        "made",
        "the cell may make 1 call; this was one more",
    ]


# -- imports ---------------------------------------------------------------------------------


_IMPORTS = """
const seen = {};
for (let i = 0; i < %d; i++)
  try { await import(`x${i}`) } catch (e) { seen[e.name] = (seen[e.name] ?? 0) + 1 }
JSON.stringify(seen)
"""


@pytest.mark.engines("javascript")
def test_imports_are_no_calls_and_have_a_bound_of_their_own(on_engine: OnEngine) -> None:
    @bridge("kit.one")
    async def one() -> int:
        return 1

    limits = Limits(requests=1, cpu_seconds=30)
    with InterpreterStack(on_engine.name, bridges=[one], limits=limits) as stack:
        session = stack.session("k")
        outcome = session.eval_sync(f"await kit.one(); {_IMPORTS % 100}")
        assert (outcome.error, outcome.text) == (None, '{"ModuleNotFound":100}')
        assert outcome.usage.requests == 1
        every = "await Promise.all(Array.from({length: 1003}, () => import('x').catch(String)))"
        texts = session.eval_sync(f"({every}).slice(999).join('\\n')").text.splitlines()
        assert texts[0].startswith("ModuleNotFound: there is no module 'x' to import")
        assert texts[1:] == ["RangeError: import: a cell may make at most 1000 imports"] * 3
        assert session.eval_sync(_IMPORTS % 2).text == '{"ModuleNotFound":2}'  # counted anew


@pytest.mark.engines("javascript")
def test_imports_without_end_are_stopped(on_engine: OnEngine) -> None:
    many = "Array.from({length: 100}, () => import('x').catch(() => 0))"
    with InterpreterStack(on_engine.name, limits=Limits(cpu_seconds=1)) as stack:
        session = stack.session("k")
        error = session.eval_sync(f"for (;;) await Promise.all({many})").error
        assert error is not None
        assert error.name == "Timeout"
        assert session.eval_sync("1").text == "1"


def test_grace_periods_of_a_builtin_add_up_to_less_than_a_second() -> None:
    ticks = (machine._GRACE_TICKS + 1) * TICK_SECONDS
    assert loop._LATE_SECONDS + max(ticks, machine._GRACE_SECONDS) < 0.9
