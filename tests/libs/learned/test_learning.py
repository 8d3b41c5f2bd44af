"""Tools show what earlier answers were like, and new answers are learned from."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from interpstack import (
    ConfigurationError,
    HostOffer,
    HostTool,
    InterpreterStack,
    LearnedSchema,
)
from interpstack_learned import (
    LearnedTypes,
    NotAnAnswer,
    learned_types,
    read_reviewed,
    read_types,
    reviewed_text,
    version_of,
)
from interpstack_state import MemoryStore, SQLiteStore, StoreUnavailable


def tool(*answers: Any, name: str = "search", **options: Any) -> HostTool:
    """A tool that gives these answers in turn; exceptions are raised."""
    left = list(answers)

    async def call(given: Mapping[str, Any], context: Any) -> Any:
        answer = left.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return HostTool(name=name, call=call, **options)


async def call(one: HostTool) -> Any:
    return await one.call({}, None)  # type: ignore[arg-type]


async def learn(types: LearnedTypes, *answers: Any, **options: Any) -> None:
    """Make the calls of a tool with these answers."""
    made = types.tool(tool(*answers, **options))
    for _ in answers:
        await call(made)


def signature(types: LearnedTypes, one: HostTool, engine: str = "quickjs") -> str:
    with InterpreterStack(engine, ["ptc"]) as stack:
        return stack.language.signature(one.name, types.tool(one))


ROWS = [{"hits": [{"title": "a", "score": 1.5}]}, {"hits": []}, {"hits": [{"title": "b"}]}]


async def test_a_signature_shows_what_was_learned_and_how_often() -> None:
    store = MemoryStore()
    await learn(LearnedTypes(store), *ROWS)
    shown = signature(LearnedTypes(store), tool())
    assert shown == "search(): Promise<{ hits: { title: string }[] }> // seen 3 times"


async def test_python_signatures_show_it_too() -> None:
    pytest.importorskip("pydantic_monty")
    store = MemoryStore()
    await learn(LearnedTypes(store), *ROWS, description="Finds.")
    assert signature(LearnedTypes(store), tool(description="Finds."), "monty").splitlines() == [
        "class SearchAnswerHits(TypedDict):",
        "    title: str",
        "class SearchAnswer(TypedDict):",
        "    hits: list[SearchAnswerHits]",
        "async def search() -> SearchAnswer:  # seen 3 times",
        '    """Finds."""',
    ]


async def test_the_check_of_python_cells_does_not_use_it() -> None:
    """Monty checks calls by declarations; a type that was learned must refuse no right cell."""
    pytest.importorskip("pydantic_monty")
    store = MemoryStore()
    await learn(LearnedTypes(store), {"total": 1}, {"total": 2})
    types = LearnedTypes(store)
    offer = HostOffer(tools=types.tools([tool({"other": "here", "total": "none"})]))
    with InterpreterStack("monty", ["ptc"]) as stack:
        session = stack.session("a")
        session.bind(offer)
        outcome = await session.eval("r = await tools.search()\nr['other'] + r['total']")
        assert outcome.text == "herenone"
        assert "total: int" in stack.prompt(offer)


async def test_the_check_of_names_does_not_use_it() -> None:
    store = MemoryStore()
    await learn(LearnedTypes(store), {"total": 1}, {"total": 2})
    types = LearnedTypes(store)
    with InterpreterStack("quickjs", ["ptc"]) as stack:
        session = stack.session("a")
        session.bind(HostOffer(tools=types.tools([tool({"other": {"deep": 5}})])))
        assert (await session.eval("(await tools.search()).other.deep")).text == "5"


async def test_signatures_stay_the_same_until_they_are_refreshed() -> None:
    store = MemoryStore()
    types = LearnedTypes(store)
    one = tool({"a": 1}, {"a": 2}, {"a": 3})
    made = types.tool(one)
    await call(made)
    await call(made)
    other = tool()  # as an agent that is made for each request has it
    assert types.tool(one) is made
    assert made.learned is None
    assert types.tool(other).learned is None
    types.refresh()
    assert types.tool(other).learned == LearnedSchema(
        schema={"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        seen=2,
    )
    assert made.learned is None  # an agent keeps what it has
    await call(made)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "object", "properties": {"a": {}}},
        {"type": "array", "items": {"type": "integer"}},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "additionalProperties": False},
        {"anyOf": [{"type": "object"}, {"type": "null"}]},
        {"$ref": "#/$defs/A"},
    ],
)
async def test_a_tool_that_declares_its_answers_is_left_alone(schema: Any) -> None:
    one = tool(1, output_schema=schema)
    assert LearnedTypes(MemoryStore()).tool(one) is one


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {},
        {"type": "object"},
        {"type": "object", "additionalProperties": True, "title": "Answer"},
        {"type": "array", "items": {"type": "object", "additionalProperties": True}},
    ],
)
async def test_a_declaration_that_says_nothing_is_replaced(schema: Any) -> None:
    store = MemoryStore()
    await learn(LearnedTypes(store), [{"a": 1}], [{"a": 2}], output_schema=schema)
    shown = signature(LearnedTypes(store), tool(output_schema=schema))
    assert shown == "search(): Promise<{ a: number }[]> // seen 2 times"


async def test_another_version_of_a_tool_begins_anew() -> None:
    store = MemoryStore()
    await learn(LearnedTypes(store), 1, 2, description="Counts.")
    assert LearnedTypes(store).tool(tool(description="Counts words.")).learned is None


async def test_nothing_is_learned_from_failures_and_from_other_texts() -> None:
    store = MemoryStore()
    types = LearnedTypes(store)
    made = types.tool(tool(ValueError("no"), NotAnAnswer("decided by a person"), {"a": 1}))
    with pytest.raises(ValueError, match="no"):
        await call(made)
    assert await call(made) == "decided by a person"
    types.save()
    assert len(read_types(store)) == 0
    assert await call(made) == {"a": 1}
    types.save()
    assert [one.shape.seen for one in read_types(store)] == [1]


async def test_answers_reach_code_as_they_are() -> None:
    answer = {"a@b.org": [object()]}
    assert await call(LearnedTypes(MemoryStore()).tool(tool(answer))) is answer


async def test_an_answer_that_changes_meanwhile_does_no_harm() -> None:
    types = LearnedTypes(MemoryStore())
    shared: dict[str, Any] = {}
    ended = threading.Event()

    def change() -> None:
        while not ended.is_set():
            shared.update({f"key_{chr(97 + n)}": n for n in range(26)})
            shared.clear()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        made = types.tool(tool(*[shared] * 2000))
        for _ in range(2000):
            assert await call(made) is shared
    finally:
        ended.set()
        thread.join()


async def test_what_is_learned_is_written_in_a_thread_and_not_with_each_answer(
    tmp_path: Path,
) -> None:
    threads: list[int] = []
    written = threading.Event()

    class Counting(SQLiteStore):
        def save(self, *args: Any, **options: Any) -> None:
            threads.append(threading.get_ident())
            super().save(*args, **options)
            written.set()

    with Counting(tmp_path / "types.db") as store:
        types = LearnedTypes(store)
        await learn(types, *range(100))
        assert await asyncio.to_thread(written.wait, 10)
        types.save()
        assert threading.get_ident() != threads[0]
        assert len(threads) <= 2
        assert [one.shape.seen for one in read_types(store)] == [100]


async def test_a_store_that_fails_loses_nothing_and_stops_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(MemoryStore):
        broken = True

        def claim(self, *args: Any) -> bytes | None:
            if self.broken:
                raise StoreUnavailable("no disk")
            return super().claim(*args)

        def read(self, key: str) -> Any:
            if self.broken:
                raise StoreUnavailable("no disk")
            return super().read(key)

    store = Broken()
    types = LearnedTypes(store)
    await learn(types, 1, 2)
    types.save()
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [
        "learned types cannot be read: no disk",
        "learned types were not stored, and are kept in memory: no disk",
    ]
    store.broken = False
    await learn(types, 3)
    types.save()
    assert [one.shape.seen for one in read_types(store)] == [3]


@pytest.mark.parametrize("data", [b"pickled", b'{"form":"of a later release"}'])
async def test_a_foreign_form_is_a_notice_and_stays(
    data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore()
    store.claim("learned types", "other", 1)
    store.save("learned types", "other", data, 0)
    types = LearnedTypes(store)
    assert types.tool(tool()).learned is None
    assert await call(types.tool(tool("a"))) == "a"
    types.save()
    assert "interpstack types forget --all" in caplog.text
    kept = store.read("learned types")
    assert kept is not None
    assert kept.data == data


def test_what_was_learned_is_written_when_the_process_ends(tmp_path: Path) -> None:
    program = """
