"""Real packages from npm, unchanged, and a native addon that is refused."""

from __future__ import annotations

from collections.abc import Iterator

import npm_packages
import pytest

from interpstack import InterpreterStack, Limits, Session
from interpstack_node.engine import NodeEngine

_ADDON = "@node-rs/crc32-linux-x64-gnu"


@pytest.fixture(scope="module")
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    folder = npm_packages.installed(request.config.cache)
    limits = Limits(cpu_seconds=60, wall_seconds=200)
    engine = NodeEngine(module_dirs=[folder])
    with InterpreterStack(engine, ["console"], limits=limits) as stack, stack.session() as opened:
        yield opened


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("import {chunk} from 'lodash-es'; chunk([1, 2, 3], 2)", "[[1, 2], [3]]"),
        ("(await import('lodash-es/chunk.js')).default([1, 2], 1)", "[[1], [2]]"),
        ("import {z} from 'zod'; z.object({n: z.number()}).parse({n: 1, m: 2})", "{n: 1}"),
        (
            "import {z} from 'zod'; const bad = z.string().safeParse(1);"
            "[bad.success, bad.error instanceof Error]",
            "[false, true]",
        ),
        (
            "import {format, addDays} from 'date-fns';"
            "format(addDays(new Date(2024, 0, 31), 1), 'yyyy-MM-dd')",
            "2024-02-01",
        ),
        ("import * as d from 'date-fns/locale/de'; d.de.code", "de"),
        ("import {load} from 'cheerio'; load('<ul><li>a<li class=b>c</ul>')('.b').text()", "c"),
    ],
)
async def test_packages_run_unchanged(session: Session, source: str, text: str) -> None:
    outcome = await session.eval(source)
    assert outcome.error is None, outcome.error
    assert outcome.text == text


async def test_a_package_with_two_builds_gives_its_import_build(session: Session) -> None:
    outcome = await session.eval("import.meta.resolve('zod')")
    assert outcome.text.endswith("/zod/index.js")
    first = await session.eval("(await import('zod'))[Symbol.toStringTag]")
    assert first.text == "Module"


async def test_a_package_is_loaded_once(session: Session) -> None:
    await session.eval("globalThis.first = await import('zod')")
    assert (await session.eval("first === await import('zod')")).text == "true"


async def test_a_native_addon_is_refused(session: Session) -> None:
    error = (await session.eval(f"await import('{_ADDON}')")).error
    if error is not None and error.message.startswith("there is no module"):
        pytest.skip("npm installs no such addon for this system")
    assert error is not None
    assert error.message == f"Native addons are not allowed: {_ADDON}"
    error = (await session.eval("await import('@node-rs/crc32')")).error
    assert error is not None
    assert error.message.startswith("Cannot find native binding")
