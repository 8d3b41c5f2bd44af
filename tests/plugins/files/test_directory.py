"""A directory as a source: links, other entries, races with other processes, and its limits."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from interpstack import ConfigurationError
from interpstack_files.api import DirectoryFiles, FileLimitExceeded, FileLimits, Pattern

LIMITS = FileLimits()


def names_in(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder outside of the source."""
    made = tmp_path / "outside"
    made.mkdir()
    (made / "secret.txt").write_text("secret")
    return made


@pytest.fixture
def source(directory: Path, outside: Path) -> DirectoryFiles:
    """A source with links to the folder outside."""
    (directory / "link.txt").symlink_to(outside / "secret.txt")
    (directory / "linked").symlink_to(outside)
    (directory / "inside").symlink_to(directory / "data")
    (directory / "nowhere").symlink_to(directory / "none")
    return DirectoryFiles(directory)


@pytest.mark.parametrize(
    "path", ["/link.txt", "/linked/secret.txt", "/inside/sales.csv", "/nowhere", "/linked"]
)
async def test_links_are_never_followed(source: DirectoryFiles, outside: Path, path: str) -> None:
    for call in (
        source.read(path, LIMITS),
        source.read_lines(path, 1, None, LIMITS),
        source.write(path, b"changed", LIMITS),
        source.append(path, b"changed", LIMITS),
        source.edit(path, "s", "t", True, LIMITS),
    ):
        with pytest.raises(PermissionError, match="symbolic link"):
            await call
    assert (outside / "secret.txt").read_text() == "secret"
    assert names_in(outside) == ["secret.txt"]


async def test_links_are_listed_and_not_searched(source: DirectoryFiles, outside: Path) -> None:
    types = {one.path: one.type for one in await source.entries("/", LIMITS)}
    assert [path for path, kind in types.items() if kind == "link"] == [
        "/inside",
        "/link.txt",
        "/linked",
        "/nowhere",
    ]
    found = await source.glob(Pattern("*.txt"), "/", LIMITS)
    assert found == ["/.hidden/secret.txt", "/data/deep/er/notes.txt"]
    for path in ("/linked", "/inside"):
        with pytest.raises(PermissionError, match="symbolic link"):
            await source.entries(path, LIMITS)
    await source.delete("/linked", LIMITS)  # the link alone
    assert (outside / "secret.txt").exists()


async def test_the_root_itself_may_be_behind_a_link(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to(directory)
    assert await DirectoryFiles(tmp_path / "other").read("/readme.md", LIMITS) == b"# Title\n"


async def test_pipes_are_not_opened(source: DirectoryFiles, directory: Path) -> None:
    os.mkfifo(directory / "pipe")
    assert (await source.stat("/pipe")).type == "other"
    for call in (source.read("/pipe", LIMITS), source.append("/pipe", b"x", LIMITS)):
        with pytest.raises(PermissionError, match="neither a file nor a folder"):
            await call


@contextmanager
def swapping(*changes: Callable[[], None]) -> Iterator[None]:
    """Another thread that makes changes in turn, again and again."""
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for change in changes:
                with suppress(OSError):
                    change()

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


async def test_a_link_that_is_put_in_the_way_leads_nowhere(directory: Path, outside: Path) -> None:
    """While another process exchanges a folder and a file for links, nothing outside is touched."""
    source = DirectoryFiles(directory)
    (directory / "a").mkdir()
    (directory / "a" / "secret.txt").write_text("inside")
    (directory / "to_folder").symlink_to(outside)
    before = names_in(outside)

    def folder_is_link() -> None:
        (directory / "a").rename(directory / "b")
        (directory / "to_folder").rename(directory / "a")

    def folder_is_folder() -> None:
        (directory / "a").rename(directory / "to_folder")
        (directory / "b").rename(directory / "a")

    seen: set[str] = set()
    with swapping(folder_is_link, folder_is_folder):
        for count in range(300):
            with suppress(OSError):
                seen.add((await source.read("/a/secret.txt", LIMITS)).decode())
            with suppress(OSError):
                await source.write("/a/secret.txt", b"inside", LIMITS)
            with suppress(OSError):
                await source.append(f"/a/{count}.txt", b"x", LIMITS)
            with suppress(OSError):
                seen |= {one.path for one in await source.entries("/a", LIMITS)}
            with suppress(OSError):
                await source.delete("/a/secret.txt", LIMITS)
    assert "secret" not in seen
    assert names_in(outside) == before
    assert (outside / "secret.txt").read_text() == "secret"


async def test_a_file_is_replaced_in_one_step(source: DirectoryFiles, directory: Path) -> None:
    file = directory / "readme.md"
    file.chmod(0o640)
    reader = file.open("rb")
    await source.write("/readme.md", b"new", LIMITS)
    with reader:
        assert reader.read() == b"# Title\n"
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o640
    assert not [name for name in names_in(directory) if name.endswith(".tmp")]


async def test_lines_of_a_large_file_are_read_without_loading_it(tmp_path: Path) -> None:
    with (tmp_path / "big.log").open("wb") as file:
        for number in range(1, 40_001):
            file.write(b"%d:%s\n" % (number, b"x" * 400))
    source, small = DirectoryFiles(tmp_path), FileLimits(file_bytes=2000)
    lines = await source.read_lines("/big.log", 30_000, 30_002, small)
    assert [line.partition(":")[0] for line in lines] == ["30000", "30001", "30002"]
    for call in (
        source.read("/big.log", small),
        source.read_lines("/big.log", 1, None, small),
        source.edit("/big.log", "1:", "2:", False, small),
    ):
        with pytest.raises(FileLimitExceeded):
            await call


async def test_a_line_is_bounded_too(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"short\n" + b"x" * 3_000_000 + b"\nlast")
    source = DirectoryFiles(tmp_path)
    assert await source.read_lines("/one", 3, 3, FileLimits(file_bytes=100)) == ["last"]
    assert len((await source.read_lines("/one", 2, 2, LIMITS))[0]) == 3_000_000
    with pytest.raises(FileLimitExceeded):
        await source.read_lines("/one", 2, 2, FileLimits(file_bytes=2_000_000))


async def test_folders_are_deleted_only_when_they_are_empty(source: DirectoryFiles) -> None:
    with pytest.raises(OSError, match="not empty"):
        await source.delete("/data", LIMITS)
    await source.delete("/data/deep/er/notes.txt", LIMITS)
    await source.delete("/data/deep/er", LIMITS)
    assert "/data/deep/er" not in {one.path for one in await source.entries("/data/deep", LIMITS)}
    with pytest.raises(PermissionError, match="the root"):
        await source.delete("/", LIMITS)


@pytest.mark.parametrize("root", ["", "none", "file"])
def test_the_directory_must_exist(tmp_path: Path, root: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="there is no directory"):
        DirectoryFiles(root and tmp_path / root)
