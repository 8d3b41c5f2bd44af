"""Code that keeps values with the host, reads parts of them, and passes them on whole."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from engines import OnEngine

from interpstack import (
    Bridge,
    ConfigurationError,
    InterpreterStack,
    Outcome,
    Session,
    SessionState,
    bridge,
)
from interpstack_handles.api import HandleLimits, Handles
from interpstack_state import EncryptedStore, MemoryStore, SQLiteStore

ROWS = [{"id": number, "name": f"name {number}"} for number in range(3000)]
TEXT = "first line\n" + "x" * 50_000
BYTES = bytes(range(256)) * 100
RECEIVED: list[Any] = []


@bridge("tools.rows")
async def rows() -> list[dict[str, Any]]:
    return ROWS


@bridge("tools.frame")
async def frame() -> Any:
    return pd.DataFrame(ROWS)


@bridge("tools.text")
async def text() -> str:
    return TEXT


@bridge("tools.raw")
async def raw() -> bytes:
    return BYTES


@bridge("tools.small")
async def small() -> str:
    return "small"


@bridge("tools.send")
async def send(value: Any, note: str = "") -> str:
    RECEIVED.append(value)
    return f"{len(value)} received"


TOOLS = [rows, frame, text, raw, small, send]
MakeSession = Callable[..., Session]


@pytest.fixture(autouse=True)
def _nothing_received() -> None:
    RECEIVED.clear()


@pytest.fixture
def make_session(on_engine: OnEngine) -> Iterator[MakeSession]:
    """Makes sessions whose code has handles."""
    stacks: list[InterpreterStack] = []

    def make(handles: Handles | None = None, key: str = "one", **more: Any) -> Session:
        plugin = Handles(handle_bytes=10_000) if handles is None else handles
        stack = InterpreterStack(on_engine.name, ["console", plugin], bridges=TOOLS, **more)
        stacks.append(stack)
        return stack.session(key)

    yield make
    for stack in stacks:
        stack.close()


def in_language(on_engine: OnEngine, javascript: str, python: str) -> str:
    return python if on_engine.language == "python" else javascript


def value_of(outcome: Outcome) -> str:
    assert outcome.error is None, outcome.error
    return outcome.text


@pytest.mark.engines("all")
def test_a_large_answer_becomes_a_handle_that_a_tool_gets_whole(
    make_session: MakeSession, on_engine: OnEngine
) -> None:
    session = make_session()
    shown = value_of(
        session.eval_sync(
            in_language(on_engine, "const h = await tools.rows(); h", "h = await tools.rows()\nh")
        )
    )
    assert "table" in shown
    assert "3000" in shown
    assert "name 2999" not in shown
    sent = in_language(on_engine, "await tools.send({value: h})", "await tools.send(value=h)")
    assert value_of(session.eval_sync(sent)) == "3000 received"
    assert RECEIVED == [ROWS]
    deep = in_language(
        on_engine, "await tools.send({value: {a: [h, 1]}})", "await tools.send(value={'a': [h, 1]})"
    )
    value_of(session.eval_sync(deep))
    assert RECEIVED[1] == {"a": [ROWS, 1]}


@pytest.mark.engines("all")
def test_code_reads_parts_of_a_handle(make_session: MakeSession, on_engine: OnEngine) -> None:
    session = make_session()
    python = on_engine.language == "python"
    begin = "{} = await tools.{}()" if python else "const {} = await tools.{}(); 1"
    for variable, name in {"r": "rows", "f": "frame", "t": "text", "w": "raw"}.items():
        value_of(session.eval_sync(begin.format(variable, name)))
    for source, expected in (
        ("(await handles.rows(r, 2998))[1]", ROWS[2999]),
        ("(await handles.rows(f, 1, 2))[0]", ROWS[1]),
        ("await handles.json(r, '[7].name')", "name 7"),
        ("await handles.text(t, 6, 12)", "line\nx"),
        ("await handles.text(r, 0, 10)", '[{"id":0,"'),
        ("(await handles.bytes(w, 254, 257))[2]", 0),
    ):
        shown = value_of(session.eval_sync(in_json(source, python=python)))
        assert json.loads(shown) == expected, source


def in_json(source: str, *, python: bool) -> str:
    """A cell whose text is the JSON of a value."""
    return f"import json\njson.dumps({source})" if python else f"JSON.stringify({source})"


@pytest.mark.engines("javascript")
def test_a_handle_has_methods_in_javascript(make_session: MakeSession) -> None:
    session = make_session()
    value_of(session.eval_sync("const h = await tools.rows(); const t = await tools.text(); 1"))
    for source, expected in (
        ("(await h.rows(0, 1))[0].name", "name 0"),
        ("await h.json('[1].id')", "1"),
        ("(await h.rows(2999)).length", "1"),
        ("await t.text(0, 5)", "first"),
        ("(await (await tools.raw()).bytes(1, 2))[0]", "1"),
        ("h.shape.columns.join()", "id,name"),
        ("(await handles.list()).map((one) => one.name).join()", "rows,text,raw"),
        ("await h.drop(); (await handles.list()).length", "2"),
    ):
        assert value_of(session.eval_sync(source)) == expected


@pytest.mark.engines("all")
def test_code_keeps_a_value_under_a_name(make_session: MakeSession, on_engine: OnEngine) -> None:
    session = make_session(Handles())
    value_of(
        session.eval_sync(
            in_language(
                on_engine,
                "const k = await keep({deep: {list: [1, 2]}}, 'mine'); 1",
                "k = await keep({'deep': {'list': [1, 2]}}, 'mine')",
            )
        )
    )
    read = "await handles.json(await handles.get('mine'), 'deep.list[1]')"
    assert value_of(session.eval_sync(read)) == "2"
    assert value_of(session.eval_sync("await handles.json(k, 'deep.list[0]')")) == "1"


@pytest.mark.engines("all")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("handles.json(k, 'b')", "the value has no field 'b'; it has: a"),
        ("handles.json(k, 'a[5]')", "'a' has 1 items, counted from 0; not 5"),
        ("handles.json(k, 'a.b')", "'a' is no object, so it has no field 'b'"),
        ("handles.json(k, 'a[')", "'a[' is no path"),
        ("handles.json(k, 1)", "a path is text"),
        ("handles.rows(k)", "handle 'mine' is no list or table, but object"),
        ("handles.bytes(k)", "holds no bytes"),
        ("handles.text(k, -1)", "a position is a whole number from 0"),
        ("handles.text(k, 0, 1, 2)", "takes 3 arguments; got 4"),
        ("handles.text()", "needs handle"),
        ("handles.get(5)", "pass a handle, its id or its name"),
        ("handles.get('h_nothing')", "this conversation has no handle 'h_nothing'"),
        ("keep(1, 'result')", "names the results of cells"),
        ("keep(1, '')", "a name is a text of 1 to 100 characters"),
    ],
)
def test_what_is_wrong_is_said(
    make_session: MakeSession, on_engine: OnEngine, call: str, message: str
) -> None:
    session = make_session(Handles())
    begin = in_language(
        on_engine, "const k = await keep({a: [1]}, 'mine'); 1", "k = await keep({'a': [1]}, 'mine')"
    )
    value_of(session.eval_sync(begin))
    outcome = session.eval_sync(f"await {call}")
    assert outcome.error is not None
    assert message in outcome.error.message


@pytest.mark.engines("all")
def test_a_handle_that_was_dropped_is_named_in_the_error(
    make_session: MakeSession, on_engine: OnEngine
) -> None:
    session = make_session()
    begin = in_language(on_engine, "const h = await tools.rows(); 1", "h = await tools.rows()")
    value_of(session.eval_sync(begin))
    value_of(session.eval_sync("await handles.drop(h)"))
    send_ = in_language(on_engine, "await tools.send({value: h})", "await tools.send(value=h)")
    for source in (send_, "await handles.text(h, 0, 1)", "await handles.drop(h)"):
        outcome = session.eval_sync(source)
        assert outcome.error is not None
        assert outcome.error.name in ("HandleError", "ToolError")
        assert "it was dropped, or belongs to another conversation" in outcome.error.message
    assert RECEIVED == []


@pytest.mark.engines("all")
def test_a_handle_of_another_conversation_cannot_be_used(
    make_session: MakeSession, on_engine: OnEngine
) -> None:
    session = make_session()
    begin = in_language(on_engine, "const h = await tools.rows(); 1", "h = await tools.rows()")
    value_of(session.eval_sync(begin))
    other = session.stack.session("two")
    values = asyncio.run(session.values())
    asyncio.run(other.restore_state(SessionState(values=values)))
    send_ = in_language(on_engine, "await tools.send({value: h})", "await tools.send(value=h)")
    outcome = other.eval_sync(send_)
    assert outcome.error is not None
    assert "belongs to another conversation" in outcome.error.message
    assert value_of(session.eval_sync(send_)) == "3000 received"


@pytest.mark.engines("javascript")
def test_a_handle_in_a_variable_keeps_its_methods_in_another_realm(
    make_session: MakeSession,
) -> None:
    store = MemoryStore()
    first = make_session(Handles(store, handle_bytes=10_000))
    value_of(first.eval_sync("const h = await tools.rows(), both = [h, {h}], after = [1]; 1"))
    values = asyncio.run(first.values())
    second = make_session(Handles(store, handle_bytes=10_000))
    asyncio.run(second.restore_state(SessionState(values=values)))
    read = "both[0] === h && both[1].h === h && after[0] === 1 && (await h.rows(5, 6))[0].name"
    assert value_of(second.eval_sync(read)) == "name 5"


@pytest.mark.engines("javascript")
def test_code_cannot_make_a_handle_or_change_one(make_session: MakeSession) -> None:
    session = make_session()
    value_of(session.eval_sync("const h = await tools.rows(); 1"))
    for source, message in (
        ("await tools.send({value: new h.constructor({id: 'h_forged'})})", "no handle 'h_forged'"),
        ("await handles.rows(new h.constructor({}))", "malformed"),
        ("'use strict'; h.id = 'h_other'", ""),
    ):
        outcome = session.eval_sync(source)
        assert outcome.error is not None, source
        assert message in outcome.error.message
    # What only looks like a handle is an object like any other.
    value_of(session.eval_sync("await tools.send({value: {...h}})"))
    assert set(RECEIVED[0]) == {"id", "name", "type", "shape", "size", "preview"}


@pytest.mark.engines("all")
def test_small_answers_and_those_of_files_stay_as_they_are(
    make_session: MakeSession, on_engine: OnEngine
) -> None:
    session = make_session(Handles())
    length = in_language(on_engine, "(await tools.rows()).length", "len(await tools.rows())")
    assert value_of(session.eval_sync(length)) == "3000"
    session = make_session(key="two")
    assert value_of(session.eval_sync("await tools.small()")) == "small"


@pytest.mark.engines("all")
def test_handles_are_bounded(make_session: MakeSession, on_engine: OnEngine) -> None:
    session = make_session(Handles(limits=HandleLimits(handles=2, part_bytes=100)))
    for number in range(2):
        value_of(session.eval_sync(f"await keep('{number}' * 1, 'n{number}')".replace(" * 1", "")))
    outcome = session.eval_sync("await keep('third', 'n3')")
    assert outcome.error is not None
    assert "HandleLimits.handles allows 2 handles" in outcome.error.message
    assert "handles.drop(handle)" in outcome.error.message
    value_of(session.eval_sync("await handles.drop('n0')"))
    long = in_language(on_engine, "'x'.repeat(500)", "'x' * 500")
    value_of(session.eval_sync(f"await keep({long}, 'long')"))
    outcome = session.eval_sync("await handles.text('long')")
    assert outcome.error is not None
    assert "characters 0 to 500 of 500: more than the 100 bytes" in outcome.error.message
    assert len(value_of(session.eval_sync("await handles.text('long', 10, 60)"))) == 50


@pytest.mark.engines("all")
def test_the_bytes_of_all_handles_are_bounded(
    make_session: MakeSession, on_engine: OnEngine
) -> None:
    handles = Handles(handle_bytes=1000, limits=HandleLimits(total_bytes=30_000))
    session = make_session(handles)
    outcome = session.eval_sync("await tools.text()")
    assert outcome.error is not None
    assert "tools.text was called, but its answer cannot be kept" in outcome.error.message
    value_of(session.eval_sync("await tools.raw()"))
    long = in_language(on_engine, "'x'.repeat(5000)", "'x' * 5000")
    outcome = session.eval_sync(f"await keep({long}, 'long')")
    assert outcome.error is not None
    assert "allows 30000 bytes in a conversation; its handles have 25600" in outcome.error.message


def test_what_a_handler_changes_is_its_own_copy(make_session: MakeSession) -> None:
    session = make_session()
    value_of(session.eval_sync("const h = await tools.rows(); await h.rows(0, 1); 1"))
    for _ in range(2):
        assert value_of(session.eval_sync("await tools.send({value: h})")) == "3000 received"
        RECEIVED.pop().clear()
    assert value_of(session.eval_sync("(await h.rows(2999)).length")) == "1"


def test_a_call_cannot_hold_a_large_value_many_times(make_session: MakeSession) -> None:
    session = make_session(Handles(limits=HandleLimits(total_bytes=100_000)))
    value_of(session.eval_sync("const k = await keep('x'.repeat(60_000), 'k'); 1"))
    value_of(session.eval_sync("await tools.send({value: [k]})"))
    for call in ("tools.send({value: [k, {k}]})", "keep([k, k], 'twice')"):
        outcome = session.eval_sync(f"await {call}")
        assert outcome.error is not None
        assert "have 120000 bytes together" in outcome.error.message
    assert len(RECEIVED) == 1


def test_many_handles_are_made_at_once(make_session: MakeSession) -> None:
    session = make_session(Handles(MemoryStore()))
    made = "await Promise.all([...Array(60).keys()].map((n) => keep(`${n}`, `n${n}`)))"
    assert value_of(session.eval_sync(f"({made}).length")) == "60"
    assert value_of(session.eval_sync("(await handles.list()).length")) == "60"
    assert value_of(session.eval_sync("await handles.text('n59')")) == "59"


@pytest.mark.engines("javascript")
def test_a_result_that_is_too_long_is_kept(make_session: MakeSession) -> None:
    session = make_session(Handles())
    outcome = session.eval_sync("Array.from({length: 3000}, (_, i) => ({i, text: 'abc'}))")
    assert outcome.attachments == ()
    (notice,) = outcome.notices
    assert "The whole result is kept as a handle (table, " in notice
    name = notice.partition("handles.get('")[2].partition("'")[0]
    read = f"(await (await handles.get('{name}')).rows(2999))[0].i"
    assert value_of(session.eval_sync(read)) == "2999"
    assert session.eval_sync("'short'").notices == ()
    for number in range(6):
        value_of(session.eval_sync(f"'{number}'.repeat(5000)"))
    assert value_of(session.eval_sync("(await handles.list()).length")) == "5"
    outcome = session.eval_sync("[Promise.resolve(1), 'x'.repeat(5000)]")
    assert "The whole result was not kept as a handle: a promise" in outcome.notices[-1]
    session = make_session(Handles(keep_results=False), key="two")
    assert session.eval_sync("'x'.repeat(5000)").notices == ()


@pytest.mark.engines("all")
def test_handles_survive_their_process(
    make_session: MakeSession, on_engine: OnEngine, tmp_path: Path
) -> None:
    database = tmp_path / "states.db"
    script = f"""
