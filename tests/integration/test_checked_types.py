"""Cells are checked by their types before their first effect, where the option asks for that."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checked_cells import RIGHT, SEEDED, bridges_noting
from engines import OnEngine
from typed_cells import EARLIER, TYPED_RIGHT, TYPED_WRONG, typed_bridges

from interpstack import (
    ConfigurationError,
    HostOffer,
    HostTool,
    InterpreterStack,
    Session,
    bridge,
)
from interpstack.guests import NOT_RUN
from interpstack_files.api import Files
from interpstack_javascript import node_runtime
from interpstack_javascript.types.doctor import checks
from interpstack_javascript.types.service import CheckerService, CheckerSilent, checker

FIRST = "await tools.store({text: 'first'});\n"


@pytest.fixture
def noted() -> list[str]:
    return []


@pytest.fixture
def session(noted: list[str]) -> Iterator[Session]:
    bridges = typed_bridges(noted)
    with InterpreterStack("quickjs", ["console"], bridges=bridges, check="types") as stack:
        yield stack.session("one")


async def test_faults_that_only_types_show_are_caught_before_the_first_effect(
    noted: list[str],
) -> None:
    missed = []
    bridges = typed_bridges(noted)
    with InterpreterStack("quickjs", ["console"], bridges=bridges, check="types") as stack:
        for source in TYPED_WRONG:
            async with stack.session() as session:
                assert (await session.eval(EARLIER)).error is None
                error = (await session.eval(FIRST + source)).error
            if error is None or not error.message.startswith(NOT_RUN) or noted:
                missed.append((source, error and error.message))
            noted.clear()
    assert len(TYPED_WRONG) >= 90
    assert len(missed) <= len(TYPED_WRONG) // 50, missed


async def test_faults_that_names_show_are_caught_too(noted: list[str]) -> None:
    missed = []
    bridges = bridges_noting(noted)
    with InterpreterStack("quickjs", ["console"], bridges=bridges, check="types") as stack:
        session = stack.session("one")
        for source in SEEDED:
            error = (await session.eval(source)).error
            if error is None or not error.message.startswith(NOT_RUN) or noted:
                missed.append((source, error and error.message))
            noted.clear()
    assert len(missed) <= len(SEEDED) // 50, missed


async def test_right_cells_are_not_refused(noted: list[str]) -> None:
    refused = []
    for earlier, cells, bridges in (
        ("1", RIGHT, bridges_noting([])),
        (EARLIER, TYPED_RIGHT, typed_bridges(noted)),
    ):
        with InterpreterStack("quickjs", ["console"], bridges=bridges, check="types") as stack:
            for source in cells:
                async with stack.session() as session:
                    assert (await session.eval(earlier)).error is None
                    outcome = await session.eval(source)
                if outcome.error is not None or any("not checked" in n for n in outcome.notices):
                    refused.append((source, outcome.error and outcome.error.message))
    assert refused == []
    assert len(RIGHT) + len(TYPED_RIGHT) >= 1000


@pytest.mark.engines("javascript")
async def test_the_error_names_places_types_and_what_is_near(
    on_engine: OnEngine, noted: list[str]
) -> None:
    bridges = typed_bridges(noted)
    async with InterpreterStack(on_engine.name, bridges=bridges, check="types") as stack:
        session = stack.session("one")
        assert (await session.eval(EARLIER)).error is None
        outcome = await session.eval(
            "await tools.store({text: 'begun'});\n"
            "'é𝒳'; hits[0].titel; names.lenght;\n"
            "const n: number = tools.count({q: 'a'});\n"
            "n.toFixed(2); n + 1;\n"
            "await tools.store({text: size});\n"
            "await tools.stroe({text: 'a'});\n"
            "console.log(zzqqxx);\n"
            "for (const x of size) 1;"
        )
        assert outcome.error is not None
        assert outcome.error.message.split("\n") == [
            NOT_RUN,
            "  at cell:2:15: hits[0] has no 'titel'; it has title, score, author",
            "  at cell:2:28: names is an array; it has no 'lenght'; did you mean length?",
            "  at cell:4:3: n is a Promise of tools.count; it has no 'toFixed'; write "
            "(await n).toFixed",
            "  at cell:4:15: n is a Promise of tools.count, not its value; write await n",
            "  at cell:5:7: tools.store: field 'text' takes a string; got a number",
            "  at cell:6:7: tools has no 'stroe'; did you mean tools.store?",
            "  at cell:7:13: zzqqxx is not defined",
            "  at cell:8:17: size is a number, which has no elements",
        ]
        assert outcome.error.name == "TypeError"
        assert (noted, outcome.usage.requests, outcome.state) == ([], 0, "kept")
        assert (await session.eval("typeof n")).text == "undefined"


async def test_a_cell_that_does_not_compile_is_left_to_the_run(session: Session) -> None:
    for source in (
        "[1].map((q) => await (f(q)))",
        "function g() { await missing; }\ng()",
        "const = 5",
    ):
        error = (await session.eval(source)).error
        assert error is not None
        assert error.name == "SyntaxError"
        assert not error.message.startswith(NOT_RUN)


async def test_variables_of_earlier_cells_have_the_types_that_they_got(session: Session) -> None:
    async def fails(source: str) -> bool:
        error = (await session.eval(source)).error
        return error is not None and error.message.startswith(NOT_RUN)

    assert not await fails("const one = await tools.user({id: 1}); let two = one.name;")
    assert await fails("one.nam")
    assert await fails("two.nam")
    assert not await fails("two = 5; two.toFixed(1)")
    assert not await fails("two.nam")  # may hold anything from now on
    assert not await fails("let one = {nam: 1}; one.nam")
    assert await fails("one.nam.x.y; one.toFixd; missing")
    assert not await fails("one.nam")
    # A cell that fails leaves variables that may hold anything.
    assert (await session.eval("var three = 'a'; throw 1; three = 5")).error is not None
    assert not await fails("three.x")
    await session.load({"one": ["changed"]})
    assert not await fails("one.length.toFixed(1) + one[0].length")


async def test_another_state_is_not_taken_for_the_one_before(session: Session) -> None:
    await session.eval("var one = 5")
    image = await session.image()
    assert image is not None
    await session.eval("var one = 'text'")
    assert (await session.eval("one.toFixed(1)")).error is not None
    await session.restore(image)
    assert (await session.eval("one.toFixed(1)")).text == "5.0"
    await session.reset()
    assert (await session.eval("typeof one")).text == "undefined"


async def test_tools_are_checked_by_their_schemas_also_after_they_change(
    noted: list[str],
) -> None:
    async def call(given: Any, context: Any) -> Any:
        noted.append("called")
        return {"rows": [{"id": 1}]}

    def offer(field: str) -> HostOffer:
        answer = {
            "type": "object",
            "properties": {
                "rows": {
                    "type": "array",
                    "items": {"type": "object", "properties": {field: {"type": "integer"}}},
                }
            },
        }
        takes = {"type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"]}
        tool = HostTool(name="query", call=call, input_schema=takes, output_schema=answer)
        return HostOffer(tools=[tool, HostTool(name="other", call=call)])

    with InterpreterStack("quickjs", ["ptc"], check="types") as stack:
        session = stack.session("one")
        session.bind(offer("id"))
        assert (await session.eval("const n = 5; const {rows} = await tools.query({sql: 'a'});")).ok
        assert (await session.eval("rows[0].id; (await tools.other({})).anything")).ok
        for wrong, words in (
            ("rows[0].ids", "rows[0] has no 'ids'; it has id"),
            ("await tools.query({sql: rows})", "field 'sql' takes a string; got an array"),
        ):
            error = (await session.eval(wrong)).error
            assert error is not None
            assert error.message.startswith(NOT_RUN)
            assert error.message.endswith(words)
        session.bind(offer("key"))
        assert (await session.eval("rows[0].id")).ok  # of the variable, which is as it was
        error = (await session.eval("(await tools.query({sql: 'a'})).rows[0].id")).error
        assert error is not None
        assert error.message.endswith("has no 'id'; it has key")
    assert noted == ["called"] * 2


async def test_the_answers_of_files_are_declared(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo")
    plugins = ["console", Files(tmp_path)]
    with InterpreterStack("quickjs", plugins, check="types") as stack:
        session = stack.session("one")
        right = (
            "const text = await files.read('a.txt'), lines = await files.readLines('a.txt');\n"
            "const [entry] = await files.list();\n"
            "[text.length, lines[0].length, entry.name, (await files.stat('a.txt')).size]"
        )
        assert (await session.eval(right)).text == '[7, 3, "a.txt", 7]'
        for wrong, words in (
            ("files.read('a.txt').length", "; write (await files.read(…)).length"),
            ("text.lenght", "text is a string; it has no 'lenght'; did you mean length?"),
            ("lines[0].trimm()", "lines[0] is a string; it has no 'trimm'; did you mean trim?"),
            ("entry.nam", "entry has no 'nam'; it has "),
            ("(await files.glob('*'))[0].name", " is a string; it has no 'name'"),
        ):
            error = (await session.eval(wrong)).error
            assert error is not None, wrong
            assert error.message.startswith(NOT_RUN)
            assert words in error.message


HOSTILE = {
    "deep types": "let a = 1;" + "a = [a, [a]]; const b = () => b; b()()();" * 300,
    "objects in objects": f"const o = {'{a: ' * 800}1{'}' * 800}; o.a.b",
    "arrays in arrays": f"const l = {'[' * 2000}{']' * 2000}; l.x",
    "a long chain": "const s = ''" + ".trim()" * 5000,
    "many unions": "const u = [" + ",".join(f"{{k{n}: {n}}}" for n in range(3000)) + "]; u[0].x",
    "functions in functions": "const f = " + "(x) => " * 3000 + "x; f(1)",
    "many names": ";".join(f"name{n}" for n in range(6000)),
    "a growing generic": "const g = (x) => [x, x, x, x];\nconst v0 = 1;\n"
    + "".join(f"const v{n + 1} = g(v{n});\n" for n in range(200)),
    "operators": "1" + " + 1" * 15_000,
    "brackets": "(" * 20_000,
    "templates": "`${" * 4000 + "1" + "}`" * 4000,
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_cell_costs_a_bounded_time(session: Session, name: str) -> None:
    await session.eval("const x = 1")  # starts the checker
    begun, own = time.perf_counter(), time.thread_time()
    outcome = await session.eval(HOSTILE[name])
    assert time.thread_time() - own < 0.5  # the event loop's own
    assert time.perf_counter() - begun < 30
    if outcome.error is not None:
        assert len(outcome.error.message) < 20_000
    assert (await session.eval("const y = x + 1; y")).text == "2"
    error = (await session.eval("const z = 1; z.lenght")).error
    assert error is not None
    assert error.message.startswith(NOT_RUN)


async def test_a_cell_that_is_not_checked_runs_with_a_notice(session: Session) -> None:
    large = f"const text2 = '{'x' * 70_000}'; text2.length"
    outcome = await session.eval(large)
    assert outcome.text == "70000"
    assert outcome.notices == (
        "The types of this cell were not checked: it has more than 65,536 characters.",
    )
    assert (await session.eval("text2.x; hits")).error is not None  # of the second name alone
    assert (await session.eval("text2.length.x")).ok


async def test_a_check_that_takes_too_long_ends_and_the_next_one_is_made(
    monkeypatch: pytest.MonkeyPatch, session: Session
) -> None:
    service = CheckerService(check_seconds=0.001)
    monkeypatch.setattr("interpstack_javascript.types.check.checker", lambda: service)
    many = ";".join(f"const v{n} = [{n}].map((x) => x + 1)" for n in range(500))
    outcome = await session.eval(f"{many}; 'ran'")
    assert outcome.text == "ran"
    assert outcome.notices == (
        "The types of this cell were not checked: it took more than 0.001 seconds.",
    )
    assert service.pid is None
    service.close()


def test_the_process_starts_again_when_it_has_ended() -> None:
    service = CheckerService()
    request = {"declarations": "", "variables": {}, "cell": "[1].lenght", "added": []}
    assert len(service.ask(request)["faults"]) == 1
    first = service.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    while service.pid == first:  # until the death is seen
        with contextlib.suppress(CheckerSilent):
            service.ask(request)
    assert len(service.ask(request)["faults"]) == 1
    assert service.pid not in (None, first)
    service.close()
    assert service.pid is None


def test_an_idle_process_ends_and_starts_again() -> None:
    service = CheckerService(idle_seconds=0.2)
    request = {"declarations": "", "variables": {}, "cell": "1", "added": []}
    service.ask(request)
    deadline = time.monotonic() + 30
    while service.pid is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert service.pid is None
    assert service.ask(request)["faults"] == []
    service.close()


async def test_one_process_checks_the_cells_of_all_sessions(noted: list[str]) -> None:
    bridges = typed_bridges(noted)
    with InterpreterStack("quickjs", bridges=bridges, check="types") as stack:
        sessions = [stack.session(f"{n}") for n in range(6)]
        await asyncio.gather(*(one.eval(f"var own = {n}") for n, one in enumerate(sessions)))
        process = checker().pid
        outcomes = await asyncio.gather(*(one.eval("own.lenght") for one in sessions))
        assert all(one.error is not None for one in outcomes)
        assert checker().pid == process


@pytest.mark.parametrize("wrong", ["type", "", None, True])
def test_other_values_are_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="check takes 'names', 'types' or 'off'; got"):
        InterpreterStack(check=wrong)


def test_without_the_extra_the_stack_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_runtime, "find_spec", lambda name: None)
    monkeypatch.setattr(node_runtime.shutil, "which", lambda name: None)
    monkeypatch.delenv(node_runtime.VARIABLE, raising=False)
    with pytest.raises(ConfigurationError, match=r"pip install 'interpstack\[check\]'"):
        InterpreterStack(bridges=[own_words], check="types")
    assert [one[:2] for one in checks()] == [("check of types", "absent")]
    InterpreterStack(bridges=[own_words])


@bridge("own.words")
def own_words(text: str) -> str:
    return text


def test_doctor_names_the_check() -> None:
    ((name, verdict, found, fix),) = checks()
    assert (name, verdict, fix) == ("check of types", "ok", "")
    assert found.startswith("TypeScript on Node ")


async def test_monty_keeps_its_own_check() -> None:
    with InterpreterStack("monty", ["ptc"], bridges=[own_words], check="types") as stack:
        outcome = await stack.session("one").eval("own.words(text='a')")
    assert outcome.text == "a"
