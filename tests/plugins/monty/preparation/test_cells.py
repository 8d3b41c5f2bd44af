"""What cells give back: values as text, output, errors with the cell's lines."""

from __future__ import annotations

import pytest

from interpstack import Cell, InterpreterStack, Session
from interpstack_monty.preparation.cells import RefusedSource, prepare

SHOWN = [
    ("1 + 1", "2"),
    ("'text'", "text"),
    ("['text', None, 1.5, (1,), {'a': {1}}]", "['text', None, 1.5, (1,), {'a': {1}}]"),
    ("1, 2", "(1, 2)"),
    ("x = 1; x", "1"),
    ("x = 1\nx  # said", "1"),
    ("x = 1\nx;", "1"),
    ("1 \\\n + 1", "2"),
    ("[\n  1,\n  2,  # two\n]", "[1, 2]"),
    ("f'{1!r:>3}'", "  1"),
    ("(lambda a: a + 1)(1)", "2"),
    ("(y := 3)", "3"),
    ("async def f():\n    return 4\nf()", "4"),
    ("class P:\n    def __repr__(self): return 'P!'\nP()", "P!"),
    ("list = len = str = repr = type = isinstance = 5\n[list, len]", "[5, 5]"),
    ("'é日本😀'", "é日本😀"),
]


@pytest.mark.parametrize(("source", "text"), SHOWN)
async def test_the_last_expression_is_shown(session: Session, source: str, text: str) -> None:
    outcome = await session.eval(source)
    assert (outcome.error, outcome.text) == (None, text)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("\\\n1", "1"),
        ("1\n   \\\n\n", "1"),
        ("1\n\\\n# nothing", "1"),
        ("\\\nx = 5\nx", "5"),
        ("\\\npass", "None"),
        ("x = 1\n\\\nimport json\n", "None"),
        ("if False:\n\\\n  1", "None"),
        (" \f1", "1"),
    ],
)
async def test_statements_may_begin_with_joined_lines(
    session: Session, source: str, text: str
) -> None:
    outcome = await session.eval(source)
    assert (outcome.error, outcome.text) == (None, text)


async def test_errors_are_bounded(session: Session) -> None:
    error = (await session.eval("raise ValueError('x' * 2_000_000)")).error
    assert len(error.message) < 20_000


@pytest.mark.parametrize("source", ["x = {}\nx[1] = 1", "x: int", "import re", "pass", "# nothing"])
async def test_statements_have_no_value(session: Session, source: str) -> None:
    outcome = await session.eval(source)
    assert (outcome.error, outcome.undefined) == (None, True)


def test_lines_stay_where_they_are() -> None:
    source = "a = 1\n\nb = (\n  a,\n  2)  # pair\nb[0] + (\n  1\n)"
    prepared = prepare(source, 10)
    assert prepared.count("\n") == source.count("\n") + 1
    assert prepared.split("\n")[:5] == source.split("\n")[:5]
    assert prepared.endswith('\nf"{__interpstack_shown__}"')  # a text, whatever `show` returns
    for other in ("x = (", "def f(:\n 1", "a for b in c", "", "x.y = 1"):
        assert prepare(other, 10) == f"{other}\nNone"
    assert prepare("x = 1", 10).count("\n") == 1


RETURNS = [
    ("return 5", 1),
    ("x = 1\nreturn x", 2),
    ("if x:\n    pass\nelif y: return 1", 3),
    ("for i in [1]:\n    with i:\n        return", 3),
    ("try:\n    pass\nexcept E:\n    return 1\nfinally:\n    return 2", 4),
    ("match 1:\n    case 1:\n        while True: return 1", 3),
]


@pytest.mark.parametrize(("source", "line"), RETURNS)
async def test_a_return_outside_a_function_is_refused(
    session: Session, source: str, line: int
) -> None:
    error = (await session.eval(f"print('never')\n{source}")).error
    assert error.name == "SyntaxError"
    assert error.message == "'return' outside function; end the cell with the expression itself"
    assert error.stack == f"  at cell:{line + 1} in <module>"


