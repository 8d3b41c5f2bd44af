"""Compiled WebAssembly, cached across processes.

Compiling takes seconds, loading a compiled module milliseconds. Loading runs the file's machine
code, so a file is only trusted in a private directory: owned by this user, writable by no other
user, not a symbolic link. Any defect of the cache costs only a warning and the time to compile.

The directory is `$INTERPSTACK_CACHE_DIR`, or `interpstack` below the user's cache directory; an
empty value turns the cache off.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable
from email.parser import HeaderParser
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

import attrs
import wasmtime

__all__ = [
    "CacheWarning",
    "Compiled",
    "cache_directory",
    "load_module",
    "read_cached",
    "write_cached",
]

#: Of the CRC-32 at the end of each file; wasmtime reads from the beginning. Who may write the file
#: is trusted, so the checksum only has to find accidents; a SHA-256 takes three times as long.
_CHECKSUM_BYTES: Final = 4
#: In the names of compiled modules; changes with the form of the files.
_FORM: Final = "2"


class CacheWarning(UserWarning):
    """The cache of compiled guests cannot be used; everything works, but starts slowly."""


@attrs.frozen(eq=False, repr=False)
class Compiled:
    """A module, and the SHA-256 of the file it was compiled from."""

    module: wasmtime.Module
    source_hash: str


def load_module(
    engine: wasmtime.Engine,
    path: Path,
    variant: str = "",
    edit: Callable[[bytes], bytes] | None = None,
) -> Compiled:
    """A compiled module, from the cache if it is there.

    Args:
        engine: To compile it for.
        path: The WebAssembly file.
        variant: Names the engine's settings, if they are not the usual ones, and the edit.
        edit: Changes the file's content before it is compiled; not called if that is in the cache.
    """
    source = path.read_bytes()
    source_hash = hashlib.sha256(source).hexdigest()
    stem = f"{path.stem.strip('_')}-{source_hash[:32]}-wasmtime-{_wasmtime_version()}-{_FORM}"
    name = f"{stem}{variant and f'-{variant}'}.cwasm"
    data = read_cached(name)
    if data is not None:
        try:
            return Compiled(_deserialize(engine, name, data), source_hash)
        except wasmtime.WasmtimeError as error:
            _warn(f"{name} is not usable and is compiled again ({str(error).splitlines()[0]})")
    module = wasmtime.Module(engine, source if edit is None else edit(source))
    write_cached(name, bytes(module.serialize()))
    return Compiled(module, source_hash)


@cache
def _wasmtime_version() -> str:
    # `version` parses the long description, too, which takes longer than to load the module.
    headers = (distribution("wasmtime").read_text("METADATA") or "").partition("\n\n")[0]
    return str(HeaderParser().parsestr(headers)["Version"])


def _deserialize(engine: wasmtime.Engine, name: str, data: memoryview) -> wasmtime.Module:
    directory = cache_directory()
    if directory is not None:
        try:
            # It maps the file, whose pages the checksum has just brought in; nothing is copied.
            return wasmtime.Module.deserialize_file(engine, str(directory / name))
        except wasmtime.WasmtimeError:
            pass  # some file systems refuse to have their files executed
    return wasmtime.Module.deserialize(engine, bytes(data))


def cache_directory() -> Path | None:
    """The directory of compiled guests; `None` when the cache is turned off."""
    given = os.environ.get("INTERPSTACK_CACHE_DIR")
    if given is not None:
        return Path(given) if given else None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return Path(base) / "interpstack" if base else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "interpstack"
    except RuntimeError:  # no home directory
        return None


def read_cached(name: str) -> memoryview | None:
    """The content of a cache file with a right checksum, mapped into memory, or `None`.

    Files in the cache are replaced, never changed, so mapped memory stays valid.
    """
    directory = cache_directory()
    if directory is None:
        return None
    path = directory / name
    try:
        if not path.exists():
            return None
        problem = _distrust(directory) or _distrust(path)
        if problem:
            _warn(problem)
            return None
        data = _mapped(path)
    except OSError as error:
        _warn(f"it cannot be read: {error}")
        return None
    size = max(0, len(data) - _CHECKSUM_BYTES)
    content = data[:size]
    if _checksum(content) != data[size:]:
        _warn(f"{name} is damaged and is made again")
        return None
    return content


def _checksum(content: bytes | memoryview) -> bytes:
    return zlib.crc32(content).to_bytes(_CHECKSUM_BYTES, "big")


def _mapped(path: Path) -> memoryview:
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:  # nothing to map
            return memoryview(b"")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def write_cached(name: str, content: bytes) -> None:
    """Store data in the cache; other processes see all of the data or nothing."""
    directory = cache_directory()
    if directory is None:
        return
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        problem = _distrust(directory)
        if problem:
            _warn(problem)
            return
        handle, temporary = tempfile.mkstemp(dir=directory)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content + _checksum(content))
            Path(temporary).replace(directory / name)
        except BaseException:
            Path(temporary).unlink()
            raise
    except OSError as error:
        _warn(f"it cannot be written: {error}")


def _distrust(path: Path) -> str | None:
    """The reason why a file or directory must not be trusted, or `None`."""
    if sys.platform == "win32":
        return None  # the user's local application data is private by default
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        return f"{path.name} is a symbolic link"
    if info.st_uid != os.geteuid():
        return f"{path.name} belongs to another user"
    if info.st_mode & 0o022:
        return f"{path.name} can be written by other users"
    return None


def _warn(problem: str) -> None:
    warnings.warn(
        f"interpstack's cache of compiled guests is not used: {problem}; each process "
        "compiles them again. Set INTERPSTACK_CACHE_DIR to a private directory, or to an empty "
        "value to turn the cache off",
        CacheWarning,
        stacklevel=1,  # one place: the default filter shows the same problem once
    )
