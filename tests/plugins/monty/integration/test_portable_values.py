"""The portable values of a session: bounded by size, and each comes back as it is or is lost."""

from __future__ import annotations

import pytest

from interpstack import InterpreterStack, Limits

LIMITS = Limits(cpu_seconds=60, memory_bytes=2**29)


async def test_a_variable_that_is_too_large_takes_no_other_along() -> None:
    async with InterpreterStack("monty", limits=LIMITS) as stack, stack.session() as session:
        await session.eval("rows = [{'a': i} for i in range(200_000)]\nfew = [1, 2]\nname = 'Ann'")
        values = await session.values()
        assert values["rows"] == {"$": "lost", "v": "it is too large"}
        assert (values["few"], values["name"]) == ([1, 2], "Ann")


async def test_large_variables_share_the_room() -> None:
    async with InterpreterStack("monty", limits=LIMITS) as stack, stack.session() as session:
        for name in ("one", "two", "three"):
            await session.eval(f"{name} = [i for i in range(100_000)]")
        values = await session.values()
        assert [len(values[name]) for name in ("one", "two")] == [100_000, 100_000]
        assert values["three"] == {"$": "lost", "v": "it is too large"}


@pytest.mark.parametrize(
    "source",
    [
        "(1, (2, [3]))",
        "{(1, 2): 'x'}",
        "{(1, 2)}",
        "{frozenset([1])}",
        "KeyError('a')",
        "[ValueError('m')]",
        "[(1,)] * 2",
    ],
)
async def test_values_come_back_as_they_are(source: str) -> None:
    async with InterpreterStack("monty", limits=LIMITS) as stack:
        first, second = stack.session("first"), stack.session("second")
        assert (await first.eval(f"even = {source}")).ok
        await second.load(await first.values())
        shown = [(await each.eval("str(type(even)) + repr(even)")).text for each in (first, second)]
        assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("odd = StopIteration('x')", "it is not serializable (type: StopIteration)"),
        ("one = [1]\nodd = {'k': one}", "it shares a list with 'one', which would become two"),
        ("one = {}\nodd = (one,)", "it shares a dict with 'one', which would become two"),
        ("odd = [{1}] * 2", "it holds a set in two places, or itself, which would become two"),
        ("odd = []\nodd.append(odd)", "it holds a list in two places"),
    ],
)
async def test_values_that_would_change_are_lost_by_name(source: str, reason: str) -> None:
    async with InterpreterStack("monty", limits=LIMITS) as stack, stack.session() as session:
        await session.eval(source + "\nother = [1]")
        values = dict(await session.values())
        assert values["other"] == [1]
        assert values["odd"]["$"] == "lost"
        assert values["odd"]["v"].startswith(reason)


async def test_a_variable_that_is_lost_takes_no_other_along() -> None:
    async with InterpreterStack("monty", limits=LIMITS) as stack, stack.session() as session:
        await session.eval("part = [1]\nlost = [part, len]\nwhole = [2]")
        await session.eval("del_ = [part]\npart = 0")
        values = await session.values()
        assert (values["del_"], values["lost"]["$"]) == ([[1]], "lost")