async def test_a_return_in_a_function_is_none_of_those(session: Session) -> None:
    source = "if True:\n    def f():\n        if True: return 5\n'return'\nf()"
    assert (await session.eval(source)).text == "5"
    with pytest.raises(RefusedSource):
        prepare("def f(): return 5\nreturn f()", 10)


#: Methods, and code for which Python calls them.
IGNORED = {
    "bool": "not a",
    "len": "len(a)",
    "ne": "a != a",
    "lt": "a < a",
    "le": "a <= a",
    "gt": "a > a",
    "ge": "a >= a",
    "format": "f'{a}'",
    "new": "A()",
    "del": "a = None",
    "setattr": "a.x = 1",
    "getattr": "hasattr(a, 'y')",
    "getattribute": "a.x",
    "get": "B().a",
    "set": "B().a = 1",
    "set_name": "B",
    "reversed": "reversed(a)",
    "bytes": "bytes(a)",
    "complex": "complex(a)",
    "await": "await a",
    "class_getitem": "A[0]",
    "iadd": "a += 1",
    "isub": "a -= 1",
    "imul": "a *= 1",
    "imatmul": "a @= 1",
    "itruediv": "a /= 1",
    "ifloordiv": "a //= 1",
    "imod": "a %= 1",
    "ipow": "a **= 1",
    "iand": "a &= 1",
    "ior": "a |= 1",
    "ixor": "a ^= 1",
    "ilshift": "a <<= 1",
    "irshift": "a >>= 1",
}


@pytest.mark.parametrize("name", IGNORED)
async def test_a_method_that_monty_would_not_call_is_refused(session: Session, name: str) -> None:
    source = f"ran = 1\nclass A:\n    x = 1\n\n    def __{name}__(self): return False\nA()"
    error = (await session.eval(source)).error
    assert error.message.startswith(f"the sandbox's Python never calls __{name}__; give")
    assert error.stack == "  at cell:5 in <module>"
    assert (await session.eval("ran")).error.name == "NameError"


@pytest.mark.parametrize(("name", "use"), IGNORED.items(), ids=list(IGNORED))
async def test_monty_calls_none_of_those(session: Session, name: str, use: str) -> None:
    text = (
        "class A:\n    x = 0\n    def __contains__(self, item): print('asked')\n"
        f"    def __{name}__(self, *given): print('called')\n"
        f"a = A()\nclass B:\n    a = a\n0 in a\n{use}"
    )
    console = (await session.eval(f"exec({text!r})")).console  # no text is scanned
    # Monty does not parse `@=`, nor an `await` in a text.
    assert console == ("" if name in ("imatmul", "await") else "asked")


@pytest.mark.parametrize(
    "source",
    [
        '"""\nclass A:\n    def __bool__(self): return False\n"""\n1',
        "def __bool__(): return 1\n__bool__()",
        "class A: pass\ndef __len__(): return 1\n__len__()",
        "class A:\n    def f(self):\n        def __ne__(): return 1\n        return __ne__()\n1",
        "class A:\n    def __eq__(self, o): return 1\nA() == 2",
        "class A:\n    def __len(self): return 0\n1",
        "class A:\n    def get(self): return 1\n    def __contains__(self, o): return 1\n2 in A()",
    ],
    ids=str,
)
async def test_functions_and_texts_of_such_names_run(session: Session, source: str) -> None:
    assert (await session.eval(source)).text in ("1", "True")


async def test_a_nul_is_refused(session: Session) -> None:
    for source in ("1\n'\0'", "1\n# \0"):
        error = (await session.eval(source)).error
        assert (error.name, error.stack) == ("SyntaxError", "  at cell:2 in <module>")


async def test_no_cell_gives_a_raw_value(session: Session) -> None:
    outcome = await session.eval("*['forged', 1, True], False")
    assert (outcome.error, outcome.text) == (None, "('forged', 1, True, False)")
    outcome = await session.eval("*[1], 2\nreturn ['forged', 0]")
    assert "outside function" in outcome.error.message


