"""Samples in Python, with top-level `await` and the names that `FakeEngine` offers.

An engine of another dialect replaces the differing samples: `attrs.evolve(PYTHON, loop=…)`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from interpstack_testing.guests.guest import GuestSamples
from interpstack_testing.guests.python import edges, hostile, sources

__all__ = ["PYTHON"]

_EXCHANGE = """
value = {"n": 1, "list": [1.5, None, True, "é"], "deep": {"$": [{}]}}
await kit.echo(value=await kit.echo(value=value))
"""

_SEQUENCE = """
done, name = 0, "none"
for n in range(6):
    try:
        await kit.echo(value=n)
        done += 1
    except Exception as error:
        name = type(error).__name__
        break
f"{done} {name}"
"""

_AFTER_END = """
late = ""
async def go_on():
    global late
    await kit.echo(value=1)
    try:
        await kit.echo(value=2)
    except Exception as error:
        late = str(error)
gather(go_on())
None
"""

_DEADLOCK = """
class Never:
    def __await__(self):
        yield
await Never()
"""

_WAIT = """
begun = last = now()
read = 1
while last < begun + 1:
    last = now()
    read += 1
await kit.echo(value=read)
"later" if now() > last else "earlier"
"""

_SENDS = {
    "none": ("None", None),
    "minus zero": ("-0.0", -0.0),
    "infinity": ("float('-inf')", float("-inf")),
    "large integer": ("-(2 ** 70)", -(2**70)),
    "bytes": (r"b'\x00\xff'", b"\x00\xff"),
    "date without a zone": (
        "__import__('datetime').datetime(1970, 1, 1, 0, 0, 1)",
        datetime(1970, 1, 1, 0, 0, 1),
    ),
    "date": (
        "__import__('datetime').datetime.fromtimestamp(1, __import__('datetime').timezone.utc)",
        datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
    ),
    "tuple": ("(1, 2)", [1, 2]),
    "surrogate": (r"'\ud800'", "\ud800"),
    "tag of undefined": ("{'$': 'undefined'}", {"$": "undefined"}),
    "malformed tag": ("{'$': 'bytes', 'v': '!!'}", {"$": "bytes", "v": "!!"}),
}

_WALK = (
    "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0]"
    ".__init__.__globals__"
)

PYTHON: Final = GuestSamples(
    language="python",
    store="kept = 41",
    recall="kept + 1",
    redeclare="kept = 1",
    error="raise ValueError('broken by the cell')",
    error_name="ValueError",
    syntax_error="kept = = 1",
    print="print('heard', 7)",
    print_much="for n in range(3000): print('line', n)\n'printed'",
    long_text="'x' * 20_000",
    request="await kit.echo(value=42)",
    exchange=_EXCHANGE,
    show="await display(await kit.give())",
    relay="await kit.take(value=await kit.give())\n'relayed'",
    parallel="sum(await gather(*[kit.echo(value=n) for n in range(100)]))",
    sequence=_SEQUENCE,
    send_much="await kit.echo(value='x' * 20_000)",
    notifications="for n in range(3): kit.note(value=n)",
    unawaited="kit.echo(value=1); 'left'",
    after_end=_AFTER_END,
    after_end_recall="late",
    deadlock=_DEADLOCK,
    loop="while True: pass",
    chance="random()",
    clock="now()",
    wait=_WAIT,
    sends={
        name: (f"sent = {source}\nawait kit.echo(value=sent)\n0", value)
        for name, (source, value) in _SENDS.items()
    },
    hoard="hoard = []\nwhile True: hoard.append('x' * 100_000 + str(len(hoard)))",
    hold="held = ['x' * 2**20 + str(n) for n in range(24)]\n'held'",
    store_unportable="handler = lambda: 1",
    recall_unportable="handler()",
    store_shared=(
        ("rows = [{'n': 0}]\nby_id = {'a': rows[0]}", "by_id['a']['n'] = 5\nrows[0]['n']", "5"),
        ("part = [1]\nboth = [part, part]", "both[0].append(2)\nlen(both[1]) + len(part)", "4"),
        ("pair = [[1]] * 2", "pair[0].append(2)\nlen(pair[1])", "2"),
    ),
    reach=(
        "__import__('os').environ['{name}']",
        "open('{path}').read()",
        "import os\nos.environ['{name}']",
        "import os\nos.getenv('{name}')",
        "from pathlib import Path\nPath('{path}').read_text()",
        "eval(\"__import__('os').environ['{name}']\")",
        f"{_WALK}['environ']['{{name}}']",
        f"{_WALK}['__builtins__']['open']('{{path}}').read()",
        "print.__self__.open('{path}').read()",
        "(lambda: 0).__globals__['__builtins__']['open']('{path}').read()",
    ),
    exits=(
        "import os\nos._exit(3)",
        "__import__('os')._exit(3)",
        "raise SystemExit(3)",
        "exit(3)",
        "import sys\nsys.exit(3)",
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    ),
    pollute="import builtins\nbuiltins.leak = 1\n0",
    polluted="import builtins\n'polluted' if hasattr(builtins, 'leak') else 'clean'",
    squats=("tools = 1\n0",),
    prepare="keep = {'n': 41}",
    health=(("[keep['n'] + 1, (await host.echo({'a': [1, 'x']}))['a'][1]]", "[42, 'x']"),),
    attacks={**hostile.ATTACKS, **edges.ATTACKS, **sources.ATTACKS},
)
