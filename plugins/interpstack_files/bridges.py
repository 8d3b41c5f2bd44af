"""The functions of the namespace `files`: their arguments, their errors, and what they return."""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from interpstack import (
    UNDEFINED,
    Bridge,
    CellContext,
    GuestException,
    GuestLanguage,
)
from interpstack.checks import shown
from interpstack_files.paths import checked_path, missing_file, named, names_near
from interpstack_files.patterns import Pattern
from interpstack_files.source import (
    FileEntry,
    FileLimitExceeded,
    FileLimits,
    FileSource,
    check_bytes,
)

__all__ = ["file_bridges", "function_names"]

_OWNER: Final = "interpstack_files"


@attrs.frozen
class _FileCall:
    """One call of code.

    Attributes:
        source: The source, as this call uses it.
        limits: The limits.
        given: The arguments, by name.
    """

    source: FileSource
    limits: FileLimits
    given: Mapping[str, Any]

    @property
    def path(self) -> str:
        path: str = self.given["path"]
        return path


@attrs.frozen(kw_only=True)
class _FileFunction:
    """One function of the namespace.

    Attributes:
        name: In Python's spelling.
        run: Does what it says.
        takes: Checks of the arguments, by name, in order.
        answers: JSON Schema of the answers; `None` if they are none of JSON.
        needed: The number of arguments that have to be there.
        writes: Whether it changes files.
    """

    name: str
    run: Callable[[_FileCall], Awaitable[Any]]
    takes: Mapping[str, Callable[[Any], Any]]
    answers: Mapping[str, Any] | None = None
    needed: int = 1
    writes: bool = False


def file_bridges(
    source: FileSource, limits: FileLimits, language: GuestLanguage, *, writable: bool
) -> Iterator[Bridge]:
    """Return the bridges of a source.

    Args:
        source: The source.
        limits: Its limits.
        language: The guest's language, which spells the names.
        writable: Whether code may change files. If not, functions that do so refuse it, and are
            left out where code lists the names of `files`.
    """
    for function in _FUNCTIONS:
        refused = function.writes and not writable
        name = f"files.{language.identifier(function.name)}"
        yield Bridge(
            name=name,
            handler=_refusal(name)
            if refused
            else _handler(name, function, source, limits, language),
            owner=_OWNER,
            raw=True,
            positional=True,
            yields=True,
            answers=function.answers,
            listed=not refused,
            tool="" if refused else source.tools.get(function.name, ""),
            passes=source.passes,
        )


def function_names(language: GuestLanguage, *, writable: bool) -> list[str]:
    """Return the names of the functions, without `files.`, in the guest's language."""
    functions = [one for one in _FUNCTIONS if writable or not one.writes]
    return [language.identifier(one.name) for one in functions]


def _refusal(name: str) -> Callable[[Any], Awaitable[Any]]:
    async def refuse(given: Any) -> None:
        first = given[0] if isinstance(given, list) and given else None
        path = f"({named(first)})" if isinstance(first, str) else ""
        raise GuestException(
            f"{name}{path}: nothing was written, since code may only read these files; use a tool "
            "that writes, if there is one, or return what should be written",
            name="FileError",
            code="EROFS",
        )

    return refuse


def _handler(
    name: str,
    function: _FileFunction,
    source: FileSource,
    limits: FileLimits,
    language: GuestLanguage,
) -> Callable[[Any, CellContext], Awaitable[Any]]:
    async def call(value: Any, context: CellContext) -> Any:
        given = _bound(name, function, value, language)
        made = _FileCall(source.within(context), limits, given)
        try:
            return await function.run(made)
        except GuestException:
            raise
        except source.passes:
            raise
        except Exception as error:
            fault = await _fault(error, made, language)
            if fault is None:
                raise
            message, code = fault
            path = given["path"]
            about = {"code": code} if code else {}
            raise GuestException(
                f"{name}({named(path)}): {message}", name="FileError", path=path, **about
            ) from error

    return call


# -- arguments -----------------------------------------------------------------------------


