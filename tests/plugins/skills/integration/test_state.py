"""Modules live as long as their session: loaded once, kept in images."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from typing import Any

import attrs
import pytest

from interpstack import Capability, HostOffer, Image, ImageError, InterpreterStack, Session
from interpstack_quickjs.heap.images import SEAL_BYTES

COUNTER = """
globalThis.runs = (globalThis.runs ?? 0) + 1;
export let n = 0;
export const inc = () => ++n;
export const later = () => import("./later.js");
"""
LATER = """
export const z: number = 26;
export const deeper = async () => (await import("./lib/deep")).d;
"""


@pytest.fixture(autouse=True)
def _skill(skill: Any) -> None:
    skill("m", {"index.js": COUNTER, "later.ts": LATER, "lib/deep.ts": "export const d = 'deep'"})


async def check(session: Session, code: str, text: str) -> None:
    outcome = await session.eval(code)
    assert (outcome.error, outcome.text) == (None, text)


@pytest.mark.engines("javascript")
async def test_a_module_is_loaded_once(session: Session) -> None:
    await check(session, 'import {inc} from "@/skills/m"; inc()', "1")
    await check(session, 'const again = await import("@/skills/m"); again.inc()', "2")
    await check(session, "[again.n, runs]", "[2, 1]")


@pytest.mark.engines("javascript", needs=Capability.IMAGES)
async def test_a_hibernated_session_keeps_its_modules(
    stack: InterpreterStack, offer: HostOffer, skills: Any
) -> None:
    first, second = stack.session("first"), stack.session("second")
    first.bind(offer)
    async with first:
        await check(first, 'import {inc, later} from "@/skills/m"; inc()', "1")
    async with second:
        await second.eval("1")
    assert not first.live
    async with first:
        await check(first, '[inc(), (await import("@/skills/m")).n, runs]', "[2, 2, 1]")
    await first.hibernate()
    for file in skills.rglob("*.ts"):
        file.unlink()  # what the module may import later came with it
    async with first:
        await check(first, "(await later()).z", "26")
    await first.hibernate()
    async with first:
        await check(first, "await (await later()).deeper()", "deep")


async def test_modules_go_with_an_image(stack: InterpreterStack, session: Session) -> None:
    outcome, state = await session.eval_with_state(
        'import {inc, later} from "@/skills/m"; inc(); inc()'
    )
    assert outcome.text == "2"
    async with stack.session("copy") as copy:  # without any skills of its own
        assert await copy.restore_state(state) == ()
        await check(copy, "[inc(), (await later()).z, await (await later()).deeper()]",
                    '[3, 26, "deep"]')  # fmt: skip
        outcome = await copy.eval('await import("@/skills/m")')
        assert outcome.error is not None
        assert outcome.error.name == "ModuleNotFound"
        again, _ = await copy.eval_with_state("inc()")
        assert again.text == "4"
    await check(session, "inc()", "3")


def parts(image: Image) -> tuple[dict[str, Any], bytes]:
    """The header of an image, and what follows it."""
    body = image.data[SEAL_BYTES:]
    end = 4 + int.from_bytes(body[:4], "little")
    return json.loads(body[4:end]), body[end:]


def sealed(head: dict[str, Any], rest: bytes) -> bytes:
    """An image with another header, and a checksum that fits it."""
    text = json.dumps(head).encode()
    body = len(text).to_bytes(4, "little") + text + rest
    return b"IQJ3" + hashlib.sha256(body).digest()[: SEAL_BYTES - 4] + body


async def test_an_image_holds_only_sources_that_are_not_loaded_yet(session: Session) -> None:
    _, state = await session.eval_with_state('import {later} from "@/skills/m"')
    assert state.image is not None
    stored = base64.b64decode(parts(state.image)[0]["extra"]["modules"])
    [bundle] = json.loads(zlib.decompress(stored))
    assert bundle["@/skills/m/index.js"] is None
    assert "26" in bundle["@/skills/m/later.ts"]


def packed(value: Any) -> str:
    return base64.b64encode(zlib.compress(json.dumps(value).encode())).decode()


@pytest.mark.parametrize(
    "modules",
    ["x", "eA==", "cGxhaW4=", 5, ["x"], packed({}), packed("{"), packed([5]), packed([{"a": 5}])],
)
async def test_damaged_modules_are_no_state(
    stack: InterpreterStack, session: Session, modules: Any
) -> None:
    _, state = await session.eval_with_state("1")
    assert state.image is not None
    head, rest = parts(state.image)
    damaged = sealed(head | {"extra": {"modules": modules}}, rest)
    async with stack.session("copy") as copy:
        await copy.eval("let kept = 1")
        with pytest.raises(ImageError, match="damaged"):
            await copy.restore(attrs.evolve(state.image, data=damaged))
        await check(copy, "kept", "1")


@pytest.mark.engines("javascript")
async def test_sessions_do_not_see_each_others_modules(
    stack: InterpreterStack, session: Session, offer: HostOffer
) -> None:
    await check(session, 'import {inc} from "@/skills/m"; inc()', "1")
    async with stack.session("other") as other:
        assert (await other.eval('import "@/skills/m"')).error is not None  # not offered to it
        other.bind(offer)
        await check(other, 'import {inc} from "@/skills/m"; inc()', "1")
        await check(other, "runs", "1")


@pytest.mark.engines("javascript")
async def test_skills_may_be_withdrawn(session: Session) -> None:
    await check(session, 'import {inc} from "@/skills/m"; inc()', "1")
    session.bind(HostOffer())
    outcome = await session.eval('await import("@/skills/m")')
    assert outcome.error is not None
    assert outcome.error.name == "ModuleNotFound"
    await check(session, "inc()", "2")  # what it has, it has
