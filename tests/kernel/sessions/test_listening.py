"""Console output on its way to who listens."""

from __future__ import annotations

import asyncio
import threading

import pytest

from interpstack import Bridge, CellContext, ConfigurationError, InterpreterStack, Limits, hookimpl
from interpstack.sessions.listening import ConsoleRelay
from interpstack_testing import FakeEngine


class Console:
    """What the plugin `console` does, for the fake engine."""

    @hookimpl
    def interpstack_register_bridges(self, register) -> None:
        async def take(value, context: CellContext) -> None:
            context.write_console(value["text"], value["omitted"])

        register.bridge(
            Bridge(name="console", handler=take, raw=True, awaited=False, hidden=True, repeats=True)
        )


@pytest.mark.parametrize(
    ("steps", "passed"),
    [
        (["=a"], ["a"]),
        (["=a", "=b"], ["a", "\nb"]),
        (["a", "\nb", "=a\nb"], ["a", "\nb"]),
        (["a", "=a\nb", "c", "=c\nd"], ["a", "\nb", "\nc", "\nd"]),
        (["a\n", "=a", "b\n", "=b"], ["a\n", "b\n"]),
        (["=a", "=", "=b"], ["a", "\n", "\nb"]),
        (["=", "=a"], ["\na"]),
        (["other", "=a"], ["other", "\na"]),
        (["\ufffd", "=\ud800\nb"], ["\ufffd", "\nb"]),
        (["\ufffd\n", "=\udfff", "=a"], ["\ufffd\n", "a"]),
        (["=" + "x" * 9, "yy"], ["xxxxxxxxx", "\n"]),
        (["12345678", "9abc", "=123456789abcdef", "z"], ["12345678", "9a"]),
    ],
)
def test_each_part_is_passed_on_once(steps, passed) -> None:
    heard: list[str] = []
    listener = ConsoleRelay(heard.append, 10)
    for step in steps:
        if step.startswith("="):
            listener.delivered(step[1:])
        else:
            listener.hear(step)
    assert [part for part in heard if part] == passed


async def test_output_comes_while_the_cell_runs() -> None:
    heard: list[str] = []
    goes_on = asyncio.Event()

    async def wait() -> None:
        assert heard == ["one"]
        goes_on.set()

    stack = InterpreterStack(FakeEngine(), [Console()], bridges=[Bridge(name="wait", handler=wait)])
    with stack:
        async with stack.session() as session:
            source = "print('one')\nawait wait()\nprint('two')"
            outcome = await session.eval(source, on_console=heard.append)
    assert goes_on.is_set()
    assert outcome.console == "one\ntwo"
    assert heard == ["one", "\ntwo"]


async def test_it_is_bounded_as_the_outcome_is() -> None:
    heard: list[str] = []
    stack = InterpreterStack(FakeEngine(), [Console()], limits=Limits(console_chars=5))
    with stack:
        async with stack.session() as session:
            outcome = await session.eval("print('1234')\nprint('56789')", on_console=heard.append)
    assert outcome.console == "".join(heard) == "1234\n"


@pytest.mark.parametrize("kind", [ValueError, GeneratorExit, asyncio.CancelledError])
async def test_what_a_listener_raises_is_attached_once(kind: type[BaseException]) -> None:
    heard: list[str] = []

    def tell(part: str) -> None:
        heard.append(part)
        raise kind("no room")

    async with InterpreterStack(FakeEngine(), [Console()]) as stack, stack.session() as session:
        source = "print('one')\nawait sleep(0)\nprint('two')\nx = 3"
        outcome = await session.eval(source, on_console=tell)
        assert (outcome.error, outcome.console, heard) == (None, "one\ntwo", ["one"])
        assert [type(item) for item in outcome.attachments] == [kind]
        assert (await session.eval("x")).text == "3"


async def test_a_listener_may_end_the_program() -> None:
    def leave(part: str) -> None:
        raise SystemExit(3)

    listener = ConsoleRelay(leave, 10)
    listener.hear("one")  # an engine's thread, which must not be left
    with pytest.raises(SystemExit):
        listener.delivered("one")
    assert listener.delivered("two") is None


async def test_a_blank_line_between_deliveries_is_kept() -> None:
    context = CellContext("key", None)  # type: ignore[arg-type]
    for text in ("a", "", "b"):
        context.write_console(text)
    context.write_console("", 7)
    outcome = context.outcome(100)
    assert (outcome.console, outcome.console_omitted_chars) == ("a\n\nb", 7)


def test_parts_come_from_any_thread_one_at_a_time() -> None:
    inside, most, heard = 0, 0, []

    def tell(part: str) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        heard.append(part)
        inside -= 1

    listener = ConsoleRelay(tell, 10_000)
    threads = [
        threading.Thread(target=lambda: [listener.hear("x") for _ in range(500)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(heard), most) == (2000, 1)


async def test_who_listens_is_a_function_and_what_is_rendered_an_outcome() -> None:
    async with InterpreterStack(FakeEngine()) as stack, stack.session() as session:
        with pytest.raises(ConfigurationError, match="takes a function that is not async; got 5"):
            await session.eval("1", on_console=5)
        with pytest.raises(ConfigurationError, match="render takes an Outcome; got '1'"):
            session.render("1")


async def test_an_async_listener_is_refused_as_nobody_would_await_it() -> None:
    async def tell(part: str) -> None: ...

    class Teller:
        async def __call__(self, part: str) -> None: ...

    async with InterpreterStack(FakeEngine()) as stack, stack.session() as session:
        for one in (tell, Teller()):
            with pytest.raises(ConfigurationError, match="a function that is not async; got <"):
                await session.eval("1", on_console=one)  # type: ignore[arg-type]
