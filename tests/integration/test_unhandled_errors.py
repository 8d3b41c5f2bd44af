"""Errors of code that nothing awaits: those of callbacks, and of promises that no code handles."""

from __future__ import annotations

import asyncio

import pytest
from engines import OnEngine

from interpstack import InterpreterStack, ModuleBundle, bridge, hookimpl
from interpstack.contracts.modules import ModuleLoader

_MODULE = """
Promise.reject(new Error('at once'));
(async () => { await 1; throw new Error('later'); })();
export const made = 7;
"""


class _Module:
    def __init__(self, source: str = _MODULE) -> None:
        self._source = source

    @hookimpl
    def interpstack_resolve_module(self) -> ModuleLoader:
        async def load() -> ModuleBundle:
            return ModuleBundle("rejecting.js", {"rejecting.js": self._source})

        return load


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    "source",
    [
        "queueMicrotask(() => { throw new Error('lost') }); 1",
        "queueMicrotask(() => { throw new Error('lost') }); await 0; 1",
        "setTimeout(() => { throw new Error('lost') }); await new Promise(go => setTimeout(go)); 1",
    ],
)
async def test_the_error_of_a_callback_is_in_the_output(on_engine: OnEngine, source: str) -> None:
    with InterpreterStack(on_engine.name, plugins=["console"]) as stack:
        outcome = await stack.session("one").eval(source)
    assert (outcome.text, outcome.error) == ("1", None)
    assert outcome.console.startswith("Uncaught Error: lost")


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("shop.pay({item: Symbol()})", "TypeError: a symbol cannot be passed to the host"),
        ("const more = {count: 2}; shop.pay({item: 'tea'}, more)", "shop.pay takes one argument"),
        ("shop.pay({item: 'tea'}); await shop.rest({})", "TypeError: the account is closed"),
    ],
)
async def test_calls_that_fail_unawaited_are_named(
    on_engine: OnEngine, call: str, reason: str
) -> None:
    failed = asyncio.Event()

    @bridge("shop.pay")
    async def pay(item: str) -> None:
        failed.set()
        raise TypeError("the account is closed")

    @bridge("shop.rest")
    async def rest() -> None:
        await failed.wait()

    many = "for (let i = 0; i < 120; i++) await shop.pay({item: Symbol()}).catch(() => 0);"
    with InterpreterStack(on_engine.name, bridges=[pay, rest]) as stack:
        session = stack.session("one")
        for before in ("", many):  # those that are handled take no place
            outcome = await session.eval(f"{before} {call}; 'left'")
            assert (outcome.text, outcome.error) == ("left", None)
            (notice,) = outcome.notices
            assert notice.startswith("A promise that the cell did not wait for was rejected: ")
            assert reason in notice
        assert (await session.eval("1")).notices == ()


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
async def test_rejections_that_a_module_leaves_are_named_once(engine: str) -> None:
    with InterpreterStack(engine, plugins=[_Module()]) as stack:
        session = stack.session("one")
        source = "(await import('rejecting')).made"
        first, second = await session.eval(source), await session.eval(source)
    assert (first.text, second.text) == ("7", "7")
    (notice,) = first.notices
    assert notice.startswith("2 promises that the cell did not wait for were rejected: Error: at")
    assert "; Error: later" in notice
    assert second.notices == ()


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
@pytest.mark.parametrize("source", ["throw new Error('boom')", "await 0; throw new Error('boom')"])
async def test_the_error_of_a_module_is_named_only_if_no_code_handles_it(
    engine: str, source: str
) -> None:
    with InterpreterStack(engine, plugins=[_Module(source)]) as stack:
        session = stack.session("one")
        caught = await session.eval("await import('rejecting').catch(error => error.message)")
        assert (caught.text, caught.notices) == ("boom", ())
        left = await session.eval("import('rejecting'); await null; await 0; 7")
    shown = (left.error.message if left.error else "") + "".join(left.notices)
    assert shown.count("boom") == 1


_LOST = {
    "a call": (
        "shop.pay({item: 'tea'}); 'published'",
        "A call that the cell did not wait for failed",
    ),
    "an async function": (
        "(async () => { await 1; throw new TypeError('lost') })(); await 0; 'published'",
        "A promise that the cell did not wait for was rejected: TypeError: lost",
    ),
}


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(("code", "words"), _LOST.values(), ids=_LOST)
async def test_what_nobody_handles_is_noted_raised_or_ignored(
    on_engine: OnEngine, code: str, words: str
) -> None:
    @bridge("shop.pay")
    async def pay(item: str) -> None:
        await asyncio.sleep(0.01)
        raise OSError("disk quota exceeded")

    outcomes = {}
    for treatment in ("tell", "raise", "ignore"):
        stack = InterpreterStack(on_engine.name, bridges=[pay], unhandled=treatment)  # type: ignore[arg-type]
        with stack:
            outcomes[treatment] = await stack.session("one").eval(code)
    tell, raised, ignored = outcomes.values()
    assert (tell.text, tell.ok, tell.clean, tell.unhandled) == ("published", True, False, 1)
    assert tell.notices[0].startswith(words)
    assert raised.error is not None
    assert raised.error.name == "UnhandledRejection"
    assert raised.error.message.startswith(words)
    assert (raised.text, raised.notices) == ("", ())
    assert (ignored.text, ignored.clean, ignored.notices) == ("published", True, ())


@pytest.mark.engines("javascript")
async def test_an_error_of_the_cell_is_louder(on_engine: OnEngine) -> None:
    code = "(async () => { throw new TypeError('lost') })(); throw new RangeError('mine')"
    with InterpreterStack(on_engine.name, unhandled="raise") as stack:
        outcome = await stack.session("one").eval(code)
    assert outcome.error is not None
    assert outcome.error.name == "RangeError"


@pytest.mark.engines("javascript")
async def test_a_late_failure_that_code_handles_is_no_fault(on_engine: OnEngine) -> None:
    @bridge("shop.pay")
    async def pay(item: str) -> None:
        await asyncio.sleep(0.01)
        raise OSError("disk quota exceeded")

    code = "shop.pay({item: 'a'}).catch(() => 0); shop.pay({item: 'b'}); 'left'"
    with InterpreterStack(on_engine.name, bridges=[pay]) as stack:
        outcome = await stack.session("one").eval(code)
        assert (outcome.text, outcome.unhandled) == ("left", 1)
        handled = code.replace("shop.pay({item: 'b'}); ", "")
        assert (await stack.session("two").eval(handled)).clean