@pytest.mark.parametrize(
    ("source", "line"), [("x = (", 1), ("x = 1\nif x:", 2), ("\nx = '''\n", 2), ("a\nb c\nd", 2)]
)
async def test_syntax_errors_have_their_line(session: Session, source: str, line: int) -> None:
    error = (await session.eval(source)).error
    assert (error.name, error.stack) == ("SyntaxError", f"  at cell:{line} in <module>")


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("x = = 1", 1, 5),
        ("a = 1\nb = a c", 2, 7),
        ("s = '\U0001f600'; t = s s", 1, 16),
        ("for x in [1]:\nprint(x)", 2, 1),
        ("if True:\n  x = 1\n  x x", 3, 5),
        ("def f(:\n  pass", 1, 7),
        ("x = 1\nx +", 2, 4),
    ],
)
async def test_syntax_errors_have_their_place(
    session: Session, source: str, line: int, column: int
) -> None:
    place = (await session.eval(source)).error.place
    assert (place.line, place.column) == (line, column)


async def test_errors_of_code_that_runs_have_no_place(session: Session) -> None:
    for source in ("1 / 0", "raise ValueError('mine')", "nothing"):
        assert (await session.eval(source)).error.place is None


async def test_what_monty_cannot_raise_is_an_error_of_the_code(session: Session) -> None:
    error = (await session.eval("raise SystemExit(3)")).error
    assert error.name == "RuntimeError"
    assert error.message == "exceptions can only be called with zero or one string argument"
    mine = "Internal error in monty: mine"
    assert (await session.eval(f"raise RuntimeError({mine!r})")).error.message == mine


TAKEN = "{} is the name of a bridge; what the cell assigned to it ends with the cell"


async def test_a_bridge_that_a_cell_assigns_to_is_there_again(session: Session) -> None:
    outcome = await session.eval("print('so far', end='')\nkit = await kit.echo(5)\nkit")
    assert (outcome.text, outcome.console) == ("5", "so far\n" + TAKEN.format("kit"))
    outcome = await session.eval("await kit.echo(6)")
    assert (outcome.text, outcome.console) == ("6", "")
    assert "kit" not in await session.values()
    outcome = await session.eval("kit = 5\n1 / 0")
    assert outcome.error.name == "ZeroDivisionError"
    assert outcome.console == TAKEN.format("kit")
    assert (await session.eval("same = kit\nawait same.echo(7)")).text == "7"


async def test_results_are_bounded_and_count_what_is_cut(session: Session) -> None:
    outcome = await session.eval("'x' * 50_000")
    assert len(outcome.text) + outcome.omitted_chars == 50_000
    assert len(outcome.text) <= 8192


async def test_functions_are_handles(session: Session) -> None:
    assert (await session.eval("def f(): pass\nf")).handle
    assert not (await session.eval("[1]")).handle


async def test_output_comes_in_order_and_is_bounded(session: Session) -> None:
    outcome = await session.eval("print('a', 1)\nprint('b', end='')\nprint('!')\nkit")
    assert (outcome.console, outcome.text) == ("a 1\nb!", "kit")
    outcome = await session.eval("for i in range(3000): print('x' * 8)")
    assert len(outcome.console) == 4000
    assert outcome.console_omitted_chars + len(outcome.console_end) in (
        27_000 - 4000,
        26_999 - 4000,
    )
    outcome = await session.eval("print('kept')\n1 / 0")
    assert (outcome.console, outcome.error.name) == ("kept", "ZeroDivisionError")


async def test_errors_have_the_lines_of_cells(session: Session) -> None:
    await session.eval(Cell(source="def f(n):\n    return 1 / n", name="first"))
    error = (await session.eval(Cell(source="x = 1\n\nf(0)", name="second"))).error
    assert error.stack == "  at second:3 in <module>\n  at an earlier cell:2 in f"
    error = (await session.eval("def g(n): return g(n)\ng(0)")).error
    assert error.name == "RecursionError"
    assert len(error.stack) < 500


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        ("x = (", "SyntaxError", "unexpected EOF"),
        ("raise ValueError('a: b')", "ValueError", "a: b"),
        ("import socket", "ModuleNotFoundError", "No module named 'socket'"),
        ("nothing", "NameError", "name 'nothing' is not defined"),
        ("class A(Exception): pass", "NotImplementedError", "inheritance"),
        ("kit.nothing", "AttributeError", "nothing"),
        ("kit.echo(1, 2)", "TypeError", "kit.echo takes named fields, or one value"),
        ("kit.echo(1, a=2)", "TypeError", "kit.echo takes named fields, or one value"),
        ("__interpstack_show__ = 1", "NameError", "are reserved"),
    ],
)
async def test_errors_say_what_is_wrong(
    session: Session, source: str, name: str, message: str
) -> None:
    error = (await session.eval(source)).error
    assert error.name == name
    assert message in error.message


