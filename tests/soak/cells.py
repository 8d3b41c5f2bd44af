"""The cells of the soak, in the languages of guests."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

__all__ = ["CELLS", "Cells"]


@attrs.frozen
class Cells:
    """Cells in one language; `NAME` stands for the name of an effect.

    Attributes:
        first: Run once in each conversation.
        count: Has one effect and counts it; the value is the count.
        look: The value is the count.
        fan: Has five effects at once, with the endings `/0` to `/4`; the value is the count.
        slow: Has one effect, counts it, and waits for longer than a caller does.
        grow: Adds to the state; the value is the count.
        endless: Never ends by itself.
        waits: Waits for longer than a cell may take.
        hostile: Cells that must end in an outcome, whatever it is, and leave the count alone.
        agent: A cell of an agent: counts itself, has one effect `NAME/a`, and asks for approval of
            `NAME/p`; the value is the count and the answer.
    """

    first: str
    count: str
    look: str
    fan: str
    slow: str
    grow: str
    endless: str
    waits: str
    hostile: Sequence[str]
    agent: str


_JAVASCRIPT = Cells(
    first="var count = 0; var rows = []; count",
    count="count += await soak.effect({name: 'NAME'}); count",
    look="count",
    fan="""
const done = await Promise.all([0, 1, 2, 3, 4].map(n => soak.effect({name: `NAME/${n}`})));
count += done.reduce((a, b) => a + b); count
""",
    slow="count += await soak.effect({name: 'NAME'}); await soak.nap({seconds: 0.2}); count",
    grow="rows.push(...Array.from({length: 40}, (_, n) => ({n, text: 'row ' + n}))); count",
    endless="for (;;);",
    waits="await soak.nap({seconds: 30})",
    hostile=(
        "const all = []; for (;;) all.push(new Uint8Array(2 ** 20).fill(1))",
        "(function deeper() { return deeper() + 1 })()",
        "throw {toString() { throw this }}",
        "{ let nest = []; for (let i = 0; i < 20000; i++) nest = [nest]; nest }",
        "for (let i = 0; i < 20000; i++) console.log('line', i)",
        "new Proxy({}, {get() { throw 1 }, ownKeys() { throw 2 }})",
        "for (let i = 0; i < 300; i++) Promise.reject(new Error('nobody')); 1",
        "'x'.repeat(2 ** 20).replace(/(x+x+)+y/, '')",
        "await new Promise(() => {})",
        "function* all() { for (;;) yield 1 }; [...all()]",
        "}{ not code",
        "await soak.effect(new Array(2 ** 31))",
        "await soak.effect({name: 5})",
        "let s = 'x'; for (;;) s += s",
    ),
    agent="""
globalThis.count = (globalThis.count ?? 0) + 1;
await tools.note({name: 'NAME/a'});
let paid;
try { paid = await tools.pay({name: 'NAME/p'}) } catch (error) { paid = 'refused' }
`${count} ${paid}`
""",
)

_PYTHON = Cells(
    first="count = 0\nrows = []\ncount",
    count="count += await soak.effect(name='NAME')\ncount",
    look="count",
    fan="""
import asyncio
count += sum(await asyncio.gather(*[soak.effect(name=f'NAME/{n}') for n in range(5)]))
count
""",
    slow="count += await soak.effect(name='NAME')\nawait soak.nap(seconds=0.2)\ncount",
    grow="rows.extend([{'n': n, 'text': f'row {n}'} for n in range(40)])\ncount",
    endless="while True:\n    pass",
    waits="await soak.nap(seconds=30)",
    hostile=(
        "found = []\nwhile True:\n    found.append('x' * 2**20)",
        "def deeper():\n    return deeper() + 1\ndeeper()",
        "nest = []\nfor _ in range(20000):\n    nest = [nest]\nnest",
        "for n in range(20000):\n    print('line', n)",
        "10 ** 10 ** 9",
        "raise ValueError('x' * 10**6)",
        "if True\n not code",
        "await soak.effect(name=5)",
        "s = 'x'\nwhile True:\n    s += s",
    ),
    agent="""
try:
    count += 1
except NameError:
    count = 1
await tools.note(name='NAME/a')
try:
    paid = await tools.pay(name='NAME/p')
except Exception:
    paid = 'refused'
f'{count} {paid}'
""",
)

CELLS = {"javascript": _JAVASCRIPT, "python": _PYTHON}
