"""Realms: what outlives a kernel, and what is told of what does not."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from interpstack import (
    BridgeSet,
    Cell,
    EngineFailure,
    ImageError,
    InterpreterStack,
    Limits,
    Session,
)
from interpstack_javascript.exported import UNDONE
from interpstack_node import realm as realm_module
from interpstack_node.engine import NodeEngine
from interpstack_node.kernels.confine import CONFINES
from interpstack_node.kernels.process import KernelProcess
from interpstack_node.realm import NodeRealm


def _realm(session: Session) -> NodeRealm:
    realm = session._state.realm
    assert isinstance(realm, NodeRealm)
    return realm


def _kill(session: Session) -> None:
    kernel = _realm(session)._kernel
    assert kernel is not None
    kernel.signal(9)
    kernel._process.wait()


async def test_a_kernel_that_dies_between_cells_costs_functions_only(session: Session) -> None:
    await session.eval("let n = 41; class Point {}; const bytes = new Uint8Array([1, 2])")
    _kill(session)
    outcome = await session.eval("[n + 1, bytes[1]]")
    assert (outcome.text, outcome.state) == ("[42, 2]", "kept")
    (notice,) = outcome.notices
    assert notice == (
        "The kernel process has ended since the last cell. Variables were restored from their "
        "values; without a value, and so lost: Point."
    )
    lost = await session.eval("new Point()")
    assert lost.error is not None
    assert "Value for 'Point' was not restored because" in lost.error.message
    assert lost.notices == ()


@pytest.mark.skipif(not CONFINES, reason="the system limits no other process")
async def test_the_system_ends_a_kernel_that_computes_between_cells(session: Session) -> None:
    import resource

    def allowed() -> float:
        kernel = _realm(session)._kernel
        assert kernel is not None
        return resource.prlimit(kernel.pid, resource.RLIMIT_CPU)[0] - kernel.cpu_seconds

    await session.eval("const f = () => 1; const left = import('node:crypto')")
    assert 0 < allowed() < 4
    assert sorted(await session.names()) == ["f", "left"]
    assert 0 < allowed() < 4
    kernel = _realm(session)._kernel
    assert kernel is not None
    kernel.signal(signal.SIGXCPU)
    kernel._process.wait()
    (notice,) = (await session.eval("1")).notices
    assert notice.startswith("The kernel process has ended since the last cell.")


async def test_nothing_is_reported_where_nothing_is_lost(session: Session) -> None:
    await session.eval("let n = 41")
    _kill(session)
    outcome = await session.eval("n")
    assert (outcome.text, outcome.notices) == ("41", ())


@pytest.mark.parametrize("ends", [_kill, lambda session: _realm(session).rest()])
async def test_changes_whose_export_was_stopped_are_undone_with_a_notice(
    session: Session, monkeypatch: pytest.MonkeyPatch, ends: Callable[[Session], None]
) -> None:
    monkeypatch.setattr("interpstack_node.kernels.clock.EXPORT_SECONDS", 0.2)
    await session.eval("let n = 41")
    await session.eval("n = 42; let slow = Object.defineProperty([], 0, {get() { for (;;); }}); 1")
    ends(session)
    outcome = await session.eval("[n, typeof slow]")
    assert (outcome.text, outcome.notices) == ('[41, "undefined"]', (UNDONE,))
    assert (await session.eval("n")).notices == ()


async def test_names_and_values_of_a_kernel_that_died(session: Session) -> None:
    await session.eval("let n = 41; const f = () => n")
    _kill(session)
    assert sorted(await session.names()) == ["f", "n"]
    values = await session.values()
    assert values["n"] == 41
    assert values["f"]["$"] == "lost"


async def test_a_kernel_that_dies_in_a_cell_costs_that_cell(session: Session) -> None:
    await session.eval("let n = 41; const f = () => n")
    realm = _realm(session)

    def kill() -> None:
        assert realm._kernel is not None
        realm._kernel.signal(9)

    import asyncio

    asyncio.get_running_loop().call_later(0.3, kill)
    outcome = await session.eval("console.log('began'); n = 42; for (;;);")
    assert outcome.error is not None
    assert outcome.error.name == "EngineFailure"
    assert "the kernel process was ended by SIGKILL; variables were reset" in outcome.error.message
    assert (outcome.console, outcome.state) == ("began", "undone")
    assert (await session.eval("n")).text == "41"


@pytest.mark.parametrize(("killed", "kept"), [(1, True), (2, False)])
async def test_kernels_that_die_while_variables_are_put_into_them(
    session: Session, monkeypatch: pytest.MonkeyPatch, killed: int, kept: bool
) -> None:
    await session.eval("let n = 41")
    _kill(session)
    taken: list[KernelProcess] = []

    def fill(kernel: KernelProcess, values: Mapping[str, Any]) -> None:
        taken.append(kernel)
        if len(taken) <= killed:
            kernel.signal(9)
        put_into(kernel, values)

    put_into = realm_module._fill
    monkeypatch.setattr(realm_module, "_fill", fill)
    outcome = await session.eval("typeof n")
    assert len(taken) == 2
    assert outcome.text == ("number" if kept else "undefined")
    lost = [text.startswith("All variables are lost: they could") for text in outcome.notices]
    assert lost == ([] if kept else [True])


async def test_what_rests_wakes_with_its_values(session: Session) -> None:
    await session.eval("let n = 41")
    _realm(session).rest()
    assert not _realm(session).is_awake
    assert (await session.eval("n + 1")).text == "42"


async def test_values_that_were_loaded_stay_without_the_kernel(session: Session) -> None:
    await session.load({"n": 41})
    assert await session.values() == {"n": 41}
    _realm(session).rest()
    assert (await session.eval("n + 1")).text == "42"


def test_a_closed_realm_starts_nothing() -> None:
    engine = NodeEngine(prestarted=0)
    with InterpreterStack(engine) as stack, stack.session() as session:
        session.eval_sync("1")
        realm = _realm(session)
    realm.close()
    with pytest.raises(EngineFailure, match="the realm was closed"):
        realm.names()
    engine.close()


async def test_the_event_loop_never_waits_for_a_thread_that_ends_the_kernel(
    session: Session,
) -> None:
    await session.eval("1")
    realm = _realm(session)
    holds, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with realm._lock:
            holds.set()
            leave.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert holds.wait(60)
    assert type(realm).starts_at_once
    execution = realm.start(Cell(source="1"))
    assert not realm.is_awake
    polled = asyncio.create_task(execution.apoll(0.0, 30.0))
    await asyncio.sleep(0)
    assert not polled.done()
    assert holder.is_alive()
    leave.set()
    assert (await polled).completion is not None
    holder.join(60)


async def test_a_kernel_rests_before_a_cell_or_not_at_all(session: Session) -> None:
    await session.eval("let n = 1")
    realm = _realm(session)
    realm.rest()
    assert not realm.is_awake
    assert (await session.eval("n += 1")).text == "2"
    execution = realm.start(Cell(source="n"))
    realm.rest()
    assert realm.is_awake
    assert (await execution.apoll(0.0, 30.0)).completion is not None


def _waiting(engine: NodeEngine) -> NodeRealm:
    realm = engine.open(Limits(), BridgeSet())
    assert isinstance(realm, NodeRealm)
    realm.start(Cell(source="await new Promise(() => 0)", seed=1)).poll(1e9, 5.0)
    return realm


def test_a_kept_cell_whose_kernel_dies_is_not_continued() -> None:
    engine = NodeEngine(prestarted=0)
    realm = _waiting(engine)
    image = realm.image()
    kernel = realm._kernel
    assert kernel is not None
    kernel.signal(9)
    kernel._process.wait()
    with pytest.raises(ImageError, match="was released; run it again"):
        engine.open(Limits(), BridgeSet(), image)
    assert engine.pool.resident == 0
    engine.close()


def test_kept_cells_make_room_and_end_with_the_engine() -> None:
    engine = NodeEngine(kernels=2, prestarted=0)
    realms = [_waiting(engine) for _ in range(3)]
    images = [realm.image() for realm in realms]
    for realm in realms:
        realm.close()
    assert engine.pool.resident == 2
    with pytest.raises(ImageError):
        engine.open(Limits(), BridgeSet(), images[0])
    kernels = [realm._kernel for realm in realms[1:]]
    engine.close()
    assert [kernel is not None and kernel.alive for kernel in kernels] == [False, False]
    assert engine.pool.resident == 0


async def test_built_ins_that_code_has_replaced_are_named_as_lost() -> None:
    with InterpreterStack("node") as stack:
        session = stack.session("changed")
        await session.eval("[/a/.exec('a'), new URL('http://a/b').href]; const keep = 1")
        assert await session.values() == {"keep": 1}
        await session.eval("Array.prototype.map = () => 1; Math.max = NaN")
        assert (await session.values() or {}).keys() == {"keep", "Array.prototype.map", "Math.max"}