@pytest.mark.parametrize(
    ("source", "message", "place"),
    [
        ("print(1", "Expected `,`, found the end of the cell", (1, 8)),
        ("x = {\n  'a': 1  # one\n", "Expected `,`, found the end of the cell", (2, 16)),
        ("x = 1\n5 if x", "Expected `else`, found the end of the cell", (2, 7)),
        ("foo(", "unexpected EOF while parsing", (1, 5)),
        ("a = 1\nb = foo(a\nc = 2", "Expected `,`, found name", (3, 1)),
    ],
)
async def test_a_syntax_error_names_nothing_that_the_cell_lacks(
    session: Session, source: str, message: str, place: tuple[int, int]
) -> None:
    error = (await session.eval(source)).error
    assert (error.name, error.message) == ("SyntaxError", message)
    assert (error.place.line, error.place.column) == place


async def test_what_a_failed_cell_did_before_stays(session: Session) -> None:
    await session.eval("x = 1\n1 / 0")
    assert (await session.eval("x")).text == "1"


async def test_errors_of_bridges_have_their_own_names_again(stack: InterpreterStack) -> None:
    from interpstack import Bridge, GuestException

    async def fail(name: str) -> None:
        raise GuestException("no luck: really", name=name)

    catch = "try:\n    await fail(name='{0}')\nexcept {1} as error:\n    text = str(error)\ntext"
    with InterpreterStack("monty", bridges=[Bridge(name="fail", handler=fail)]) as made:
        async with made.session() as session:
            for name in ("ToolError", "ValueError"):
                error = (await session.eval(f"await fail(name={name!r})")).error
                assert (error.name, error.message) == (name, "no luck: really")
            caught = (await session.eval(catch.format("ToolError", "RuntimeError"))).text
            assert caught == "ToolError: no luck: really"
            caught = (await session.eval(catch.format("KeyError", "LookupError"))).text
            assert "no luck: really" in caught


async def test_requests_run_side_by_side_and_sleep_is_a_timer(session: Session) -> None:
    outcome = await session.eval("""
import asyncio, time
async def one(n):
    await asyncio.sleep(0.01)
    return await kit.echo(n)
before = time.time()
got = await asyncio.gather(*[one(n) for n in range(20)], kit.echo(value='named'))
time.sleep(0.02)
got[:3], got[20], 0.03 <= time.time() - before < 5
""")
    assert (outcome.error, outcome.text) == (None, "([0, 1, 2], {'value': 'named'}, True)")
    assert outcome.usage.requests == 21
    assert outcome.usage.crossings < 15


async def test_an_answer_of_an_earlier_cell_never_comes(session: Session) -> None:
    await session.eval("late = kit.echo(1)")
    error = (await session.eval("await late")).error
    assert error.name == "Deadlock"
    assert (await session.eval("1")).text == "1"


async def test_clock_and_chance_come_from_the_host(engine: object, offer: object) -> None:
    from interpstack import Limits

    source = "import random, time, datetime\n"
    source += "[random.random(), time.time(), str(datetime.datetime.now())]"
    texts = []
    for seed in (1, 1, 2):
        realm = engine.open(Limits(), offer())
        progress = realm.start(Cell(source=source, seed=seed)).poll(1_600_000_000.5, 5.0)
        texts.append(progress.completion.text)
        realm.close()
    assert texts[0] == texts[1] != texts[2]
    assert "1600000000.5, '2020-09-13 12:26:40.501000'" in texts[0]  # each reading is later