def _bound(
    name: str, function: _FileFunction, value: Any, language: GuestLanguage
) -> Mapping[str, Any]:
    """The arguments of a call by name, checked.

    Raises:
        TypeError: An argument is missing, is one too many, or is of a wrong type.
        ValueError: An argument has a wrong value.
    """
    given = list(value) if isinstance(value, list) else [value]
    spelt = {language.identifier(one): one for one in function.takes}
    by_name: Mapping[str, Any] = {}
    if given and isinstance(given[-1], dict) and _are_names(given, spelt, function.needed):
        by_name = given.pop()
    while given and given[-1] is UNDEFINED:
        given.pop()
    if len(given) == len(spelt) + 1 and type(given[-1]) is int:
        given.pop()  # the index that `Array.from` passes
    usage = f"call it as {name}({_usage(function, language)})"
    if len(given) > len(spelt):
        raise TypeError(f"{name} takes at most {len(spelt)} arguments; {usage}")
    bound = dict(zip(spelt, given, strict=False))
    for key, item in by_name.items():
        if key not in spelt:
            raise TypeError(f"{name} has no argument {key[:60]!r}; {usage}")
        if key in bound:
            raise TypeError(f"{name} got {key} twice; {usage}")
        bound[key] = item
    made: dict[str, Any] = {"path": "/"}
    for place, (key, own) in enumerate(spelt.items()):
        item = bound.get(key, UNDEFINED)
        if item is UNDEFINED or (item is None and place >= function.needed):
            if place < function.needed:
                raise TypeError(f"{name} needs {key}; {usage}")
            continue
        try:
            made[own] = function.takes[own](item)
        except ValueError as error:
            raise GuestException(f"{name}: {error}", name="FileError", code="EINVAL") from None
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
    return made


def _are_names(given: Sequence[Any], spelt: Mapping[str, str], needed: int) -> bool:
    """Whether the last of some arguments, an object, holds others by name, as options do.

    If not, it is an argument of a wrong type.
    """
    last = given[-1]
    return len(given) > needed or (bool(last) and all(key in spelt for key in last))