import asyncio, sys
from interpstack import HostTool
from interpstack_learned import LearnedTypes

async def call(given, context):
    return {"a": 1}

async def main():
    types = LearnedTypes(sys.argv[1])
    tool = types.tool(HostTool(name="search", call=call))
    for _ in range(10):
        await tool.call({}, None)
    sys.modules["keep"] = types

asyncio.run(main())
"""
    path = tmp_path / "types.db"
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    types = LearnedTypes(str(path))
    learned = types.tool(tool()).learned
    types.close()
    assert learned is not None
    assert learned.seen == 10


async def test_learned_types_that_are_let_go_write_what_they_have() -> None:
    store = MemoryStore()
    types = LearnedTypes(store)
    await learn(types, 1, 2, 3)
    del types
    gc.collect()
    assert [one.shape.seen for one in read_types(store)] == [3]


async def test_tools_are_let_go() -> None:
    types = LearnedTypes(MemoryStore())
    made = [types.tool(tool()) for _ in range(10)]
    del made
    gc.collect()
    assert len(types._made) == 0


async def test_a_large_type_is_shown_in_part() -> None:
    letters = "abcdefgh"
    wide = {f"a_long_name_of_a_field_{a}{b}": 1 for a in letters for b in letters}
    deep = {f"field_{a}": {f"part_{b}": {"value": 1} for b in letters} for a in letters}
    for answer, note in ((wide, "seen 2 times, there are more fields"), (deep, "seen 2 times")):
        store = MemoryStore()
        await learn(LearnedTypes(store), answer, answer)
        shown = signature(LearnedTypes(store), tool())
        assert next(iter(answer)) in shown
        assert shown.endswith(f" // {note}")
        assert len(shown) < 1500


async def test_signatures_that_do_not_fit_lose_their_learned_types_first() -> None:
    store = MemoryStore()
    wide = {f"field_{a}{b}": 1 for a in "abcdefgh" for b in "abcdefgh"}
    names = [f"tool{letter}" for letter in "abcdefgh"]
    for name in names:
        await learn(LearnedTypes(store), wide, wide, name=name)
    types = LearnedTypes(store)
    with InterpreterStack("quickjs", ["ptc"]) as stack:
        prompt = stack.prompt(HostOffer(tools=types.tools([tool(name=name) for name in names])))
    assert "toola(): Promise<unknown>\n" in prompt
    assert "There are too many to show" not in prompt


# -- reviewed files ----------------------------------------------------------------------------


async def reviewed(tmp_path: Path, **changes: Any) -> Path:
    """A file of what was learned of a tool, with changes by a reviewer."""
    store = MemoryStore()
    types = LearnedTypes(store)
    await learn(types, {"a": 1}, {"a": 2})
    types.save()
    form = json.loads(reviewed_text(read_types(store)))
    form["types"][0].update(changes)
    path = tmp_path / "types.json"
    path.write_text(json.dumps(form), "utf-8")
    return path


async def test_a_reviewed_type_is_used_as_it_is(tmp_path: Path) -> None:
    path = await reviewed(tmp_path, answer={"type": "string"})
    store = MemoryStore()
    await learn(LearnedTypes(store), *range(9))
    for types in (LearnedTypes(types=path), LearnedTypes(store, types=str(path))):
        assert signature(types, tool()) == "search(): Promise<string> // seen 2 times"
    one, types = tool(1), LearnedTypes(types=path)
    assert types.tool(one) is types.tool(one)
    assert await call(types.tool(one)) == 1  # and nothing is learned


async def test_a_reviewed_type_without_a_count_has_no_comment(tmp_path: Path) -> None:
    path = await reviewed(tmp_path, seen=None)
    assert signature(LearnedTypes(types=path), tool()) == "search(): Promise<{ a: number }>"


async def test_a_type_of_another_version_is_a_notice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    types = LearnedTypes(types=await reviewed(tmp_path))
    other = tool(description="Another one.")
    assert types.tool(other).learned is None
    assert types.tool(tool(description="Another one.")).learned is None
    assert caplog.text.count(f"is not used for version {version_of(other)}") == 1
    caplog.clear()
    types = LearnedTypes(types=await reviewed(tmp_path, version=None))
    with caplog.at_level(logging.INFO):
        assert types.tool(other).learned is not None
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tool": ""}, "tool and version of a type in .* are texts"),
        ({"version": 1}, "tool and version of a type in .* are texts"),
        ({"answer": None}, "schema takes a mapping"),
        ({"seen": -1}, "seen takes a whole number"),
        ({"seen": True}, "seen takes a whole number"),
        ({"types": 1}, "has the keys tool, version, seen and answer"),
    ],
)
async def test_a_wrong_file_is_refused(tmp_path: Path, changes: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        LearnedTypes(types=await reviewed(tmp_path, **changes))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("{}", "is not a file of types"),
        ('{"form": "interpstack reviewed types 1", "types": 1}', "is not a file of types"),
        ('{"form": "interpstack reviewed types 1", "types": [1]}', "has the keys"),
        (" " * (2**20 + 1), "has more than"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "types.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match=message):
        read_reviewed(path)


def test_a_file_with_a_tool_twice_is_refused(tmp_path: Path) -> None:
    row = {"tool": "search", "answer": {}}
    path = tmp_path / "types.json"
    path.write_text(json.dumps({"form": "interpstack reviewed types 1", "types": [row, row]}))
    with pytest.raises(ConfigurationError, match="has the tool 'search' twice"):
        read_reviewed(path)


# -- the option of adapters --------------------------------------------------------------------


def test_the_option_shares_the_types_of_a_store(tmp_path: Path) -> None:
    url = str(tmp_path / "types.db")
    made = learned_types(url)
    assert made is not None
    assert learned_types(url) is made
    assert learned_types(made) is made
    assert learned_types(False) is None
    assert learned_types(None) is None
    made.close()


def test_true_is_the_store_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INTERPSTACK_TYPES", raising=False)
    with pytest.raises(ConfigurationError, match="the URL of a store in INTERPSTACK_TYPES"):
        learned_types(True)
    monkeypatch.setenv("INTERPSTACK_TYPES", str(tmp_path / "types.db"))
    made = learned_types(True)
    assert made is learned_types(str(tmp_path / "types.db"))
    assert made is not None
    made.close()


@pytest.mark.parametrize(
    "make",
    [
        lambda: learned_types(1),  # type: ignore[arg-type]
        lambda: learned_types("ftp://types"),
        lambda: LearnedTypes(),
        lambda: LearnedTypes(1),  # type: ignore[arg-type]
        lambda: LearnedTypes(types=1),  # type: ignore[arg-type]
        lambda: LearnedTypes(types="no/such/file"),
        lambda: HostTool(name="a", call=call, learned={}),  # type: ignore[arg-type]
    ],
)
def test_wrong_options_are_refused(make: Any) -> None:
    with pytest.raises(ConfigurationError):
        make()
