"""`interpstack replay`: recorded evals, run again from the database alone."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import attrs
import pytest
import stores
from click.testing import CliRunner, Result
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from interpstack.checks import most_memory_bytes
from interpstack_cli import main
from interpstack_files.api import Files

Replay = Callable[..., Any]
JOURNALS = "SELECT rowid, type, value FROM writes WHERE channel = 'interpreter_ledger'"
CONFIG = {"configurable": {"thread_id": "t"}}


@attrs.define
class Recorder:
    """An agent on a database, and the command that replays what it did."""

    chat: Any
    url: str
    calls: list[str]

    async def turn(self, *codes: Any, **options: Any) -> Any:
        return await self.chat.turn(*codes, **options)

    async def command(self, *args: str, thread: str = "t") -> Result:
        """Run the command; the tools must not be called meanwhile."""
        before = list(self.calls)
        place = [] if "--checkpointer" in args else ["--checkpointer", self.url]
        given = ["replay", thread, *place, *args]
        runner = CliRunner()
        done = await asyncio.to_thread(runner.invoke, main, given, catch_exceptions=False)
        assert self.calls == before
        return done

    async def data(self, *args: str, status: int = 0) -> list[Any]:
        done = await self.command("--json", *args)
        assert done.exit_code == status, done.output
        found: list[Any] = json.loads(done.stdout)
        return found

    async def one(self, *args: str, status: int = 0) -> Any:
        (found,) = await self.data(*args, status=status)
        return found


def tools(calls: list[str]) -> list[Any]:
    @tool
    def pay(to: str, euros: int) -> str:
        """Pay somebody."""
        calls.append(f"pay {to} {euros}")
        if euros < 0:
            raise ValueError("euros must be above 0")
        return f"receipt {to} {euros}"

    @tool
    async def wait(seconds: float) -> float:
        """Wait."""
        calls.append(f"wait {seconds}")
        await asyncio.sleep(seconds)
        return seconds

    @tool
    def ask(what: str) -> str:
        """Ask somebody."""
        calls.append(f"ask {what}")
        return str(interrupt(what))

    return [pay, wait, ask]


@pytest.fixture
def store_name() -> str:
    """The kind of checkpointer; tests parametrise it."""
    return "sqlite-async"


@pytest.fixture
async def record(
    talk: Any, store_name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Callable[..., Recorder]]:
    """Makes agents on one database."""
    if store_name.startswith("postgres"):
        place = request.getfixturevalue("postgres").new_database()
        parts = dict(part.split("=", 1) for part in place.split())
        host = quote(parts["host"], safe="")
        url = f"postgresql:///{parts['dbname']}?host={host}&user={parts['user']}"
    else:
        place = url = str(tmp_path / "a b?.db")
    async with stores.open_saver(store_name, place) as saver:

        def make(**options: Any) -> Recorder:
            calls: list[str] = []
            own = tools(calls)
            names = [one.name for one in own]
            chat = talk(**{"tools": own, "ptc": names, "checkpointer": saver, **options})
            return Recorder(chat, url, calls)

        yield make


# -- what ended ----------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["quickjs", "monty"])
async def test_what_code_showed_is_shown_again(record: Any, engine: str) -> None:
    agent = record(engine=engine)
    pay = {"quickjs": "tools.pay({to: 'Ann', euros: 5})", "monty": "tools.pay(to='Ann', euros=5)"}
    await agent.turn(
        f"await display('data:image/gif;base64,R0lGODlhAQ==')\nawait {pay[engine]}\n"
        "await display('a < b')\n7"
    )
    (found,) = await agent.data()
    assert (found["status"], found["notes"]) == ("ended", [])
    assert found["text"] == found["recorded_answer"]
    assert found["text"].splitlines() == [
        "<notice>Shown 1: image/gif, 7 bytes</notice>",
        "<notice>Shown 2: text/plain, 5 bytes</notice>",
        "<result>7</result>",
        '<shown index="2" type="text/plain">',
        "a &lt; b",
        "</shown>",
    ]


@pytest.mark.parametrize("store_name", ["sqlite-async", "postgres-async"])
async def test_evals_run_again_on_the_state_they_started_from(record: Any, evals: Any) -> None:
    agent = record()
    await agent.turn(
        "let n = 1; const id = crypto.randomUUID(); await tools.pay({to: 'Ann', euros: 5})",
        evals("n += 1; n", "n += 10; await tools.pay({to: 'Bob', euros: n}); [n, id]"),
    )
    await agent.turn("[n, Math.random(), Date.now(), await tools.pay({to: 'Eve', euros: n})]")
    found = await agent.data()
    assert [one["eval"] for one in found] == [1, 2, 3, 4]
    assert [one["status"] for one in found] == ["ended"] * 4
    assert all(one["text"] == one["recorded_answer"] for one in found)
    assert [one["engine"] for one in found] == ["quickjs"] * 4
    assert "and so no clock" in found[1]["notes"][0]
    assert [one["notes"] for one in (found[0], found[2], found[3])] == [[]] * 3
    (call,) = found[2]["timeline"]
    assert call["bridge"] == "tools.pay"
    assert json.loads(call["input"]) == {"to": "Bob", "euros": 12}
    assert (call["step"], call["answer"], call["failed"]) == (1, '"receipt Bob 12"', False)
    assert 0 <= call["asked"] <= call["answered"] < 60
    assert await agent.one("--eval", "-1") == found[3]
    assert await agent.one("--eval", "2", "--code") == {**found[1], "code": "n += 1; n"}


async def test_parallel_and_failed_calls_and_timers(record: Any) -> None:
    agent = record()
    await agent.turn(
        "const got = await Promise.allSettled([tools.wait({seconds: 0.2}), "
        "tools.wait({seconds: 0.01}), tools.pay({to: 'Ann', euros: -1}), "
        "new Promise(done => setTimeout(done, 5, 'slept'))]); "
        "got.map(one => one.value ?? one.reason.message)"
    )
    found = await agent.one()
    assert found["text"] == found["recorded_answer"]
    slow, quick, failed, timer = found["timeline"]
    assert slow["step"] > quick["step"] >= 1
    assert slow["answered"] > quick["answered"]
    assert failed["failed"]
    assert "euros must be above 0" in failed["answer"]
    assert timer["bridge"] == "timer"


async def test_code_that_leaves_a_timer_open_ends(record: Any) -> None:
    agent = record()
    await agent.turn("setTimeout(() => {}, 1e8); await tools.pay({to: 'Ann', euros: 1})")
    found = await agent.one()
    assert found["status"] == "ended"
    assert found["text"] == found["recorded_answer"]
    assert "did not fire" in found["text"]
    assert found["text"].endswith("</notice>\n<result>receipt Ann 1</result>")


@pytest.mark.parametrize("store_name", ["sqlite-async"])
async def test_what_a_tool_raised_reads_the_same(record: Any) -> None:
    agent = record()
    await agent.turn("await tools.pay({to: 'Ann', euros: -1})")
    found = await agent.one()
    assert "(ValueError in tools.pay)" in found["text"]
    assert found["text"] == found["recorded_answer"]


@pytest.mark.parametrize("store_name", ["sqlite-async"])
async def test_evals_of_a_renamed_interpreter_run_on_their_state(record: Any, evals: Any) -> None:
    agent = record(tool_name="js")
    steps = ("var n = 1", "n += 1; await tools.pay({to: 'Ann', euros: n}); n")
    await agent.turn(*(evals(code, name="js") for code in steps))
    found = await agent.data("--tool-name", "js")
    assert [one["text"] for one in found] == [one["recorded_answer"] for one in found]
    assert found[1]["text"] == "<result>2</result>"


async def test_code_finds_the_names_that_it_could_call(record: Any) -> None:
    agent = record()
    names = "Object.keys(tools).sort()"
    await agent.turn(
        names, f"const pay = tools['pay']; await pay({{to: 'Ann', euros: 1}}); {names}"
    )
    for found in await agent.data():
        assert found["text"] == found["recorded_answer"]
        assert "wait" in found["text"]


@pytest.mark.parametrize("engine", ["quickjs", "monty"])
async def test_code_reads_the_files_that_it_read(record: Any, engine: str, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    agent = record(engine=engine, files=Files(folder))
    lines = "files.readLines('/a.txt', {from: 2})"
    if engine == "monty":
        lines = "files.read_lines('/a.txt', from_=2)"
    await agent.turn(f"(await {lines})[0]")
    (folder / "a.txt").unlink()
    (found,) = await agent.data()
    assert found["text"] == found["recorded_answer"] == "<result>two</result>"


async def test_the_first_call_of_a_thread_may_be_in_flight(record: Any) -> None:
    agent = record()
    running = asyncio.ensure_future(agent.turn("await tools.wait({seconds: 900})"))
    while not agent.calls:  # noqa: ASYNC110 - a tool in another context
        await asyncio.sleep(0.01)
    found = await agent.one()
    running.cancel()
    await asyncio.wait({running})
    assert found["text"] == 'in flight when the record ends: tools.wait({"seconds": 900})'
    assert found["timeline"] == []


async def test_evals_of_subgraphs_are_found(record: Any, evals: Any) -> None:
    outer = record()
    inner = attrs.evolve(outer, chat=record(checkpointer=None).chat)
    graph = StateGraph(MessagesState)
    graph.add_node("inner", inner.chat.agent)
    graph.add_edge(START, "inner")
    agent = graph.compile(checkpointer=outer.chat.agent.checkpointer)
    inner.chat.say([evals("let n = 1"), evals("await tools.pay({to: 'Ann', euros: n + 1})")])
    await agent.ainvoke({"messages": [("user", "go")]}, CONFIG)
    found = await outer.data()
    assert all(one["namespace"].startswith("inner:") for one in found)
    assert found[1]["text"] == found[1]["recorded_answer"] == "<result>receipt Ann 2</result>"


@pytest.mark.parametrize("mode", ["turn", "call"])
async def test_other_modes_have_their_own_state(record: Any, mode: str) -> None:
    agent = record(mode=mode)
    await agent.turn("var n = 1; await tools.pay({to: 'Ann', euros: n})", "typeof n")
    await agent.turn("typeof n")
    found = await agent.data()
    seen = {"turn": "number", "call": "undefined"}[mode]
    assert [one["text"] for one in found[1:]] == [
        f"<result>{seen}</result>",
        "<result>undefined</result>",
    ]
    assert all(one["text"] == one["recorded_answer"] for one in found)


async def test_signed_state(record: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = record(snapshot_signing_key="k" * 16)
    await agent.turn("let n = 1", "n += 1; await tools.pay({to: 'Ann', euros: n}); n")
    monkeypatch.setenv("KEY", "k" * 16)
    found = await agent.one("--eval", "2", "--signing-key-env", "KEY")
    assert (found["text"], found["notes"]) == ("<result>2</result>", [])
    monkeypatch.setenv("KEY", "other" * 16)
    found = await agent.one("--eval", "2", "--signing-key-env", "KEY", status=3)
    assert found["status"] == "diverged"  # without its variables
    assert "signed with another key" in found["notes"][0]
    monkeypatch.setenv("KEY", "short")
    done = await agent.command("--signing-key-env", "KEY")
    assert (done.exit_code, "at least 16 bytes; this one has 5" in done.stderr) == (2, True)


# -- what did not end ----------------------------------------------------------------------


async def test_a_paused_eval(record: Any, evals: Any) -> None:
    agent = record(interrupt_on={"pay": {"allowed_decisions": ["approve", "edit", "reject"]}})
    code = (
        "const paid = []; for (const to of ['Ann', 'Bob', 'Eve']) "
        "paid.push(await tools.pay({to, euros: 1}).catch(e => e.name)); paid"
    )
    await agent.turn(evals(code, "'after'"))
    found, after = await agent.data()
    assert found["status"] == "paused"
    assert found["text"] == 'waiting for approval of pay({"to": "Ann", "euros": 1})'
    call, pause = found["timeline"]
    assert (call["step"], call["answered"], call["answer"]) == (None, None, None)
    assert (pause["kind"], pause["number"], pause["resumed"]) == ("pause", 1, False)
    assert after["status"] == "not begun"

    edited = {"name": "pay", "args": {"to": "Zoe", "euros": 9}}
    decisions: list[dict[str, Any]] = [
        {"type": "edit", "edited_action": edited},
        {"type": "reject", "message": "no"},
        {"type": "approve"},
    ]
    for decision in decisions:
        await agent.chat.agent.ainvoke(Command(resume={"decisions": [decision]}), CONFIG)
    found, after = await agent.data()
    assert found["status"] == after["status"] == "ended"
    assert found["text"] == found["recorded_answer"]
    made = [event for event in found["timeline"] if event["kind"] == "call"]
    assert [call["decisions"] for call in made] == [
        ['edit: pay({"to": "Zoe", "euros": 9})'],
        ["reject: no"],
        ["approve"],
    ]
    pauses = [event for event in found["timeline"] if event["kind"] == "pause"]
    assert [(pause["number"], pause["resumed"]) for pause in pauses] == [
        (1, True),
        (2, True),
        (3, True),
    ]


async def test_a_tool_that_interrupts(record: Any) -> None:
    agent = record()
    await agent.turn("[await tools.ask({what: 'when?'}), await tools.ask({what: 'where?'})]")
    found = await agent.one()
    assert (found["status"], found["text"]) == ("paused", 'waiting for an answer to "when?"')
    await agent.chat.agent.ainvoke(Command(resume="now"), CONFIG)
    await agent.chat.agent.ainvoke(Command(resume="here"), CONFIG)
    found = await agent.one()
    assert found["text"] == found["recorded_answer"] == '<result>["now", "here"]</result>'
    assert [e["waits_for"] for e in found["timeline"] if e["kind"] == "pause"] == [
        ['an answer to "when?"'],
        ['an answer to "where?"'],
    ]


@pytest.mark.parametrize(
    ("waits", "in_flight", "calls"),
    [
        ("tools.wait({seconds: 900})", 'tools.wait({"seconds": 900})', 2),
        ("new Promise(done => setTimeout(done, 900000))", "timer(900000)", 1),
    ],
)
async def test_an_eval_that_was_left_in_flight(
    record: Any, waits: str, in_flight: str, calls: int
) -> None:
    agent = record()
    code = f"await tools.pay({{to: 'Ann', euros: 1}}); await {waits}"
    running = asyncio.ensure_future(agent.turn(code))
    while len(agent.calls) < calls or len(_journal(agent)) < 2:  # noqa: ASYNC110 - of the database
        await asyncio.sleep(0.01)
    found = await agent.one()  # while the agent is at work
    running.cancel()
    await asyncio.wait({running})
    assert found == await agent.one()
    assert found["status"] == "in flight"
    assert found["text"] == f"in flight when the record ends: {in_flight}"
    assert (found["recorded_answer"], len(found["timeline"])) == (None, 1)


async def test_calls_that_ended_before_a_pause_was_recorded(record: Any) -> None:
    """The pause waits for the calls that are at work; whoever reads must know what is done."""
    agent = record()
    code = (
        "await Promise.all([tools.pay({to: 'Ann', euros: 1}), tools.ask({what: 'when?'}),"
        " tools.wait({seconds: 900})])"
    )
    running = asyncio.ensure_future(agent.turn(code))
    while len(agent.calls) < 3 or not _journal(agent):  # noqa: ASYNC110 - of the database
        await asyncio.sleep(0.01)
    # The journal is written while the calls run: that the first one has ended may come later.
    while not (timeline := (found := await agent.one())["timeline"]) or (  # noqa: ASYNC110
        timeline[0]["answer"] is None
    ):
        await asyncio.sleep(0.05)
    shown = await agent.command()
    running.cancel()
    await asyncio.wait({running})
    # An answer that comes before the question reaches the code at once, in a step of its own.
    step = found["timeline"][0]["step"]
    undelivered = "ended, but not received by the code: tools.pay" in found["text"]
    assert (found["status"], undelivered) == ("in flight", step is None)
    assert found["text"].startswith(
        'in flight when the record ends: tools.ask({"what": "when?"}), tools.wait({"seconds": 900})'
    )
    calls = [(call["bridge"], call["kept"], call["step"]) for call in found["timeline"]]
    assert calls == [
        ("tools.pay", undelivered, step),
        ("tools.ask", False, None),
        ("tools.wait", False, None),
    ]
    assert found["timeline"][1]["answer"] is None
    assert ("not received" in " ".join(shown.stdout.split())) == undelivered


# -- what differs --------------------------------------------------------------------------


def _journal(agent: Recorder) -> list[Any]:
    """The journals in the database."""
    with sqlite3.connect(agent.url) as database:
        rows = database.execute(JOURNALS).fetchall()
    database.close()
    return rows


def _tampered(agent: Recorder, change: Callable[[Any], None]) -> None:
    """Change the journals in the database."""
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    serde = JsonPlusSerializer()
    rows = _journal(agent)
    with sqlite3.connect(agent.url) as database:
        for row, kind, value in rows:
            entry = serde.loads_typed((kind, value))
            change(entry)
            kind, value = serde.dumps_typed(entry)
            database.execute(
                "UPDATE writes SET type = ?, value = ? WHERE rowid = ?", (kind, value, row)
            )
    database.close()


async def test_a_run_that_asks_for_something_else_diverges(record: Any) -> None:
    agent = record()
    await agent.turn("let n = 1; n", "await tools.pay({to: 'Ann', euros: n})")

    def other_call(entry: Any) -> None:
        if "asked" in entry:
            entry["asked"][0][2:] = ["0" * 32, '{"to":"Ann","euros":7}']

    _tampered(agent, other_call)
    found = await agent.one("--eval", "2", status=3)
    assert found["status"] == "diverged"
    assert 'tools.pay({"to":"Ann","euros":1})' in found["text"]
    assert 'tools.pay({"to":"Ann","euros":7})' in found["text"]
    assert found["timeline"][0]["input"] == '{"to":"Ann","euros":7}'


async def test_other_code_and_other_answers_are_noticed(record: Any) -> None:
    agent = record()
    await agent.turn("await tools.pay({to: 'Ann', euros: 1})")

    def other_answer(entry: Any) -> None:
        if "settled" in entry:
            entry["settled"][0][1] = '"forged"'

    _tampered(agent, other_answer)
    found = await agent.one(status=1)
    assert found["text"] == "<result>forged</result>"
    assert found["notes"] == ["The recorded answer differs."]
    _tampered(agent, lambda entry: entry.update(cell="0" * 32))
    found = await agent.one(status=3)
    assert (
        found["text"]
        == "the journal records a run of different code; run that code, or begin a new eval"
    )
    _tampered(agent, lambda entry: entry.update(version=99))
    done = await agent.command()
    assert done.exit_code == 2
    assert "the form 99, written by" in done.stderr


async def test_another_engine_gets_the_values(record: Any) -> None:
    agent = record()
    await agent.turn("let n = 41", "await tools.pay({to: 'Ann', euros: n + 1})")
    found = await agent.one("--eval", "2", "--engine", "v8")
    assert found["engine"] == "v8"
    assert found["text"] == found["recorded_answer"]
    assert "restored from their values" in found["notes"][0]


async def test_an_engine_of_another_language_is_refused(record: Any) -> None:
    agent = record()
    await agent.turn("let n = 41", "await tools.pay({to: 'Ann', euros: n + 1})")
    for number in ("1", "2"):  # the first has no journal, and is known by its image
        args = ["--eval", number, "--engine", "monty"]
        answers = f"eval {number} was recorded in javascript, and engine 'monty' runs python"
        await _fails_on_one_line(agent, args, answers)


async def test_a_paused_eval_of_another_language_asks_for_an_engine(record: Any) -> None:
    paused = record(engine="monty", interrupt_on={"pay": True})
    await paused.turn("await tools.pay(to='Ann', euros=1)")
    answers = "was recorded in python, and engine 'quickjs' runs javascript; name an engine"
    await _fails_on_one_line(paused, ["--eval", "1"], answers)


@pytest.mark.parametrize(
    ("code", "option"),
    [
        ("let n = 0; for (let i = 0; i < 3e6; i++) n += i; n", ["--timeout", "0.001"]),
        ("new Array(1e6).fill('x').map((x, i) => x + i).length", ["--memory", "8"]),
    ],
)
async def test_a_run_that_this_machine_stops_has_failed_not_diverged(
    record: Any, code: str, option: list[str]
) -> None:
    agent = record(memory_limit=256 * 2**20, timeout=60)
    await agent.turn(code)
    found = await agent.one(*option, status=1)
    assert found["status"] == "failed"
    assert found["recorded_answer"].startswith("<result>")
    assert (await agent.one("--timeout", "60", "--memory", "256"))["status"] == "ended"


async def test_a_recorded_timeout_is_as_recorded(record: Any) -> None:
    agent = record(timeout=0.1)
    await agent.turn("for (;;) {}")
    found = await agent.one("--timeout", "0.1")
    assert found["text"] == found["recorded_answer"]
    assert found["status"] == "ended"


# -- what is stored in another way ---------------------------------------------------------

SERIALIZERS = """
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

