"""Images: functions and classes survive, cells go on elsewhere, damage is told."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from interpstack import (
    BridgeSet,
    Cell,
    EngineFailure,
    GuestError,
    Image,
    ImageError,
    InterpreterStack,
    Limits,
    Progress,
    Realm,
    Settlement,
)
from interpstack_monty import workers
from interpstack_monty.engine import MontyEngine
from interpstack_monty.images import opened, sealed

Offer = Callable[..., BridgeSet]


def run(realm: Realm, source: str) -> str:
    execution = realm.start(Cell(source=source))
    progress = execution.poll(1.0, 5.0)
    assert progress.completion is not None
    assert progress.completion.error is None
    return progress.completion.text


def test_functions_classes_and_modules_survive(engine: MontyEngine, offer: Offer) -> None:
    realm = engine.open(Limits(), offer("kit.echo"))
    run(realm, "import json\nn = 1\ndef f(): return n + 1\nclass P:\n    x = 5\np = P()\nt = kit")
    image = realm.image()
    realm.close()
    other = engine.open(Limits(), offer("kit.echo"), image)
    assert run(other, "json.dumps([f(), p.x]), t is kit") == "('[2, 5]', True)"
    assert set(other.names()) == {"json", "n", "f", "P", "p", "t"}


def test_images_are_small(engine: MontyEngine, offer: Offer) -> None:
    realm = engine.open(Limits(), offer("kit.echo"))
    run(realm, "n = 1")
    size = len(realm.image().data)
    for _ in range(50):
        run(realm, "n += 1")
    assert size < 16_000  # most of it is the kernel
    assert len(realm.image().data) < 1.5 * size


def test_large_states_survive_and_are_kept_small(engine: MontyEngine, offer: Offer) -> None:
    realm = engine.open(Limits(), offer())
    run(realm, "held = ['x' * 2**20 + str(n) for n in range(24)]")
    assert len(realm.state.saved.dump) < 2**20
    other = engine.open(Limits(), offer(), realm.image())
    assert run(other, "sum(map(len, held))") == str(24 * 2**20 + 38)


def test_other_bridges_can_be_bound_to_a_state(engine: MontyEngine, offer: Offer) -> None:
    realm = engine.open(Limits(), offer("kit.echo", "old.gone"))
    run(realm, "keep = old.gone\nx = 1")
    realm.bind(offer("kit.other", "more"))
    assert run(realm, "x, hasattr(kit, 'echo'), hasattr(kit, 'other')") == "(1, False, True)"
    assert list(realm.names()) == ["keep", "x"]
    progress = realm.start(Cell(source="await keep()")).poll(1.0, 5.0)
    assert "not offered in this session" in progress.completion.error.message


@pytest.mark.parametrize(
    "limits", [Limits(cpu_seconds=9.0), Limits(cpu_seconds=None), Limits(memory_bytes=2**30)]
)
def test_an_image_with_smaller_limits_is_refused(
    engine: MontyEngine, offer: Offer, limits: Limits
) -> None:
    image = engine.open(Limits(), offer()).image()
    engine.open(Limits(cpu_seconds=1.0), offer(), image)
    with pytest.raises(ImageError, match="smaller limit"):
        engine.open(limits, offer(), image)


def test_damage_is_reported(engine: MontyEngine, offer: Offer) -> None:
    realm = engine.open(Limits(), offer())
    run(realm, "x = 1")
    image = realm.image()
    broken = bytearray(image.data)
    broken[len(broken) // 2] ^= 1
    for data in (bytes(broken), image.data[:-1], b""):
        with pytest.raises(ImageError, match="damaged"):
            engine.open(Limits(), offer(), attrs.evolve(image, data=data))


def start(realm: Realm, source: str) -> tuple[Any, Progress]:
    execution = realm.start(Cell(source=source, name="mine"))
    return execution, execution.poll(1.0, 5.0)


MANY = """
import asyncio
before = "kept"
print("early")
async def twice(n):
    return await kit.echo(await kit.echo(n))
