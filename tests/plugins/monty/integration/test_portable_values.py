"""The portable values of a session are bounded by their size, one variable at a time."""

from __future__ import annotations

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
