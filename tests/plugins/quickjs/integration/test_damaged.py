"""Images whose checksum is right and whose memory makes no sense."""

from __future__ import annotations

import base64
import json
import random
import struct
import time
import zlib
from contextlib import suppress
from typing import Any

import attrs
import pytest

from interpstack import (
    BridgeSet,
    Cell,
    EngineFailure,
    Image,
    ImageError,
    InterpreterStack,
    Limits,
    Session,
)
from interpstack_javascript.drained import read_drained
from interpstack_javascript.modules import ModuleTable
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_quickjs.heap.allocator import free_spans
from interpstack_quickjs.heap.images import SEAL_BYTES, sealed

_LIMITS = Limits(cpu_seconds=0.5, wall_seconds=60)


def _image() -> Image:
    realm = QuickJSEngine().open(_LIMITS, BridgeSet())
    realm.start(Cell(source="let kept = 41; const f = n => n + 1; 0")).poll(0.0, 5.0)
    image = realm.image()
    realm.close()
    return image


IMAGE = _image()


def _ruined(start: int, data: bytes, **header: Any) -> Image:
    """The image with these bytes in its memory, too."""
    body = IMAGE.data[SEAL_BYTES:]
    size = struct.unpack_from("<I", body)[0] + 4
    head = json.dumps({**json.loads(body[4:size]), **header}).encode()
    stretch = struct.pack("<II", start // 4, len(data) // 4) + data
    return attrs.evolve(
        IMAGE, data=sealed(struct.pack("<I", len(head)) + head + body[size:] + stretch)
    )


def _regions() -> list[tuple[int, int]]:
    realm = QuickJSEngine().open(_LIMITS, BridgeSet())
    stack, size = realm.live.base.heap.stack_pointer, realm.live.base.heap.size  # type: ignore[attr-defined]
    realm.close()
    step = (size - stack) // 6 // 4 * 4
    return [(stack // 4 * 4 + n * step, step) for n in range(6)]


async def _use(session: Session) -> list[str]:
    ends = []
    for source in ("kept + 1", "f(1)", "console.log([...'abc'].join()); new Map([[1, 2]])"):
        outcome, _ = await session.eval_with_state(source)
        ends.append(outcome.error.name if outcome.error else outcome.text)
    return ends


@pytest.mark.parametrize("fill", ["zeros", "ones", "letters", "chance"])
@pytest.mark.parametrize("region", range(6))
async def test_ruined_memory_ends_cells_only(region: int, fill: str) -> None:
    start, length = _regions()[region]
    chance = random.Random(region)
    data = {"zeros": bytes(length), "ones": b"\xff" * length, "letters": b"abcd" * (length // 4),
            "chance": chance.randbytes(length)}[fill]  # fmt: skip
    with InterpreterStack(limits=_LIMITS) as stack:
        session = stack.session("ruined")
        begun = time.process_time()
        try:
            await session.restore(_ruined(start, data))
        except ImageError:
            return
        assert len(await _use(session)) == 3
        assert time.process_time() - begun < 30
        for ask in (session.names, session.values, session.image):
            with suppress(EngineFailure):  # which of them still work is for the memory to say
                await ask()
        other = stack.session("other")
        assert (await other.eval("1 + 1")).text == "2"


async def test_a_guest_that_cannot_be_given_its_bridges_is_a_damaged_image() -> None:
    start, length = _regions()[0]
    image = _ruined(start, b"\xff" * length, extra={"bound": "something else"})
    with InterpreterStack(limits=_LIMITS) as stack:
        session = stack.session("ruined")
        await session.eval("let before = 7")
        with pytest.raises(ImageError, match="the image cannot be opened"):
            await session.restore(image)
        assert (await session.eval("before")).text == "7"


# -- what the kernel answers ---------------------------------------------------------------

SOUND = {
    "calls": [],
    "requests": [],
    "cancelled": [],
    "rejected": [],
    "importing": 0,
    "idle": True,
    "completion": None,
}
DAMAGED = {
    "no JSON": "{",
    "nothing": "",
    "deep": "[" * 100_000,
    "a list": "[]",
    "no calls": {"calls": None},
    "a call of nothing": {"calls": [[]]},
    "a call of a number": {"calls": [[1, 2]]},
    "a request without a number": {"requests": [["1", "tools.x", 1]]},
    "request 0": {"requests": [[0, "tools.x", 1]]},
    "a request of a list": {"requests": [[1, ["tools.x"], 1]]},
    "a cancelled text": {"cancelled": ["1"]},
    "a rejected number": {"rejected": [1]},
    "a long reason": {"rejected": ["x" * 1001]},
    "importing what": {"importing": "x"},
    "idle what": {"idle": 1},
    "a completed number": {"completion": 1},
    "an empty completion": {"completion": {}},
    "an error of a number": {"completion": {"error": 1}},
    "an error without a stack": {"completion": {"error": {"name": "E", "message": "m"}}},
}


@pytest.mark.parametrize("found", DAMAGED.values(), ids=DAMAGED.keys())
def test_answers_that_no_kernel_gives(found: Any) -> None:
    text = found if isinstance(found, str) else json.dumps({**SOUND, **found})
    with pytest.raises(EngineFailure, match="the guest's memory is damaged"):
        read_drained(text)


def test_answers_of_the_kernel() -> None:
    done = {"text": "1", "omitted": 0, "exact": True, "handle": False, "undefined": False}
    data = {
        **SOUND,
        "calls": [["console", {}]],
        "requests": [[1, "tools.x", {}], [2, "tools.y", {}, True]],
        "completion": done,
    }
    assert read_drained(json.dumps(data)) == data


# -- its modules ---------------------------------------------------------------------------


def _stored(text: bytes) -> str:
    return base64.b64encode(zlib.compress(text)).decode()


def test_stored_modules_come_back() -> None:
    table = ModuleTable()
    source = r'export const s = "[{[{\"" + `]`'
    table.add({"@/skills/a/index.js": source, "@/skills/a/b.js": "[" * 100})
    again = ModuleTable(table.dump())
    assert again.resolve("interpstack:kernel", "@/skills/a/index.js") == "@/skills/a/index.js"
    assert again.load("@/skills/a/b.js") == "[" * 100


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"[" * 200_001, "too many"),
        (b"[" + b"{}," * 200_001 + b"{}]", "too many"),
        (b" " * (64 * 2**20 + 1), "too large"),
        (b"[" * 50_000, "recursion|Expecting|nested"),
        (b"{}", "malformed"),
        (b'[{"a": 1}]', "malformed"),
        (b"", "Expecting"),
    ],
    ids=["deep", "many", "bomb", "nested", "no list", "no text", "empty"],
)
def test_damaged_modules_are_refused(text: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=f"(?i){why}"):
        ModuleTable(_stored(text))


# -- its free memory -----------------------------------------------------------------------


def test_free_memory_that_lies_one_over_the_other_counts_for_nothing() -> None:
    """Wiping it would take for ever: as often as the guest names it, all of it."""
    memory = bytearray(2**20)
    state, first = 1024, 4096
    struct.pack_into("<7I", memory, state, 1, 0, 0, 0, 2048, 0, 0)
    chunks = [first + 32 * n for n in range(1000)]
    head = state + 40
    struct.pack_into("<I", memory, head + 8, chunks[0])
    for chunk, following in zip(chunks, [*chunks[1:], head], strict=True):
        struct.pack_into("<4I", memory, chunk, 0, 2**19, following, 0)
    assert free_spans(memory, state) == []