from interpstack import InterpreterStack
from interpstack_handles.api import Handles
from interpstack_state import SQLiteStore
with SQLiteStore({str(database)!r}) as store:
    with InterpreterStack({on_engine.name!r}, [Handles(store)]) as stack:
        outcome = stack.session("one").eval_sync("await keep('x' + 'kept by another', 'mine')")
        assert outcome.error is None, outcome.error
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    with SQLiteStore(database) as store:
        session = make_session(Handles(store))
        assert value_of(session.eval_sync("await handles.text('mine')")) == "xkept by another"
        other = session.stack.session("two").eval_sync("await handles.text('mine')")
        assert other.error is not None
        session.stack.close()


async def test_an_encrypted_store_has_ciphertext_and_detects_changes() -> None:
    inner = MemoryStore()
    handles = Handles(EncryptedStore(inner, bytes(32)))
    with InterpreterStack("quickjs", [handles]) as stack:
        outcome = await stack.session("one").eval("await keep('the secret text', 'mine')")
        assert outcome.error is None
    blobs = [inner.claim(blob.key, "reader", 1) or b"" for blob in inner.blobs()]
    assert len(blobs) == 2
    assert [blob for blob in blobs if b"secret" in blob] == []


async def test_conversations_have_handles_of_their_own_however_long_their_keys_are() -> None:
    store = MemoryStore()
    handles = Handles(store)
    keys = ["a", "a:b", "x" * 1000, "x" * 999 + "y"]
    with InterpreterStack("quickjs", [handles]) as stack:
        for key in keys:
            assert (await stack.session(key).eval(f"await keep('{key[-1]}', 'mine')")).ok
    for key in keys:
        (record,) = await handles.of(key).records()
        assert await handles.of(key).content(record) == key[-1].encode()
        await handles.of(key).clear()
    assert list(store.blobs()) == []