got = await asyncio.gather(*[twice(n) for n in range(3)])
print("late")
got + [before]
"""


@pytest.mark.parametrize("hibernated", [False, True])
def test_a_cell_goes_on_elsewhere(
    engine: MontyEngine, offer: Offer, hibernated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if hibernated:  # cells give their processes back whenever they wait
        monkeypatch.setattr(workers, "_WAITING", 0)
    realm = engine.open(Limits(), offer("kit.echo"))
    run(realm, "x = 1")
    execution, progress = start(realm, MANY)
    first, *others = progress.requests
    execution.settle([Settlement(first.id, "10")])
    (inner,) = execution.poll(2.0, 5.0).requests
    assert inner.wire == 10
    image = realm.image()
    realm.close()

    other = engine.open(Limits(), offer("kit.echo"), image)
    assert other.image() == image
    execution = other.resume()
    assert other.image().base == image.base
    execution.settle([Settlement(r.id, json.dumps(r.wire * 10)) for r in [inner, *others]])
    progress = execution.poll(3.0, 5.0)
    assert [request.wire for request in progress.requests] == [10, 20]
    execution.settle([Settlement(r.id, json.dumps(r.wire)) for r in progress.requests])
    progress = execution.poll(3.0, 5.0)
    assert progress.completion.text == "[100, 10, 20, 'kept']"
    assert [call.wire["text"] for call in progress.notifications] == ["early\nlate"]
    assert run(other, "x, before") == "(1, 'kept')"


@pytest.mark.parametrize("name", ["ToolError", "ValueError"])
def test_an_error_has_the_same_name_elsewhere(engine: MontyEngine, offer: Offer, name: str) -> None:
    realm = engine.open(Limits(), offer("kit.echo"))
    source = "try:\n    await kit.echo(1)\nfinally:\n    await kit.echo(2)"
    execution, progress = start(realm, source)
    execution.settle([Settlement(progress.requests[0].id, error=GuestError(name, "no: page"))])
    (last,) = execution.poll(2.0, 5.0).requests
    other = engine.open(Limits(), offer("kit.echo"), realm.image())
    for going_on in (execution, other.resume()):
        going_on.settle([Settlement(last.id, "2")])
        error = going_on.poll(3.0, 5.0).completion.error
        assert (error.name, error.message) == (name, "no: page")


def test_a_sleeping_cell_goes_on_elsewhere(engine: MontyEngine, offer: Offer) -> None:
    realm = engine.open(Limits(), offer())
    _, progress = start(realm, "import time\ntime.sleep(2)\ntime.time()")
    assert [(r.bridge, r.wire) for r in progress.requests] == [("timer", 2000.0)]
    other = engine.open(Limits(), offer(), realm.image())
    execution = other.resume()
    assert execution.poll(3.0, 5.0).completion is None
    execution.settle([Settlement(progress.requests[0].id)])
    assert execution.poll(4.0, 5.0).completion.text == "4.0"


def test_an_aborted_cell_keeps_what_it_did(engine: MontyEngine, offer: Offer) -> None:
    realm = engine.open(Limits(), offer("kit.echo"))
    execution, _ = start(realm, "x = 1\ntry:\n    await kit.echo(1)\nfinally:\n    x = 2")
    assert execution.abort("enough").failure is None
    assert run(realm, "x") == "2"
    stubborn = "x = 3\nwhile True:\n    try: await kit.echo(1)\n    except BaseException: pass"
    execution, _ = start(realm, stubborn)
    assert "undone" in execution.abort("enough").failure.message
    assert run(realm, "x") == "2"


def test_a_cell_can_be_taken_back(engine: MontyEngine, offer: Offer) -> None:
    realm = engine.open(Limits(), offer("kit.echo"))
    run(realm, "x = 1")
    before = realm.image()
    execution, _ = start(realm, "x = 2\nawait kit.echo(1)")
    image = realm.image()
    execution.abort("an approval is needed")
    assert run(realm, "x") == "2"
    execution.undo()
    assert run(realm, "x") == "1"
    run(realm, "x = 3")
    other = engine.open(Limits(), offer("kit.echo"), image)
    execution = other.resume(before)
    execution.abort("again")
    execution.undo()
    assert run(other, "x") == "1"


async def test_more_cells_can_wait_than_there_are_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import asyncio

    from interpstack import Bridge

    monkeypatch.setattr(workers, "_WAITING", 2)
    monkeypatch.setattr(workers, "_PROCESSES", 6)
    gate = asyncio.Event()

    async def wait(n: int) -> int:
        if n == 11:
            gate.set()
        await gate.wait()
        return n

    with InterpreterStack(
        "monty", bridges=[Bridge(name="wait", handler=wait)], max_live_sessions=20
    ) as stack:
        sessions = [stack.session(str(n)) for n in range(12)]
        cells = [s.eval(f"await wait(n={n})") for n, s in enumerate(sessions)]
        outcomes = await asyncio.gather(*cells)
    assert [outcome.text for outcome in outcomes] == [str(n) for n in range(12)]


def _reading(image: Image, change: Callable[[dict[str, Any]], None], dump: bytes = b"") -> Image:
    """The image with another head behind a right checksum."""
    body = opened(image.data)
    size = 4 + int.from_bytes(body[:4], "big")
    head = json.loads(body[4:size])
    change(head)
    text = json.dumps(head).encode()
    data = sealed(len(text).to_bytes(4, "big") + text + (dump or body[size:]))
    return attrs.evolve(image, data=data)


HEADS: dict[str, dict[str, Any]] = {
    "no dump": {"dump": "x"},
    "more than there is": {"dump": 10**9},
    "less than nothing": {"dump": -1},
    "names": {"names": [1]},
    "bound": {"bound": None},
    "roots": {"roots": {"a": 1}},
    "lost": {"lost": {"a": 1}},
    "kept": {"kept": []},
    "limits": {"limits": ["a", "b"]},
    "running": {"running": 1},
    "a cell without anything": {"running": {"cell": "mine"}},
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS.keys())
def test_forged_heads_are_refused(engine: MontyEngine, offer: Offer, head: dict[str, Any]) -> None:
    image = engine.open(Limits(), offer()).image()
    with pytest.raises(ImageError, match=r"damaged|cut short"):
        engine.open(Limits(), offer(), _reading(image, lambda found: found.update(head)))


@pytest.mark.parametrize(
    ("name", "value"),
    [("clock", [1e300, 0]), ("clock", ["x"]), ("open", [1]), ("timers", "x"), ("next", -1),
     ("spent", float("inf")), ("blocked", "x"), ("text", None), ("cell", 1),
     ("named", [["x"]]), ("named", [["x", "y"]]), ("named", [[1, 1]]), ("named", "x")],
)  # fmt: skip
def test_forged_cells_are_refused(
    engine: MontyEngine, offer: Offer, name: str, value: object
) -> None:
    realm = engine.open(Limits(), offer())
    start(realm, MANY)
    image = realm.image()
    realm.close()
    forged = _reading(image, lambda found: found["running"].update({name: value}))
    with pytest.raises(ImageError, match="damaged"):
        engine.open(Limits(), offer(), forged)


def test_a_dump_that_expands_without_end_is_not_expanded(
    engine: MontyEngine, offer: Offer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interpstack_monty.images._MAX_BYTES", 2**20)
    bomb = zlib.compress(bytes(2**21))
    image = engine.open(Limits(), offer()).image()
    forged = _reading(image, lambda found: found.update(dump=len(bomb), packed=True), bomb)
    realm = engine.open(Limits(), offer(), forged)
    with pytest.raises(EngineFailure, match="expands without end"):
        start(realm, "1")
