"""Modules live as long as their session: loaded once, kept in images."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import attrs
import pytest
from engines import OnEngine

from interpstack import (
    Capability,
    HostOffer,
    Image,
    ImageError,
    InterpreterStack,
    ModuleBundle,
    Session,
    hookimpl,
)
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
    assert bundle["files"]["@/skills/m/index.js"] is None
    assert "26" in bundle["files"]["@/skills/m/later.ts"]


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


class Bundles:
    """A plugin with a module for each specifier; what is offered may change."""

    def __init__(self, **offered: tuple[str, str]) -> None:
        self.offered = offered

    @hookimpl
    def interpstack_resolve_module(self, specifier: str) -> Any:
        name, source = self.offered.get(specifier.removeprefix("@/"), ("", ""))

        async def load() -> ModuleBundle:
            return ModuleBundle(name, {name: source, "help.js": "export const shared = 1"})

        return load if name else None


@pytest.fixture
def stack_of(on_engine: OnEngine) -> Iterator[Callable[[Bundles], InterpreterStack]]:
    with ExitStack() as opened:
        yield lambda plugin: opened.enter_context(InterpreterStack(on_engine.name, [plugin]))


PRICES, TAXES = ("index.js", "export const rate = 2"), ("index.js", "export const rate = 3")
BOTH = """
const rates = [(await import("@/prices")).rate];
try { rates.push((await import("@/taxes")).rate) }
catch (error) { rates.push(error.name, error.message) }
rates
"""


@pytest.mark.engines("javascript")
async def test_a_bundle_with_the_file_name_of_another_is_refused(
    stack_of: Callable[[Bundles], InterpreterStack],
) -> None:
    plugin = Bundles(
        prices=PRICES, taxes=TAXES, more=("more.js", "export {shared} from './help.js'")
    )
    async with stack_of(plugin).session() as session:
        outcome = await session.eval(BOTH)
        assert outcome.error is None
        rate, name, message = json.loads(outcome.text)
        assert (rate, name) == (2, "ModuleNotFound")
        assert message == (
            "the module '@/taxes' cannot be imported: its file 'index.js' has the name of another "
            "file, which came with '@/prices'; the plugin that offers it has to give its files "
            "names of their own, such as the specifier and the file's path"
        )
        # Files with the same text are the same file.
        await check(session, '(await import("@/more")).shared', "1")
        plugin.offered["taxes"] = ("taxes.js", TAXES[1])
        await check(session, '(await import("@/taxes")).rate', "3")


@pytest.mark.engines("javascript", needs=Capability.IMAGES)
async def test_an_image_keeps_whose_the_names_of_files_are(
    stack_of: Callable[[Bundles], InterpreterStack],
) -> None:
    plugin = Bundles(prices=PRICES, taxes=TAXES)
    stack = stack_of(plugin)
    async with stack.session("first") as first:
        _, state = await first.eval_with_state('(await import("@/prices")).rate')
    async with stack.session("second") as second:
        assert state.image is not None
        await second.restore(state.image)
        outcome = await second.eval('await import("@/taxes")')
        assert outcome.error is not None
        assert "the name of another file, which came with '@/prices'" in outcome.error.message


@pytest.mark.engines("javascript")
async def test_a_changed_module_is_loaded_once_by_each_session(
    stack_of: Callable[[Bundles], InterpreterStack],
) -> None:
    plugin = Bundles(prices=PRICES)
    stack = stack_of(plugin)
    async with stack.session("first") as first:
        await check(first, '(await import("@/prices")).rate', "2")
        plugin.offered["prices"] = ("index.js", "export const rate = 4")
        await check(first, '(await import("@/prices")).rate', "2")
    async with stack.session("second") as second:
        await check(second, '(await import("@/prices")).rate', "4")


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
