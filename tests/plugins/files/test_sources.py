"""The contract of sources of files, over each of them."""

from __future__ import annotations

import asyncio

import pytest

from interpstack_files.api import FileLimitExceeded, FileLimits, FileSource, Pattern

LIMITS = FileLimits()


async def test_content_is_read_as_it_is(source: FileSource) -> None:
    assert await source.read("/data/sales.csv", LIMITS) == b"city,sum\r\nOslo,1\r\nBergen,2"
    assert await source.read("/data/blob.bin", LIMITS) == b"\xff\xfe\x00"
    assert await source.read("/empty", LIMITS) == b""


@pytest.mark.parametrize(
    ("path", "first", "last", "expected"),
    [
        ("/data/sales.csv", 1, None, ["city,sum", "Oslo,1", "Bergen,2"]),
        ("/data/sales.csv", 2, 2, ["Oslo,1"]),
        ("/data/sales.csv", 3, 9, ["Bergen,2"]),
        ("/data/sales.csv", 4, None, []),
        ("/data/deep/er/notes.txt", 1, None, ["æøå", "", "last"]),
        ("/empty", 1, None, []),
    ],
)
async def test_lines_have_no_ends(
    source: FileSource, path: str, first: int, last: int | None, expected: list[str]
) -> None:
    assert list(await source.read_lines(path, first, last, LIMITS)) == expected


async def test_a_folder_lists_its_entries(source: FileSource) -> None:
    found = {one.path: one for one in await source.entries("/data", LIMITS)}
    assert sorted(found) == ["/data/blob.bin", "/data/deep", "/data/sales.csv"]
    assert found["/data/sales.csv"].type == "file"
    assert found["/data/sales.csv"].size == 26
    assert found["/data/deep"].type == "folder"
    assert "/.hidden" in {one.path for one in await source.entries("/", LIMITS)}


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.csv", "/", ["/data/sales.csv"]),
        ("*.{csv,md}", "/", ["/data/sales.csv", "/readme.md"]),
        ("data/*", "/", ["/data/blob.bin", "/data/sales.csv"]),
        ("/*", "/", ["/empty", "/readme.md"]),
        ("**/*.txt", "/", ["/data/deep/er/notes.txt"]),
        ("*.txt", "/", ["/.hidden/secret.txt", "/data/deep/er/notes.txt"]),
        (".hidden/*", "/", ["/.hidden/secret.txt"]),
        ("**", "/data", ["/data/blob.bin", "/data/deep/er/notes.txt", "/data/sales.csv"]),
        ("er/*", "/data/deep", ["/data/deep/er/notes.txt"]),
        ("none*", "/", []),
    ],
)
async def test_a_pattern_finds_files_below_a_folder(
    source: FileSource, pattern: str, path: str, expected: list[str]
) -> None:
    assert list(await source.glob(Pattern(pattern), path, LIMITS)) == expected


async def test_files_and_folders_are_described(source: FileSource) -> None:
    about = await source.stat("/readme.md")
    assert (about.path, about.type, about.size) == ("/readme.md", "file", 8)
    assert (await source.stat("/data/deep")).type == "folder"
    assert (await source.stat("/")).type == "folder"


async def test_what_is_written_is_read(source: FileSource) -> None:
    await source.write("/new/one.txt", b"first", LIMITS)
    await source.append("/new/one.txt", b" second", LIMITS)
    await source.append("/new/two.txt", b"two", LIMITS)
    assert await source.read("/new/one.txt", LIMITS) == b"first second"
    assert list(await source.glob(Pattern("new/*"), "/", LIMITS)) == [
        "/new/one.txt",
        "/new/two.txt",
    ]
    await source.write("/new/one.txt", b"again", LIMITS)
    assert await source.read_lines("/new/one.txt", 1, None, LIMITS) == ["again"]
    assert (await source.stat("/new/one.txt")).size == 5


async def test_an_edit_replaces_the_one_place_or_every_place(source: FileSource) -> None:
    assert await source.edit("/readme.md", "Title", "Ærlig", False, LIMITS) == 1
    assert await source.read("/readme.md", LIMITS) == "# Ærlig\n".encode()
    await source.write("/many", b"a b a", LIMITS)
    with pytest.raises(ValueError, match="is in it 2 times"):
        await source.edit("/many", "a", "c", False, LIMITS)
    with pytest.raises(ValueError, match="the old text is not in it"):
        await source.edit("/many", "x", "c", False, LIMITS)
    assert await source.edit("/many", "a", "c", True, LIMITS) == 2
    assert await source.read("/many", LIMITS) == b"c b c"


async def test_a_deleted_file_is_gone(source: FileSource) -> None:
    await source.delete("/data/sales.csv", LIMITS)
    with pytest.raises(FileNotFoundError):
        await source.read("/data/sales.csv", LIMITS)
    with pytest.raises(FileNotFoundError):
        await source.stat("/data/sales.csv")
    assert list(await source.glob(Pattern("*.csv"), "/", LIMITS)) == []
    await source.write("/data/sales.csv", b"back", LIMITS)
    assert await source.read("/data/sales.csv", LIMITS) == b"back"


async def test_what_is_not_there_is_an_error(source: FileSource) -> None:
    for call in (
        source.read("/none", LIMITS),
        source.read("/data/none", LIMITS),
        source.read_lines("/none", 1, None, LIMITS),
        source.stat("/none"),
        source.entries("/none", LIMITS),
        source.glob(Pattern("*"), "/none", LIMITS),
        source.edit("/none", "a", "b", False, LIMITS),
        source.delete("/none", LIMITS),
    ):
        with pytest.raises(FileNotFoundError):
            await call


async def test_a_folder_is_no_file_and_a_file_no_folder(source: FileSource) -> None:
    for call in (
        source.read("/data", LIMITS),
        source.write("/data", b"", LIMITS),
        source.append("/data", b"", LIMITS),
    ):
        with pytest.raises(IsADirectoryError):
            await call
    with pytest.raises(NotADirectoryError):
        await source.entries("/readme.md", LIMITS)


@pytest.mark.parametrize(
    ("limits", "limit"),
    [({"file_bytes": 20}, "file_bytes"), ({"entries": 2}, "entries"), ({"visited": 3}, "visited")],
)
async def test_limits_hold(source: FileSource, limits: dict[str, int], limit: str) -> None:
    small = FileLimits(**limits)
    with pytest.raises(FileLimitExceeded) as raised:
        await asyncio.gather(
            source.append("/data/sales.csv", b"1234", small),
            source.glob(Pattern("*"), "/", small),
        )
    assert raised.value.limit == limit


async def test_edits_side_by_side_do_not_undo_each_other(source: FileSource) -> None:
    await source.write("/many", b" ".join(b"<%d>" % n for n in range(20)), LIMITS)
    edits = (source.edit("/many", f"<{n}>", f"[{n}]", False, LIMITS) for n in range(20))
    assert await asyncio.gather(*edits) == [1] * 20
    assert b"<" not in await source.read("/many", LIMITS)
    await asyncio.gather(*(source.append("/log", b"line\n", LIMITS) for _ in range(20)))
    assert await source.read("/log", LIMITS) == b"line\n" * 20


async def test_what_is_appended_beside_an_edit_is_kept(source: FileSource) -> None:
    await source.write("/both", b"first\n" + b"filler\n" * 50_000, LIMITS)
    changes = [source.append("/both", b"new\n", LIMITS) for _ in range(10)]
    await asyncio.gather(source.edit("/both", "first", "begun", False, LIMITS), *changes)
    data = await source.read("/both", LIMITS)
    assert (data.count(b"begun"), data.count(b"new")) == (1, 10)
