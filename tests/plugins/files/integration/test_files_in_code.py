"""Code that works on files, on the engines of every language."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from engines import OnEngine
from guests import GuestCode
from memory_files import MemoryFiles

from interpstack import ConfigurationError, HostOffer, InterpreterStack, Session
from interpstack_files.api import FileLimits, Files

MakeSession = Callable[[Files], Session]


@pytest.mark.engines("all")
async def test_a_table_of_3001_lines_is_read_whole(
    make_session: MakeSession, on_engine: OnEngine, directory: Path
) -> None:
    rows = ["id,name", *(f"{number},name {number}" for number in range(3000))]
    (directory / "big.csv").write_text("\n".join(rows) + "\n")
    session = make_session(Files(directory))
    python = on_engine.language == "python"
    count = "len({})" if python else "({}).length"
    lines = "read_lines" if python else "readLines"
    text = (directory / "big.csv").read_text()
    for source, expected in (
        (count.format("await files.read('big.csv')"), str(len(text))),
        (count.format(f"await files.{lines}('/big.csv')"), "3001"),
        (f"(await files.{lines}('/big.csv'))[3000]", "2999,name 2999"),
    ):
        outcome = await session.eval(source)
        assert (outcome.text, outcome.error) == (expected, None)


@pytest.mark.engines("all")
async def test_code_writes_and_reads(
    make_session: MakeSession, on_engine: OnEngine, directory: Path
) -> None:
    session = make_session(Files(directory, mode="read-write"))
    every = "all=True" if on_engine.language == "python" else "{all: true}"
    for statement in (
        "await files.write('notes/a.txt', 'one two one')",
        "await files.append('notes/a.txt', ' four')",
        f"await files.edit('notes/a.txt', 'one', 'three', {every})",
    ):
        assert (await session.eval(statement)).error is None
    assert (directory / "notes" / "a.txt").read_text() == "three two three four"
    assert (await session.eval("await files.glob('*.txt', 'notes')")).text.count("/notes/a.txt")
    assert (await session.eval("await files.delete('notes/a.txt')")).error is None
    assert not (directory / "notes" / "a.txt").exists()


@pytest.mark.engines("javascript")
async def test_javascript_passes_bytes_options_and_methods_of_lists(
    make_session: MakeSession,
) -> None:
    source = MemoryFiles()
    session = make_session(Files(source, mode="read-write"))
    for cell, expected in (
        (
            "const b = await files.readBytes('data/blob.bin'); b.constructor.name + b.length",
            "Uint8Array3",
        ),
        ("await files.write('/copy', b); (await files.readBytes('/copy')).join()", "255,254,0"),
        ("(await files.readLines('/data/sales.csv', {from: 2})).join('|')", "Oslo,1|Bergen,2"),
        ("(await files.readLines('/data/sales.csv', {to: 1})).join('|')", "city,sum"),
        ("(await Promise.all(['/readme.md', '/empty'].map(files.read))).join('|')", "# Title\n|"),
        ("(await Promise.all(Array.from(['/empty'], files.read))).length", 1),
        ("(await files.list()).map((one) => one.name).join()", ".hidden,copy,data,empty,readme.md"),
        ("(await files.list('/data')).find((one) => one.type === 'folder').path", "/data/deep"),
        ("(await files.stat('readme.md')).size", 8),
        ("(await files.read({path: '/readme.md'})).length", 8),
    ):
        outcome = await session.eval(cell)
        assert (outcome.text, outcome.error) == (str(expected), None)


@pytest.mark.engines("all")
async def test_errors_say_what_was_wrong_and_what_to_do(
    make_session: MakeSession, on_engine: OnEngine, directory: Path
) -> None:
    (directory / "wide").mkdir()
    for number in range(6):
        (directory / "wide" / f"{number}.txt").touch()
    limits = FileLimits(file_bytes=20, entries=5)
    session = make_session(Files(directory, mode="read-write", limits=limits))
    python = on_engine.language == "python"
    lines = "read_lines" if python else "readLines"
    for call, said in (
        ("read('/data/sale.csv')", "no such file or folder; did you mean '/data/sales.csv'?"),
        ("read('/dat/sales.csv')", "did you mean '/data'?"),
        (
            "read('/zzz')",
            "'/' has no 'zzz'; it has '.hidden', 'data', 'empty', 'readme.md', 'wide'",
        ),
        ("read('/data')", "files.read('/data'): it is a folder; files.list shows what is in it"),
        ("read('/data/blob.bin')", "it is not text in UTF-8; use files."),
        ("read('/data/sales.csv')", "26 bytes; FileLimits.file_bytes allows 20 bytes; read a part"),
        (
            "write('/new', 'x' * 21)" if python else "write('/new', 'x'.repeat(21))",
            "allows 20 bytes",
        ),
        ("list('/wide')", "FileLimits.entries allows 5 entries; use a folder further down"),
        ("read('../secret')", "files.read: the path '../secret' has '..'; write the path from the"),
        ("read('/a\\0b')", "has a character NUL"),
        (f"read('/{'x' * 300}')", "a name in a path has at most 255 bytes"),
        (f"read('/{'x/' * 3000}')", "a path has at most 4096 characters; this one has 6001"),
        ("read(7)", "files.read: a path is a string such as '/data/sales.csv'; got 7"),
        ("read()", "files.read needs path; call it as files.read(path)"),
        ("read('/a', '/b')", "files.read takes at most 1 arguments"),
        (f"{lines}('/data/sales.csv', 0)", "a line is a whole number from 1; got 0"),
        ("write('/new', 5)", "the content is text or bytes; turn another value into text first"),
        ("edit('/readme.md', 'x', 'y')", "the old text is not in it"),
        ("edit('/readme.md', '', 'y')", "the old text is empty; to add text at the end, use"),
        ("glob('../*')", "a pattern has no '..'"),
        ("delete('/data')", "the folder is not empty"),
    ):
        outcome = await session.eval(f"await files.{call}")
        assert outcome.error is not None, call
        assert said in outcome.error.message, call


@pytest.mark.engines("javascript")
async def test_code_can_tell_errors_apart(make_session: MakeSession, directory: Path) -> None:
    session = make_session(Files(directory))
    cell = "await files.read('/none').catch((e) => [e.name, e.code, e.path].join())"
    assert (await session.eval(cell)).text == "FileError,ENOENT,/none"
    cell = "await files.read('\\ud800').catch((e) => e.message)"
    assert "is not well-formed text" in (await session.eval(cell)).text
    cell = "await files.write('/a', 'b').catch((e) => e.code)"
    assert (await session.eval(cell)).text == "EROFS"


@pytest.mark.engines("all")
async def test_files_are_read_only_unless_the_host_says_otherwise(
    make_session: MakeSession, directory: Path
) -> None:
    session = make_session(Files(directory))
    for call in ("write('/a', 'b')", "append('/a', 'b')", "edit('/readme.md', '#', '')"):
        outcome = await session.eval(f"await files.{call}")
        assert outcome.error is not None
        assert "nothing was written, since code may only read these files" in outcome.error.message
    assert (await session.eval("await files.delete('/readme.md')")).error is not None
    assert (directory / "readme.md").read_text() == "# Title\n"
    assert "await files.read(path)" in session.stack.prompt()
    assert session.stack.prompt().endswith("list, glob, stat.")


async def test_changes_stay_in_the_overlay(make_session: MakeSession, directory: Path) -> None:
    files = Files(directory, mode="overlay")
    session = make_session(files)
    cell = "await files.edit('/readme.md', 'Title', 'Name'); await files.read('/readme.md')"
    assert (await session.eval(cell)).text == "# Name\n"
    assert (directory / "readme.md").read_text() == "# Title\n"
    assert files.overlay is not None
    assert "-# Title\n+# Name\n" in files.overlay.diff()
    assert await files.overlay.apply() == ("/readme.md",)
    assert (directory / "readme.md").read_text() == "# Name\n"


async def test_a_part_of_the_offer_gives_files_to_one_session(directory: Path) -> None:
    with InterpreterStack(plugins=["files"]) as stack:
        one, other = stack.session("one"), stack.session("other")
        one.bind(HostOffer(parts=[Files(directory)]))
        assert (await one.eval("await files.read('/readme.md')")).text == "# Title\n"
        assert (await other.eval("typeof files")).text == "undefined"
        assert (await other.eval("const files = 5; files")).text == "5"


@pytest.mark.engines("all")
def test_the_prompt_grows_by_at_most_250_characters(on_engine: OnEngine, directory: Path) -> None:
    with InterpreterStack(on_engine.name, []) as plain:
        before = len(plain.prompt())
    with InterpreterStack(on_engine.name, [Files(directory, mode="read-write")]) as stack:
        assert len(stack.prompt()) - before <= 250


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": 5}, "Files takes the path of a directory, or a FileSource"),
        ({"source": "none"}, "there is no directory 'none'"),
        ({"mode": "write"}, "mode takes one of 'read-only', 'read-write', 'overlay'; got 'write'"),
        ({"limits": 5}, "limits takes FileLimits"),
    ],
)
def test_wrong_arguments_are_refused(
    directory: Path, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Files(**{"source": directory, **arguments})  # type: ignore[arg-type]


async def test_a_defect_of_a_source_is_an_error_of_the_call(make_session: MakeSession) -> None:
    class Broken(MemoryFiles):
        async def read(self, path: str, limits: FileLimits) -> bytes:
            raise RuntimeError("broken")

    outcome = await make_session(Files(Broken())).eval("await files.read('/readme.md')")
    assert outcome.error is not None
    assert outcome.error.message == "broken"


@pytest.mark.engines("all")
async def test_json_goes_out_and_comes_back(
    make_session: MakeSession, on_engine: OnEngine, guest: GuestCode, directory: Path
) -> None:
    given = json.dumps({"æ": [1, None]}, ensure_ascii=False)
    session = make_session(Files(directory, mode="read-write"))
    write = f"await files.write('/a.json', {guest.value(given)})"
    outcome = await session.eval(guest.cell(write, "await files.read('/a.json')"))
    assert outcome.text == given
    assert (directory / "a.json").read_text("utf-8") == given
