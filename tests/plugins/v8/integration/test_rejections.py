"""Promises that are rejected and never handled: more than deno_core takes in one call."""

from __future__ import annotations

import pytest

from interpstack import InterpreterStack, Limits, ModuleBundle, Session, hookimpl
from interpstack.contracts.modules import ModuleLoader

pytestmark = pytest.mark.timeout(90)

#: Some 30,000 overflow the stack of the call that reports them.
_MANY = 60_000
_AT_ONCE = f"for (let i = 0; i < {_MANY}; i++) Promise.reject(i);"
_IN_JOBS = f"for (let i = 0; i < {_MANY}; i++) (async () => {{ await 1; throw i; }})();"


#: The beginning of the notice about them.
_NOTICED = ("100 or more promises that the cell did not wait for were rejected: ",)


class _Module:
    @hookimpl
    def interpstack_resolve_module(self) -> ModuleLoader:
        async def load() -> ModuleBundle:
            source = f"{_AT_ONCE} {_IN_JOBS} export const made = 7;"
            return ModuleBundle("rejecting.js", {"rejecting.js": source})

        return load


@pytest.fixture
def limits() -> Limits:
    return Limits(cpu_seconds=30, wall_seconds=80)


async def _keeps_its_variables(
    session: Session, source: str, text: str, noticed: tuple[str, ...] = ()
) -> None:
    await session.eval("let keep = () => 41")
    outcome = await session.eval(source)
    assert (outcome.error, outcome.text) == (None, text)
    assert len(outcome.notices) == len(noticed)
    for notice, begin in zip(outcome.notices, noticed, strict=True):
        assert notice.startswith(begin)
    after = await session.eval("keep()")
    assert (after.error, after.text) == (None, "41")


@pytest.mark.parametrize(
    "source",
    [
        f"{_AT_ONCE} 7",
        f"{_IN_JOBS} 7",
        f"await 1; {_AT_ONCE} 7",
        f"await host.echo(1); {_IN_JOBS} 7",
        f"setTimeout(() => {{ {_AT_ONCE} }}, 1); await new Promise((go) => setTimeout(go, 5)); 7",
        f"({{ toString() {{ {_AT_ONCE} return '7'; }} }}) + ''",
    ],
)
async def test_a_cell_may_leave_any_number_of_rejections(session: Session, source: str) -> None:
    await _keeps_its_variables(session, source, "7", _NOTICED)


async def test_a_module_may_leave_any_number_of_rejections(limits: Limits) -> None:
    stack = InterpreterStack(engine="v8", plugins=[_Module()], limits=limits)
    async with stack, stack.session() as session:
        # deno_core passes on none of so many, so no notice names them
        await _keeps_its_variables(session, "(await import('rejecting')).made", "7")


async def test_getters_may_leave_any_number_of_rejections(session: Session) -> None:
    await session.eval(f"let keep = {{ get it() {{ {_AT_ONCE} return 7; }} }}")
    assert set(await session.values()) == {"keep"}
    assert (await session.eval("keep.it")).text == "7"


@pytest.mark.parametrize("thrown", ["new Error('x')", "1", "Object.create(null)"])
@pytest.mark.parametrize("after", ["", "await 1; "])
async def test_errors_in_microtasks_cost_no_variables(
    session: Session, thrown: str, after: str
) -> None:
    await _keeps_its_variables(
        session, f"queueMicrotask(() => {{ throw {thrown} }}); {after}7", "7"
    )
