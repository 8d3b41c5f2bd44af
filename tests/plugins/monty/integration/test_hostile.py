"""Guests that mean harm: each ends as an outcome, and the session answers afterwards."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from interpstack import BridgeSet, Cell, InterpreterStack, Limits, Session
from interpstack_monty.engine import MontyEngine


@pytest.fixture(scope="module")
def cpu_seconds() -> float:
    """Little: many of these guests never end."""
    return 1.0


@pytest.fixture
async def session(stack: InterpreterStack) -> AsyncIterator[Session]:
    async with stack.session() as opened:
        await opened.eval("kept = 41")
        yield opened
        outcome = await opened.eval("kept + 1")
        assert (outcome.error, outcome.text) == (None, "42")


@pytest.mark.parametrize(
    "source",
    [
        "while True: pass",
        "while True: await kit.echo(1) if False else None",
        "def f():\n    while True:\n        try:\n            while True: pass\n"
        "        except BaseException: pass\nf()",
        "sum(i for i in range(10**12))",
        "class A:\n    def __repr__(self):\n        while True: pass\nA()",
        "import re\nre.match('(a|a)*b', 'a' * 40) or [0 for _ in range(10**12)]",
        "import time\nfor i in range(10**9): time.time()",
        "def f(a=[]):\n    while True: [x for x in range(1000)]\nsorted([1, 2], key=lambda v: f())",
        "exec('while True: pass')",
    ],
)
async def test_endless_work_ends(session: Session, source: str) -> None:
    outcome = await session.eval(f"kept = 0\nprint('so far')\n{source}")
    assert outcome.error.name in ("Timeout", "OutOfMemory", "TypeError", "OverflowError")
    assert outcome.console == "so far"
    if "undone" not in outcome.error.message:
        assert (await session.eval("kept")).text == "0"
        await session.eval("kept = 41")


#: Integers that have one hash in Python: dictionaries of them take minutes there.
_SAME = "i * (2**61 - 1)"
_BAD = f"{{{_SAME}: 0 for i in range(50000)}}"


@pytest.mark.parametrize(
    "source",
    [
        f"await kit.echo({_BAD})",
        f"await kit.echo([{{-{_SAME} for i in range(50000)}}])",
        f"await kit.echo({{'a': {{({_SAME}, i % 2): 0 for i in range(50000)}}}})",
        f"await kit.echo({{frozenset([{_SAME}]): 0 for i in range(50000)}})",
        f"import os\nos.getenv('a', {_BAD})",
        f"locals()['__inter' + 'pstack_emit__']('kit.echo', {_BAD})",
        f"exec('async def __inter' + 'pstack_show__(*a): return {_BAD}')\n1",
        f"exec('def __inter' + 'pstack_globals__(*a): return {_BAD}')",
    ],
)
async def test_keys_of_one_hash_cost_the_host_nothing(stack: InterpreterStack, source: str) -> None:
    async with stack.session() as session:
        began = time.process_time()
        outcome = await session.eval(source)
        assert time.process_time() - began < 2
        assert outcome.error is not None


async def test_variables_with_keys_of_one_hash_are_not_exported(session: Session) -> None:
    made = f"[{{{_SAME}: 0 for i in range(700)}}]"
    await session.eval(f"bad = {made}\nalso, good = {made}, {{5: 0, 'a': 1}}")
    values = await session.values()
    assert "1000 keys" in values["also"]["v"]
    assert values["good"] == {"$": "map", "v": [[5, 0], ["a", 1]]}
    assert (await session.eval("len(bad[0]) + len(also[0])")).text == "1400"


async def test_a_thousand_keys_of_any_hash_may_be_passed(session: Session) -> None:
    outcome = await session.eval(f"await kit.echo([{{({_SAME}, 'a') for i in range(1000)}}]); 5")
    assert (outcome.error, outcome.text) == (None, "5")
    outcome = await session.eval("await kit.echo([{i for i in range(2000)}, {2.5: 0, None: 1}]); 5")
    assert (outcome.error, outcome.text) == (None, "5")


async def test_endless_requests_end(session: Session) -> None:
    outcome = await session.eval("while True: kit.echo(1)")
    assert outcome.error.name in ("Timeout", "RuntimeError", "CallBudgetExceeded")


@pytest.mark.parametrize(
    "source",
    [
        "x = 'a' * 10**10",
        "x = []\nwhile True: x.append('a' * 100_000)",
        "x = [0]\nwhile True: x = x + x",
        "x = 1\nwhile True: x = x << 10_000_000",
        "x = {}\nfor i in range(10**9): x[i] = i",
        "'a'.ljust(10**11)",
        "f'{1:>{10**10}}'",
        "list(range(10**10))",
        "b'a' * 2**34",
        "print('a' * 10**9)",
        "x = 'ab' * 10**6\nx.replace('a', x)",
    ],
)
async def test_memory_bombs_cost_one_cell(session: Session, source: str) -> None:
    outcome = await session.eval(f"kept = 0\n{source}")
    assert outcome.error.name in ("OutOfMemory", "Timeout")
    assert "undone" in outcome.error.message


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(n): return f(n + 1)\nf(0)", ["RecursionError"]),
        ("class A:\n    def __repr__(self): return repr(self)\nA()", ["RecursionError"]),
        ("class A:\n    def __eq__(self, o): return self == o\nA() == A()", ["RecursionError"]),
        ("f = lambda: sorted([1, 2], key=lambda v: f())\nf()", ["RecursionError"]),
        ("async def f(): return await f()\nawait f()", ["RecursionError", "OutOfMemory"]),
        ("(" * 5000 + "1" + ")" * 5000, ["SyntaxError", "EngineFailure"]),
        ("-" * 100_000 + "1", ["SyntaxError", "EngineFailure"]),
        ("x = " + "[" * 1000 + "]" * 1000, ["SyntaxError", "EngineFailure"]),
        ("import json\njson.loads('[' * 10**6)", ["JSONDecodeError"]),
    ],
)
async def test_recursion_is_an_error(session: Session, source: str, names: list[str]) -> None:
    assert (await session.eval(source)).error.name in names


@pytest.mark.parametrize(
    "source",
    [
        "x = []\nfor i in range(100_000): x = [x]\nx",
        "x = []\nx.append(x)\nx",
        "x = {}\nx['x'] = x\nx",
        "x = [1]\nfor i in range(30): x = [x, x]\nx",
        "['a' * 1000] * 10_000",
        "class A: pass\na = A()\na.a = a\na",
        "import collections\ncollections.deque(range(10_000))",
        "{(i, i) for i in range(10_000)}",
    ],
)
async def test_strange_results_are_bounded(session: Session, source: str) -> None:
    outcome = await session.eval(source)
    assert len(outcome.text) <= 8192
    assert outcome.ok or outcome.error.name in ("Timeout", "OutOfMemory", "RecursionError")
    assert await session.values()


ESCAPES = [
    "().__class__",
    "().__class__.__base__.__subclasses__()",
    "(lambda: 0).__globals__",
    "(lambda: 0).__code__",
    "print.__self__",
    "kit.echo.__closure__",
    "kit.__dict__",
    "__builtins__",
    "__loader__",
    "globals()",
    "__import__('os')",
    "import subprocess",
    "import ctypes",
    "import socket",
    "from os import system",
    "open('/etc/passwd').read()",
    "open('x', 'w')",
    "import os\nos.listdir('/')",
    "import os\nos.environ['PATH']",
    "import os\nos.getenv('PATH') or missing",
    "import pathlib\npathlib.Path('/etc/passwd').read_text()",
    "import sys\nsys.modules",
    "import sys\nsys._getframe()",
    "'{0.__class__}'.format(1)",
    "getattr(1, '__class__')",
    "try:\n    1 / 0\nexcept Exception as e:\n    f = e.__traceback__.tb_frame",
    "eval('__im' + 'port__(\"os\")')",
    "compile('1', 'x', 'eval')",
    "input()",
    "exit()",
]


@pytest.mark.parametrize("source", ESCAPES)
async def test_there_is_no_way_out(session: Session, source: str) -> None:
    outcome = await session.eval(source)
    assert outcome.error is not None
    assert "site-packages" not in outcome.error.stack + outcome.error.message


#: The kernel's names, as a cell could still spell them.
_HIDDEN = "eval('__inter' + 'pstack_{}')"


@pytest.mark.parametrize(
    "source",
    [
        _HIDDEN.format("emit__") + "('console', {'text': 'forged', 'omitted': 0})",
        _HIDDEN.format("emit__") + "('nothing', 1)",
        _HIDDEN.format("emit__") + "(1)",
        _HIDDEN.format("emit__") + "('kit.echo', kit)",
        _HIDDEN.format("emit__") + "('kit.echo', [kit, print, int])",
        _HIDDEN.format("bind__") + "('timer', None, 5)(1)",
    ],
)
async def test_the_kernel_gives_no_more_than_bridges(session: Session, source: str) -> None:
    outcome = await session.eval(f"await {source}")
    assert outcome.error is not None
    assert "forged" not in outcome.console


@pytest.mark.parametrize("value", ["5", "print", "lambda *a: 5", "lambda *a: [1, 2, 3, 4]"])
async def test_a_replaced_kernel_harms_its_own_session(stack: InterpreterStack, value: str) -> None:
    async with stack.session() as session:
        await session.eval("exec('__inter' + 'pstack_show__ = " + value + "')")
        assert (await session.eval("1 + 1")).error is not None
        await session.reset()
        assert (await session.eval("1 + 1")).text == "2"


async def test_output_that_only_lines_end_is_bounded(session: Session) -> None:
    outcome = await session.eval("for i in range(200_000): print()")
    assert len(outcome.console) <= 4000


def test_a_killed_process_costs_one_cell(
    engine: MontyEngine, offer: Callable[..., BridgeSet]
) -> None:
    realm: Any = engine.open(Limits(), offer("kit.echo"))
    first = realm.start(Cell(source="x = 1"))
    first.poll(1.0, 5.0)
    execution = realm.start(Cell(source="x = 2\nawait kit.echo(1)"))
    assert len(execution.poll(1.0, 5.0).requests) == 1
    os.kill(execution._place.worker._pid, signal.SIGKILL)
    failure = execution.abort("it died").failure
    assert "undone" in failure.message
    assert realm.start(Cell(source="x")).poll(1.0, 5.0).completion.text == "1"


def test_interrupting_ends_a_poll(engine: MontyEngine, offer: Callable[..., BridgeSet]) -> None:
    import threading

    realm = engine.open(Limits(cpu_seconds=60.0), offer())
    execution = realm.start(Cell(source="while True: pass"))
    threading.Timer(0.2, execution.interrupt).start()
    assert execution.poll(1.0, 60.0).exhausted
    assert "undone" in execution.abort("enough").failure.message
    assert realm.start(Cell(source="1")).poll(1.0, 5.0).completion.text == "1"


def test_no_process_is_left(offer: Callable[..., BridgeSet]) -> None:
    psutil = pytest.importorskip("psutil")
    before = set(psutil.Process().children())
    engine = MontyEngine()
    realms = [engine.open(Limits(), offer()) for _ in range(20)]
    for realm in realms:
        assert realm.start(Cell(source="1")).poll(1.0, 5.0).completion.text == "1"
    started = set(psutil.Process().children()) - before
    assert 1 <= len(started) <= 2  # one for all, between cells none is held
    engine.close()
    assert not [p for p in started if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
