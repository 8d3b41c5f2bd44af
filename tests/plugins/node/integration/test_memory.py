"""What counts as the guest's memory: what it keeps, and nothing of the kernel's own answers."""

from __future__ import annotations

from interpstack import InterpreterStack, Limits

#: A value of 6 MiB, whose export is a text of 13 MB.
_LARGE = "let b = 3n; for (let i = 0; i < 25; i++) b = b * b; 1"


async def test_exports_of_large_values_are_not_counted() -> None:
    stack = InterpreterStack("node", limits=Limits(memory_bytes=16 << 20, cpu_seconds=60))
    async with stack, stack.session() as session:
        assert (await session.eval(_LARGE)).error is None
        for number in range(3):
            outcome = await session.eval(f"typeof b + {number}")
            assert outcome.error is None, outcome.error
            assert outcome.state == "kept"
