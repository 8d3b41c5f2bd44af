"""Changes in an overlay: their diff, and what becomes of them."""

from __future__ import annotations

import asyncio
import time
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from interpstack import ConfigurationError
from interpstack_files.api import DirectoryFiles, FileLimitExceeded, FileLimits, Overlay

LIMITS = FileLimits()


@pytest.fixture
def overlay(directory: Path) -> Overlay:
    """An overlay over the directory."""
    return Overlay(DirectoryFiles(directory))


async def changed(overlay: Overlay) -> None:
    await overlay.edit("/readme.md", "Title", "Name", False, LIMITS)
    await overlay.write("/new/file.txt", b"one\ntwo", LIMITS)
    await overlay.delete("/data/deep/er/notes.txt", LIMITS)
    await overlay.write("/data/blob.bin", b"\x00\x01", LIMITS)
    await overlay.write("/gone", b"x", LIMITS)
    await overlay.delete("/gone", LIMITS)


async def test_the_diff_shows_each_change(overlay: Overlay) -> None:
    assert overlay.diff() == ""
    await changed(overlay)
    assert overlay.diff() == (
        "Binary files a/data/blob.bin of 3 bytes and b/data/blob.bin of 2 bytes differ\n"
        "--- a/data/deep/er/notes.txt\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-æøå\n-\n-last\n"
        "--- /dev/null\n+++ b/new/file.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"
        "\\ No newline at end of file\n"
        "--- a/readme.md\n+++ b/readme.md\n@@ -1 +1 @@\n-# Title\n+# Name\n"
    )


async def test_nothing_reaches_the_source_until_it_is_applied(
    overlay: Overlay, directory: Path
) -> None:
    await changed(overlay)
    assert (directory / "readme.md").read_text() == "# Title\n"
    assert not (directory / "new").exists()
    assert await overlay.apply() == (
        "/data/blob.bin",
        "/data/deep/er/notes.txt",
        "/new/file.txt",
        "/readme.md",
    )
    assert (directory / "readme.md").read_text() == "# Name\n"
    assert (directory / "new" / "file.txt").read_text() == "one\ntwo"
    assert not (directory / "data" / "deep" / "er" / "notes.txt").exists()
    assert overlay.diff() == ""
    assert await overlay.apply() == ()


async def test_changes_can_be_forgotten(overlay: Overlay) -> None:
    await changed(overlay)
    overlay.clear()
    assert overlay.changed == ()
    assert await overlay.read("/readme.md", LIMITS) == b"# Title\n"


async def test_a_source_that_changed_meanwhile_is_not_overwritten(
    overlay: Overlay, directory: Path
) -> None:
    await changed(overlay)
    (directory / "readme.md").write_text("# Mine\n")
    with pytest.raises(ConfigurationError, match=r"/readme\.md has changed .* nothing was applied"):
        await overlay.apply()
    assert not (directory / "new").exists()
    assert len(overlay.changed) == 4


async def test_what_code_changes_while_changes_are_applied_stays(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = DirectoryFiles(directory)
    overlay = Overlay(source)
    await overlay.write("/one", b"1", LIMITS)
    await overlay.write("/two", b"2", LIMITS)
    write = source.write

    async def meanwhile(path: str, data: bytes, limits: FileLimits) -> None:
        await overlay.append("/one", b"!", LIMITS)
        await overlay.write("/three", b"3", LIMITS)
        await write(path, data, limits)

    monkeypatch.setattr(source, "write", meanwhile)
    assert await overlay.apply() == ("/one", "/two")
    assert (directory / "one").read_bytes() == b"1"
    assert overlay.changed == ("/one", "/three")
    assert await overlay.read("/one", LIMITS) == b"1!!"
    monkeypatch.undo()
    assert await overlay.apply() == ("/one", "/three")
    assert (directory / "one").read_bytes() == b"1!!"
    assert (directory / "three").read_bytes() == b"3"


async def test_the_bytes_of_an_overlay_are_bounded(overlay: Overlay) -> None:
    limits = FileLimits(overlay_bytes=100)
    await overlay.write("/a", b"x" * 60, limits)
    await overlay.write("/a", b"y" * 90, limits)
    with pytest.raises(FileLimitExceeded):
        await overlay.write("/b", b"x" * 20, limits)


async def test_other_programs_read_the_diff(overlay: Overlay, directory: Path) -> None:
    lines = [f"line {number}" for number in range(100)]
    await overlay.write("/long", "\n".join(lines).encode() + b"\n", LIMITS)
    await overlay.apply()
    for number in (3, 4, 40, 41, 99):
        lines[number] += "!"
    lines[60:62] = []
    lines[70:70] = ["more", "and more"]
    await overlay.write("/long", "\n".join(lines).encode(), LIMITS)
    await overlay.write("/added", b"a\nb", LIMITS)
    command = ["git", "apply", "--unidiff-zero", "-"]
    diff = overlay.diff().encode()
    running = await asyncio.create_subprocess_exec(*command, cwd=directory, stdin=PIPE)
    await running.communicate(diff)
    assert running.returncode == 0
    assert (directory / "long").read_text() == "\n".join(lines)
    assert (directory / "added").read_text() == "a\nb"


async def test_a_path_stays_in_its_line(overlay: Overlay) -> None:
    await overlay.write("/a\n+++ b/etc/passwd", b"x\n", LIMITS)
    assert "\n+++ b/etc" not in overlay.diff()


async def test_large_changes_are_compared_in_time(overlay: Overlay) -> None:
    await overlay.write("/big", b"".join(b"%d\n" % (n % 7) for n in range(300_000)), LIMITS)
    await overlay.apply()
    await overlay.write("/big", b"".join(b"%d\n" % (n % 11) for n in range(300_000)), LIMITS)
    started = time.process_time()
    assert overlay.diff().startswith("--- a/big\n+++ b/big\n")
    assert time.process_time() - started < 5


@pytest.mark.parametrize("wrong", ["data", None])
def test_an_overlay_takes_a_source(wrong: object) -> None:
    with pytest.raises(ConfigurationError, match="Overlay takes a FileSource"):
        Overlay(wrong)  # type: ignore[arg-type]


async def test_a_file_in_the_overlay_is_no_folder(overlay: Overlay) -> None:
    await overlay.write("/new/file.txt", b"one", LIMITS)
    for call in (
        overlay.write("/new/file.txt/below", b"x", LIMITS),
        overlay.entries("/new/file.txt", LIMITS),
    ):
        with pytest.raises(NotADirectoryError):
            await call
    with pytest.raises(IsADirectoryError):
        await overlay.write("/new", b"x", LIMITS)
