"""The bytes of a small state, most of which are the host's functions in the guest."""

from __future__ import annotations

from interpstack import InterpreterStack

CODE = (
    "const items = [1, 2, 3]; let total = 0; function add(n) { total += n; return total }; add(1)"
)


async def test_functions_of_the_host_take_few_bytes_of_a_state() -> None:
    async with InterpreterStack(plugins=["console", "ptc"]).session() as session:
        await session.eval(CODE)
        image = await session.image()
        stub = "[tools.$search.name, tools.$search.length, Object.isFrozen(tools.$search)]"
        assert (await session.eval(stub)).text == '["$search", 1, true]'
        text = (await session.eval("String(tools.$search)")).text
        made = await session.eval("new tools.$search('x')")
    assert image is not None
    # 5,900 to 6,500, by where the kernel's code happens to lie; some 400 more in an old process
    assert len(image.data) < 7100
    assert "[native code]" in text
    assert made.error is not None
    assert made.error.name == "TypeError"
