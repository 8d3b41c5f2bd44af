"""Globals of cells, name by name; `docs/reference/node.md` lists where they differ from Node's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interpstack import InterpreterStack, Session
from interpstack_node.engine import NodeEngine

_FUNCTIONS = """
eval Function Date Buffer URL URLSearchParams TextEncoder TextDecoder AbortController AbortSignal
structuredClone setTimeout setInterval clearTimeout clearInterval queueMicrotask setImmediate
clearImmediate atob btoa Blob Event EventTarget ReadableStream
"""
_OBJECTS = "Intl globalThis global console performance crypto"
_ABSENT = """
require module exports __dirname __filename process navigator WebAssembly SharedArrayBuffer Atomics
"""
_NETWORK = "fetch Headers Request Response FormData WebSocket"


async def _types(session: Session, names: str) -> dict[str, str]:
    listed = json.dumps(names.split())
    source = f"{listed}.map((name) => [name, (0, eval)(`typeof ${{name}}`)])"
    return dict(json.loads((await session.eval(f"JSON.stringify({source})")).text))


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (_FUNCTIONS, "function"),
        (_OBJECTS, "object"),
        (_ABSENT, "undefined"),
        (_NETWORK, "undefined"),
    ],
    ids=["functions", "objects", "absent", "network"],
)
async def test_globals(session: Session, names: str, kind: str) -> None:
    assert await _types(session, names) == dict.fromkeys(names.split(), kind)


async def test_globals_with_the_network_and_places_of_cells(tmp_path: Path) -> None:
    engine = NodeEngine(network=True, working_dir=tmp_path)
    with InterpreterStack(engine) as stack, stack.session() as session:
        assert set((await _types(session, _NETWORK)).values()) == {"function"}
        for number in (2, 3):
            file = tmp_path / f".interpstack_cell_{number}.mjs"
            place = "[import.meta.url, import.meta.filename, import.meta.dirname]"
            said = [file.as_uri(), str(file), str(file.parent)]
            assert (await session.eval(f"{place}.join()")).text == ",".join(said)


async def test_a_cell_without_a_working_folder_is_no_file(session: Session) -> None:
    place = "[import.meta.url, import.meta.filename, import.meta.dirname, import.meta.main]"
    assert (await session.eval(f"const [url, ...rest] = {place}; rest")).text == (
        "[undefined, undefined, true]"
    )
    assert (await session.eval("url")).text == "interpstack:.interpstack_cell_1.mjs"


@pytest.mark.parametrize(
    ("cell", "later", "text"),
    [
        ("this === globalThis", "1", "1"),
        ("const globalThis = 1; var kept = 3", "kept", "3"),
        ("const console = 1", "console", "1"),
        ("var Promise = 1", "await 2", "2"),
    ],
)
async def test_globals_may_be_shadowed(session: Session, cell: str, later: str, text: str) -> None:
    assert (await session.eval(cell)).error is None
    assert (await session.eval(later)).text == text