async def test_damage_of_a_content_is_found() -> None:
    store = MemoryStore()
    with InterpreterStack("quickjs", [Handles(store)]) as stack:
        await stack.session("one").eval("await keep('some text', 'mine')")
    for blob in list(store.blobs()):
        if blob.key.startswith("handle:"):
            store.claim(blob.key, "writer", 1)
            store.save(blob.key, "writer", b"other text", 0)
    with InterpreterStack("quickjs", [Handles(store)]) as stack:
        outcome = await stack.session("one").eval("await handles.text('mine')")
    assert outcome.error is not None
    assert "is damaged" in outcome.error.message


async def test_a_closed_session_leaves_nothing_in_memory() -> None:
    handles = Handles()
    async with InterpreterStack("quickjs", [handles]) as stack:
        session = stack.session("one")
        await session.eval("await keep('text', 'mine')")
        assert len(await handles.of("one").records()) == 1
        await session.aclose()
        assert await handles.of("one").records() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"store": "sqlite:///x"}, "Handles takes a BlobStore"),
        ({"handle_bytes": 0}, "handle_bytes"),
        ({"limits": 5}, "limits takes HandleLimits"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Handles(**arguments)


def test_a_stack_without_the_plugin_has_no_exchange() -> None:
    with InterpreterStack("quickjs", ["console"], bridges=TOOLS) as stack:
        assert stack.session().offer.parts == ()
        bridges = stack.bridge_set(stack.session().offer)
        assert bridges.exchanges == ()
        assert not [one for one in bridges if isinstance(one, Bridge) and "handle" in one.name]
