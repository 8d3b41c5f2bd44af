"""The cache of compiled guests: fast when it can be trusted, and never in the way."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import warnings
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import wasmtime

from interpstack_wasm import compiled
from interpstack_wasm.compiled import (
    CacheWarning,
    cache_directory,
    load_module,
    read_cached,
    write_cached,
)

_posix = pytest.mark.skipif(sys.platform == "win32", reason="modes and owners as in POSIX")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    monkeypatch.setenv("INTERPSTACK_CACHE_DIR", str(directory))
    return directory


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A module that compiles in no time."""
    path = tmp_path / "_tiny.wasm"
    path.write_bytes(wasmtime.wat2wasm('(module (func (export "f") (result i32) i32.const 42))'))
    return path


def _answer(path: Path, *more: Any) -> int:
    engine = wasmtime.Engine()
    store = wasmtime.Store(engine)
    module = load_module(engine, path, *more).module
    exports = wasmtime.Instance(store, module, []).exports(store)
    return int(exports["f"](store))  # type: ignore[operator]


def _only_file(cache: Path) -> Path:
    (file,) = cache.iterdir()
    return file


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(4, "big")


def _refuse(*_: Any) -> Any:
    raise wasmtime.WasmtimeError("refused")


def test_a_hit_compiles_nothing(cache: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _answer(tiny) == 42
    monkeypatch.setattr(wasmtime.Module, "serialize", _refuse)
    assert _answer(tiny) == 42
    assert cache.stat().st_mode & 0o777 == 0o700


def test_an_edit_is_made_only_of_what_is_compiled(cache: Path, tiny: Path) -> None:
    edited: list[bytes] = []

    def edit(source: bytes) -> bytes:
        edited.append(source)
        return source.replace(b"\x41\x2a", b"\x41\x2b")  # 43 in place of 42

    assert [_answer(tiny, "plus1", edit), _answer(tiny, "plus1", edit), _answer(tiny)] == [
        43,
        43,
        42,
    ]
    assert edited == [tiny.read_bytes()]


def test_files_that_may_not_be_executed_are_copied(
    cache: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _answer(tiny) == 42
    monkeypatch.setattr(wasmtime.Module, "serialize", _refuse)
    monkeypatch.setattr(wasmtime.Module, "deserialize_file", _refuse)
    assert _answer(tiny) == 42


def test_the_name_tells_content_and_version(cache: Path, tiny: Path) -> None:
    _answer(tiny)
    digest = hashlib.sha256(tiny.read_bytes()).hexdigest()
    name = _only_file(cache).name
    assert name == f"tiny-{digest[:32]}-wasmtime-{version('wasmtime')}-2.cwasm"


def test_other_content_and_another_wasmtime_are_other_files(
    cache: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _answer(tiny)
    monkeypatch.setattr(compiled, "_wasmtime_version", lambda: "0.0")
    _answer(tiny)
    tiny.write_bytes(wasmtime.wat2wasm('(module (func (export "f") (result i32) i32.const 7))'))
    assert _answer(tiny) == 7
    assert len(list(cache.iterdir())) == 3


@pytest.mark.parametrize(
    "damage",
    {
        "empty": lambda data: b"",
        "truncated": lambda data: data[: len(data) // 2],
        "only a checksum": lambda data: data[:4],
        "wrong checksum": lambda data: data[:-4] + bytes(4),
        "not all of a checksum": lambda data: data[:3],
        "zeros": lambda data: bytes(len(data)),
        "flipped byte": lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
        "longer": lambda data: data + b"x",
        "text": lambda data: b"not a module at all" * 10,
        "right checksum of nonsense": lambda data: b"nonsense" + _checksum(b"nonsense"),
        "right checksum of nothing": lambda data: _checksum(b""),
    }.items(),
    ids=lambda item: item[0],
)
def test_a_damaged_file_is_made_again(cache: Path, tiny: Path, damage: Any) -> None:
    assert _answer(tiny) == 42
    file = _only_file(cache)
    good = file.read_bytes()
    file.write_bytes(damage[1](good))
    with pytest.warns(CacheWarning, match="damaged and is made again|is compiled again"):
        assert _answer(tiny) == 42
    assert _answer(tiny) == 42  # without a warning: warnings are errors


@_posix
@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_directory_others_may_write_is_not_used(cache: Path, tiny: Path, mode: int) -> None:
    cache.mkdir()
    cache.chmod(mode)
    with pytest.warns(CacheWarning, match="cache can be written by other users"):
        assert _answer(tiny) == 42
    assert list(cache.iterdir()) == []


@_posix
def test_a_file_others_may_write_is_not_used(cache: Path, tiny: Path) -> None:
    _answer(tiny)
    _only_file(cache).chmod(0o666)
    with pytest.warns(CacheWarning, match="can be written by other users"):
        assert _answer(tiny) == 42


@_posix
def test_what_belongs_to_another_user_is_not_used(
    cache: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _answer(tiny)
    somebody = os.geteuid() + 1
    monkeypatch.setattr(compiled.os, "geteuid", lambda: somebody)
    with pytest.warns(CacheWarning, match="cache belongs to another user"):
        assert _answer(tiny) == 42


@_posix
def test_a_symbolic_link_is_not_followed(cache: Path, tiny: Path, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    cache.symlink_to(real)
    with pytest.warns(CacheWarning, match="cache is a symbolic link"):
        assert _answer(tiny) == 42
    assert list(real.iterdir()) == []


@_posix
def test_a_linked_file_is_not_followed(cache: Path, tiny: Path, tmp_path: Path) -> None:
    _answer(tiny)
    file = _only_file(cache)
    file.rename(tmp_path / "moved")
    file.symlink_to(tmp_path / "moved")
    with pytest.warns(CacheWarning, match="is a symbolic link"):
        assert _answer(tiny) == 42


def test_a_directory_that_cannot_be_made(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("INTERPSTACK_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(CacheWarning, match="it cannot be"):
        assert _answer(tiny) == 42


def test_a_directory_that_cannot_be_written(
    cache: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(compiled.tempfile, "mkstemp", refuse)
    with pytest.warns(CacheWarning, match="it cannot be written: .*Permission denied"):
        assert _answer(tiny) == 42


def test_one_problem_is_reported_once(cache: Path) -> None:
    cache.write_text("no directory")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        write_cached("one", b"1")
        write_cached("two", b"2")
    assert [warning.category for warning in found] == [CacheWarning]


def test_a_full_disk_leaves_no_rubbish(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiled.os, "replace", refuse)
    with pytest.warns(CacheWarning, match="No space left"):
        write_cached("x.bin", b"content")
    assert list(cache.iterdir()) == []


def test_a_directory_in_place_of_the_file(cache: Path) -> None:
    (cache / "x.bin").mkdir(parents=True, mode=0o700)
    cache.chmod(0o700)
    with pytest.warns(CacheWarning, match="it cannot be read"):
        assert read_cached("x.bin") is None


def test_an_empty_variable_turns_it_off(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERPSTACK_CACHE_DIR", "")
    assert cache_directory() is None
    assert _answer(tiny) == 42
    write_cached("x.bin", b"content")
    assert read_cached("x.bin") is None


@_posix
def test_where_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("INTERPSTACK_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "interpstack"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_directory() == tmp_path / "home" / ".cache" / "interpstack"


@_posix
def test_without_a_home(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("INTERPSTACK_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(compiled.Path, "home", homeless)
    assert cache_directory() is None
    assert _answer(tiny) == 42


def test_what_is_written_is_read(cache: Path) -> None:
    for content in (b"", b"x", bytes(100_000)):
        write_cached("x.bin", content)
        assert read_cached("x.bin") == content
    assert read_cached("other.bin") is None
    assert [file.name for file in cache.iterdir()] == ["x.bin"]


_RUN = (
    "import warnings; warnings.simplefilter('error');"
    "from interpstack import InterpreterStack\n"
    "with InterpreterStack().session('s') as s: print(s.eval_sync('6 * 7').text)"
)


def _start(cache: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "INTERPSTACK_CACHE_DIR": str(cache)}
    return subprocess.Popen(
        [sys.executable, "-c", _RUN],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_processes_that_start_at_once_on_a_cold_cache(tmp_path: Path) -> None:
    """And one after them, which finds everything there."""
    cache = tmp_path / "shared"
    running = [_start(cache) for _ in range(3)]
    for process in running:
        out, err = process.communicate()
        assert (out, err) == ("42\n", "")
    files = {file.name: file.stat().st_mtime_ns for file in cache.iterdir()}
    assert {name.partition("-")[0] for name in files} == {"guest", "base", "bundles"}
    assert _start(cache).communicate() == ("42\n", "")
    assert {file.name: file.stat().st_mtime_ns for file in cache.iterdir()} == files


def test_a_damaged_base_heap_is_made_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from interpstack import BridgeSet, Cell, Limits
    from interpstack_quickjs import engine
    from interpstack_quickjs.engine import QuickJSEngine
    from interpstack_quickjs.heap.base import BaseHeaps

    def run() -> str:
        monkeypatch.setattr(engine, "base_heaps", BaseHeaps())  # as a new process has it
        realm = QuickJSEngine().open(Limits(), BridgeSet())
        progress = realm.start(Cell(source="6 * 7")).poll(0.0, 1.0)
        realm.close()
        assert progress.completion is not None
        return progress.completion.text

    assert run() == "42"
    (file,) = cache.glob("base-*")
    good = file.read_bytes()
    for bad in (b"", good[:40], good[:-1], bytes(len(good))):
        file.write_bytes(bad)
        with pytest.warns(CacheWarning, match="damaged"):
            assert run() == "42"
        assert file.read_bytes() == good
    short = b"\0" * 100
    file.write_bytes(short + _checksum(short))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CacheWarning)
        assert run() == "42"