class Reversed:
    def encrypt(self, plaintext):
        return "reversed", plaintext[::-1]

    def decrypt(self, name, text):
        return text[::-1]

def make():
    return EncryptedSerializer(Reversed())

serializer = make()
number = 7
"""


@pytest.fixture
def encrypted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: Any
) -> Iterator[Callable[..., Any]]:
    """An agent whose checkpointer encrypts, with a module that names the serializer."""
    (tmp_path / "replay_serializers.py").write_text(SERIALIZERS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    async def make(serde: Any = None) -> Recorder:
        if serde is None:
            import replay_serializers

            serde = replay_serializers.serializer
        agent: Recorder = record()
        agent.chat.agent.checkpointer.serde = serde
        await agent.turn("await tools.pay({to: 'Ann', euros: 1})")
        return agent

    yield make
    sys.modules.pop("replay_serializers", None)


@pytest.mark.parametrize("name", ["replay_serializers:make", "replay_serializers:serializer"])
async def test_a_serializer_of_ones_own(encrypted: Any, name: str) -> None:
    agent = await encrypted()
    found = await agent.one("--serializer", name)
    assert found["text"] == found["recorded_answer"] == "<result>receipt Ann 1</result>"


async def test_values_encrypted_by_langgraph(
    encrypted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("Crypto")
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

    agent = await encrypted(EncryptedSerializer.from_pycryptodome_aes(key=b"k" * 16))
    monkeypatch.setenv("AES", "k" * 16)
    found = await agent.one("--aes-key-env", "AES")
    assert found["text"] == found["recorded_answer"] == "<result>receipt Ann 1</result>"
    monkeypatch.setenv("AES", "o" * 16)
    await _fails_on_one_line(agent, ["--aes-key-env", "AES"], "--aes-key-env is not what wrote it")
    monkeypatch.setenv("AES", "short")
    await _fails_on_one_line(agent, ["--aes-key-env", "AES"], "it holds 5 bytes")
    await _fails_on_one_line(
        agent, ["--aes-key-env", "NO_SUCH"], "this environment variable is not set"
    )


async def test_encrypted_values_name_the_options(encrypted: Any) -> None:
    agent = await encrypted()
    await _fails_on_one_line(agent, [], "encrypted ('reversed'): name the variable that holds")
    for name, answers in (
        ("replay_serializers:gone", "has no 'gone'; it has: "),
        ("no_such_module:make", "there is no module 'no_such_module'"),
        ("replay_serializers:number", "it cannot be called: TypeError"),
        ("replay_serializers:Reversed", "a Reversed is not a serializer"),
        ("replay_serializers", "takes MODULE:ATTR"),
    ):
        await _fails_on_one_line(agent, ["--serializer", name], answers)


async def _fails_on_one_line(agent: Recorder, args: list[str], answer: str) -> None:
    done = await agent.command(*args)
    assert (done.exit_code, done.stdout) == (2, "")
    assert answer in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("table", ["checkpoints", "writes"])
async def test_damage_is_fails_on_one_line(record: Any, table: str) -> None:
    """Random bytes of stored values; some of them change nothing that is looked at."""
    agent = record()
    await agent.turn("let n = 1", "await tools.pay({to: 'Ann', euros: n})")
    column = {"checkpoints": "checkpoint", "writes": "value"}[table]
    query = f"SELECT rowid, {column} FROM {table} WHERE length({column}) > 8"
    chance, answers = random.Random(7), 0
    with sqlite3.connect(agent.url) as database:
        rows = database.execute(query).fetchall()
    database.close()
    for _ in range(25):
        row, value = chance.choice(rows)
        damaged = bytearray(value)
        for _ in range(chance.choice((1, 5, 50))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        _store(agent.url, table, column, row, bytes(damaged))
        done = await agent.command()
        assert done.exit_code in (0, 1, 2, 3)
        if done.exit_code == 2:
            answers += 1
            assert len(done.stderr.splitlines()) == 1
            assert done.stderr.startswith("Error: ")
        _store(agent.url, table, column, row, value)
    assert answers > 3
    database.close()


def _store(place: str, table: str, column: str, row: int, value: bytes) -> None:
    with sqlite3.connect(place) as database:
        database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, row))
    database.close()


async def test_a_journal_of_another_shape_is_fails_on_one_line(record: Any) -> None:
    agent = record()
    await agent.turn("await tools.pay({to: 'Ann', euros: 1})")
    for change in (
        lambda entry: entry.pop("asked", None),
        lambda entry: entry.update(asked=7),
        lambda entry: entry.update(settled=[[1]]),
        lambda entry: entry.update(now="late"),
        lambda entry: entry.update(notes=3),
        lambda entry: entry.update(began="x"),
    ):
        rows = _journal(agent)
        _tampered(agent, change)
        done = await agent.command()
        assert done.exit_code in (2, 3), (change, done.output)
        if done.exit_code == 2:
            assert len(done.stderr.splitlines()) == 1
            assert "damaged" in done.stderr
        for row, _, value in rows:
            _store(agent.url, "writes", "value", row, value)


# -- what is printed -----------------------------------------------------------------------


async def test_the_table_is_short_and_sends_no_commands_to_the_terminal(record: Any) -> None:
    agent = record()
    await agent.turn("await tools.pay({to: '\\u001b]0;x\\u0007' + 'y'.repeat(999), euros: 1}); 7")
    done = await agent.command("--chars", "20", "--code")
    assert done.exit_code == 0
    for part in ("Eval 1", "tools.pay", "receipt", "ended: <result>7</result>", "await"):
        assert part in done.stdout
    assert "\x1b" not in done.stdout
    assert "y" * 20 not in done.stdout.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize("columns", [20, 40, 79, 80, 120])
async def test_at_any_width_all_of_a_call_is_shown(
    record: Any, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    agent = record(interrupt_on={"pay": True})
    await agent.turn("await tools.pay({to: 'Ann', euros: 512})")
    decision = {"decisions": [{"type": "approve"}]}
    await agent.chat.agent.ainvoke(Command(resume=decision), CONFIG)
    done = await agent.command()
    shown = "".join(done.stdout.split())
    for name in ("step", "called", "answered", "call", "input", "answer", "decision", "pause1"):
        assert name in shown
    if columns < 80:  # a table may fold a value in the middle
        for value in ("tools.pay", '{"to":"Ann","euros":512}', '"receiptAnn512"', "approve"):
            assert value in shown
    assert max(map(len, done.stdout.splitlines())) <= columns


async def test_nothing_is_written(record: Any) -> None:
    agent = record()
    await agent.turn("await tools.pay({to: 'Ann', euros: 1})")

    def content() -> list[str]:
        with sqlite3.connect(agent.url) as database:
            lines = list(database.iterdump())
        database.close()
        return lines

    before = content()
    assert (await agent.command()).exit_code == 0
    assert content() == before


async def test_a_page_holds_the_evals(record: Any, tmp_path: Path) -> None:
    agent = record()
    await agent.turn("await tools.pay({to: '<b>Ann</b>', euros: 1})")
    page = tmp_path / "thread.html"
    done = await agent.command("--html", str(page))
    assert done.exit_code == 0
    assert done.stdout == f"{page}: 1 eval of thread t\n"
    text = page.read_text("utf-8")
    assert "&lt;b&gt;Ann&lt;/b&gt;" in text
    assert "tools.pay" in text


# -- what is wrong -------------------------------------------------------------------------

WRONG = [
    (["--eval", "2"], "--eval 2: the thread has 1 eval; it takes 1 to 1"),
    (["--eval", "0"], "--eval 0"),
    (["--tool-name", "repl"], "no call of 'repl'; tools called in it: eval"),
    (["--signing-key-env", "NO_SUCH"], "this environment variable is not set"),
    (["--engine", "nope"], "unknown engine 'nope'"),
    (["--html", "no/such/page.html"], "there is no folder 'no/such'"),
    (["--html", "page.html", "--json"], "--html and --json exclude each other"),
    (["--checkpointer", "redis://here"], "redis:// is not a supported kind"),
    (["--checkpointer", "sqlite:///gone.db"], "gone.db' not found"),
    (["--checkpointer", "."], "is a directory; name the database file in it"),
    (["--checkpointer", __file__], "cannot be read"),
    (["--checkpointer", "postgresql://u:secret@127.0.0.1:1/x"], "postgresql://…@127.0.0.1:1/x"),
]


@pytest.mark.parametrize(("args", "answer"), WRONG)
async def test_mistakes_are_fails_on_one_line(record: Any, args: list[str], answer: str) -> None:
    agent = record()
    await agent.turn("1")
    done = await agent.command(*args)
    assert done.exit_code == 2
    assert answer in done.stderr
    assert "secret" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


@pytest.mark.parametrize("memory", ["3", "99999999999"])
async def test_a_wrong_memory_is_reported_with_its_unit(record: Any, memory: str) -> None:
    agent = record()
    await agent.turn("1")
    done = await agent.command("--memory", memory)
    assert done.exit_code == 2
    most = most_memory_bytes() // 2**20
    accepted = f"takes 4 to {most} MiB, the memory of this machine"
    assert done.stderr.endswith(f"'--memory': {accepted}; got {memory}\n")


async def test_threads_that_are_not_there(record: Any, tmp_path: Path) -> None:
    agent = record()
    await agent.turn("1", thread="mine")
    done = await agent.command(thread="yours")
    assert (done.exit_code, "used last are: mine" in done.stderr) == (2, True)
    await agent.turn(thread="silent")
    done = await agent.command(thread="silent")
    assert (done.exit_code, "tools called in it: none" in done.stderr) == (2, True)
    empty = tmp_path / "empty.db"
    empty.touch()
    done = await agent.command("--checkpointer", f"sqlite:////{empty}")
    assert (done.exit_code, "has no checkpoints" in done.stderr) == (2, True)


@pytest.mark.parametrize("package", ["sqlite", "postgres"])
async def test_a_missing_package_is_named(
    record: Any, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = record()
    await agent.turn("1")
    monkeypatch.setitem(__import__("sys").modules, f"langgraph.checkpoint.{package}", None)
    url = {"sqlite": agent.url, "postgres": "postgresql:///x"}[package]
    done = await agent.command("--checkpointer", url)
    assert done.exit_code == 2
    assert f"pip install langgraph-checkpoint-{package}" in done.stderr