def _usage(function: _FileFunction, language: GuestLanguage) -> str:
    names = [language.identifier(one) for one in function.takes]
    plain = names[: max(function.needed, 1 + (function.name == "glob"))]
    options = names[len(plain) :]
    if not options:
        return ", ".join(plain)
    if language.call("f", {"x": "1"}) == "f(x=1)":
        return ", ".join([*plain, *(f"{one}=…" for one in options)])
    return f"{', '.join(plain)}, {{{', '.join(options)}}}"


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text takes a string; got {shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("the text has half of a surrogate pair, which no file can hold") from None
    return value


def _content(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise TypeError(
            "the content is text or bytes; turn another value into text first, for example into "
            f"JSON; got {shown(value)}"
        )
    return _text(value).encode()


def _old(value: Any) -> str:
    if not _text(value):
        raise ValueError("the old text is empty; to add text at the end, use append")
    return _text(value)


def _line(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 2**53:
        raise TypeError(f"a line is a whole number from 1; got {shown(value)}")
    return int(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"all takes true or false; got {shown(value)}")
    return value


def _pattern(value: Any) -> Pattern:
    if not isinstance(value, str):
        raise TypeError(f"a pattern is text such as '**/*.csv'; got {shown(value)}")
    return Pattern(value)


# -- what they do --------------------------------------------------------------------------


async def _read(call: _FileCall) -> str:
    return (await call.source.read(call.path, call.limits)).decode()


async def _read_bytes(call: _FileCall) -> bytes:
    return await call.source.read(call.path, call.limits)


async def _read_lines(call: _FileCall) -> list[str]:
    first, last = call.given.get("from", 1), call.given.get("to")
    return list(await call.source.read_lines(call.path, first, last, call.limits))


async def _write(call: _FileCall) -> Any:
    content: bytes = call.given["content"]
    check_bytes(len(content), call.limits)
    await call.source.write(call.path, content, call.limits)
    return UNDEFINED


async def _append(call: _FileCall) -> Any:
    await call.source.append(call.path, call.given["content"], call.limits)
    return UNDEFINED


async def _edit(call: _FileCall) -> int:
    old, new = call.given["old"], call.given["new"]
    every = call.given.get("all", False)
    return await call.source.edit(call.path, old, new, every, call.limits)


async def _list(call: _FileCall) -> list[dict[str, Any]]:
    entries = await call.source.entries(call.path, call.limits)
    if len(entries) > call.limits.entries:
        raise FileLimitExceeded("entries")
    return [_shown_entry(entry) for entry in entries]


async def _glob(call: _FileCall) -> list[str]:
    found = await call.source.glob(call.given["pattern"], call.path, call.limits)
    if len(found) > call.limits.entries:
        raise FileLimitExceeded("entries")
    return list(found)


async def _stat(call: _FileCall) -> dict[str, Any]:
    return _shown_entry(await call.source.stat(call.path))


async def _delete(call: _FileCall) -> Any:
    await call.source.delete(call.path, call.limits)
    return UNDEFINED


def _shown_entry(entry: FileEntry) -> dict[str, Any]:
    name = entry.path.rpartition("/")[2]
    return {"name": name, **attrs.asdict(entry)}


_PATH: Final = {"path": checked_path}
_STRING: Final = {"type": "string"}
_STRINGS: Final = {"type": "array", "items": _STRING}
_ENTRY_FIELDS: Final = ("name", *(one.name for one in attrs.fields(FileEntry)))
_ENTRY: Final = {
    "type": "object",
    "properties": {name: _STRING if name in ("name", "path") else {} for name in _ENTRY_FIELDS},
    "required": list(_ENTRY_FIELDS),
}

_FUNCTIONS: Final = (
    _FileFunction(name="read", run=_read, takes=_PATH, answers=_STRING),
    _FileFunction(name="read_bytes", run=_read_bytes, takes=_PATH),
    _FileFunction(
        name="read_lines",
        run=_read_lines,
        takes={**_PATH, "from": _line, "to": _line},
        answers=_STRINGS,
    ),
    _FileFunction(
        name="list",
        run=_list,
        takes=_PATH,
        answers={"type": "array", "items": _ENTRY},
        needed=0,
    ),
    _FileFunction(name="glob", run=_glob, takes={"pattern": _pattern, **_PATH}, answers=_STRINGS),
    _FileFunction(name="stat", run=_stat, takes=_PATH, answers=_ENTRY),
    _FileFunction(
        name="write", run=_write, takes={**_PATH, "content": _content}, needed=2, writes=True
    ),
    _FileFunction(
        name="append", run=_append, takes={**_PATH, "content": _content}, needed=2, writes=True
    ),
    _FileFunction(
        name="edit",
        run=_edit,
        takes={**_PATH, "old": _old, "new": _text, "all": _flag},
        needed=3,
        writes=True,
    ),
    _FileFunction(name="delete", run=_delete, takes=_PATH, writes=True),
)


# -- errors --------------------------------------------------------------------------------

_REASONS: Final = {
    errno.EISDIR: "it is a folder; {list} shows what is in it",
    errno.ENOTDIR: "it is a file, or a part of its path is one",
    errno.EEXIST: "it is there already",
    errno.ELOOP: "it is a symbolic link, which files does not follow",
    errno.ENOTEMPTY: "the folder is not empty; delete the files in it first",
    errno.EACCES: "the host may not use it",
    errno.EPERM: "the host may not use it",
    errno.ENAMETOOLONG: "the path, or a name in it, is too long",
    errno.ENOSPC: "the disk is full; nothing more can be written",
    errno.EROFS: "it is on a disk that cannot be written to",
}
#: What exceptions without a number mean.
_NUMBERS: Final = {
    FileNotFoundError: errno.ENOENT,
    IsADirectoryError: errno.EISDIR,
    NotADirectoryError: errno.ENOTDIR,
    FileExistsError: errno.EEXIST,
}
_ADVICE: Final = {
    "file_bytes": "read a part of it with {read_lines}, or write several files",
    "entries": "use a folder further down, or {glob} with a narrower pattern",
    "visited": "search a folder further down, the second argument of {glob}",
    "overlay_bytes": "return what is done so far; the host applies or clears the changes",
}
_WHAT: Final = {
    "file_bytes": "bytes",
    "entries": "entries",
    "visited": "entries that a search visits",
    "overlay_bytes": "bytes of changes",
}


async def _fault(
    error: Exception, call: _FileCall, language: GuestLanguage
) -> tuple[str, str] | None:
    """What an error means to code, and its code; `None` for a defect of the source."""
    names = {one.name: f"files.{language.identifier(one.name)}" for one in _FUNCTIONS}
    if isinstance(error, FileLimitExceeded):
        most = getattr(call.limits, error.limit)
        found = f"{error.found}; " if error.found else ""
        return (
            f"too large: {found}FileLimits.{error.limit} allows {most} {_WHAT[error.limit]}; "
            f"{_ADVICE[error.limit].format(**names)}",
            "EFBIG",
        )
    if isinstance(error, UnicodeDecodeError):
        return f"it is not text in UTF-8; use {names['read_bytes']}", "EILSEQ"
    if isinstance(error, OSError):
        kind = next((own for own in _NUMBERS if isinstance(error, own)), None)
        number = error.errno or (_NUMBERS[kind] if kind else None)
        if number == errno.ENOENT:
            if error.errno is None and error.args:  # the source has a hint of its own
                return str(error), "ENOENT"
            hint = await names_near(call.source, call.path, call.limits)
            return f"{missing_file(call.path, None)}{hint}", "ENOENT"
        if error.errno is None and isinstance(error, PermissionError):
            return str(error), "EPERM"
        reason = _REASONS.get(number or 0, error.strerror or "the system refused it")
        return reason.format(**names), errno.errorcode.get(number or 0, "")
    if isinstance(error, ValueError):
        return str(error), "EINVAL"
    return None
