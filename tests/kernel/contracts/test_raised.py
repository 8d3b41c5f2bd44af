"""Exceptions of handlers, whatever they are: the code gets an error, and the cell its answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interpstack import Bridge, GuestException, Limits, hookimpl
from interpstack.contracts.raised import describe_error, ends_program
from interpstack_testing.caller import CallerEngine

MakeSession = Callable[..., Any]

#: Shows the name and the message of the error that `kit.f` raises.
_CATCH = """
try:
    await kit.f()
except Exception as error:
    caught = f"{type(error).__name__}: {error}"
caught
"""
#: A cell that hangs shows in the text of its outcome; no machine is so busy that others take long.
_PATIENT = Limits(wall_seconds=20)


class _Hostile(type):
    """A metaclass whose classes cannot be looked at."""

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("no name")

    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError("no attributes")

    def __instancecheck__(cls, instance: object) -> bool:
        raise RuntimeError("no instances")

    def __subclasscheck__(cls, other: type) -> bool:
        raise RuntimeError("no classes")


def _masked() -> BaseException:
    """Its metaclass raises; so whoever collects tests must not meet the class."""

    class Masked(Exception, metaclass=_Hostile):
        pass

    return Masked()


class _Posing(Exception):
    """Pretends to be of another class, and raises when it is asked."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("no class")


class _Silent(Exception):
    """Raises wherever text is wanted."""

    def __str__(self) -> str:
        raise GeneratorExit("no words")

    __repr__ = __str__


class _NoText(Exception):
    """Its text is no string."""

    def __str__(self) -> Any:
        return 7


class _Lying(str):
    """A string that raises when it is used."""

    __slots__ = ()

    def _fail(self, *args: Any) -> Any:
        raise RuntimeError("no use")

    __len__ = __getitem__ = __bool__ = __iter__ = __format__ = __str__ = _fail


class _LyingText(Exception):
    def __str__(self) -> str:
        return _Lying("x" * 10_000)


class _Group(BaseExceptionGroup[BaseException]):
    """A group whose methods raise."""

    def derive(self, excs: Any) -> Any:
        raise RuntimeError("nothing to derive")

    subgroup = split = derive


class _NoError(GuestException):
    """Has not called the constructor of its class."""

    def __init__(self) -> None:
        pass


class _OtherError(GuestException):
    """Its error is something else."""

    def __init__(self) -> None:
        super().__init__("chosen")
        self.error = object()  # type: ignore[assignment]


def _changed(**fields: Any) -> GuestException:
    """An error that was right when it was made."""
    error = GuestException("chosen", data=[])
    for name, value in fields.items():
        object.__setattr__(error.error, name, value)
    return error


def _long_name() -> BaseException:
    error: BaseException = type("N" * 100_000, (Exception,), {})()
    return error


def _shared(leaf: BaseException) -> BaseException:
    """A group whose members are more than can ever be counted."""
    for _ in range(60):
        leaf = BaseExceptionGroup("two", [leaf, leaf])
    return leaf


_RAISED: dict[str, Callable[[], BaseException]] = {
    "generator exit": lambda: GeneratorExit("x"),
    "group of generator exits": lambda: BaseExceptionGroup("x", [GeneratorExit()]),
    "cancelled": asyncio.CancelledError,
    "kind of cancelled": lambda: type("Own", (asyncio.CancelledError,), {})(),
    "group of cancelled": lambda: BaseExceptionGroup("x", [asyncio.CancelledError()]),
    "base exception": lambda: type("Own", (BaseException,), {})(),
    "masked": _masked,
    "posing": _Posing,
    "silent": _Silent,
    "no text": _NoText,
    "lying text": _LyingText,
    "hostile group": lambda: _Group("x", [ValueError()]),
    "shared groups": lambda: _shared(ValueError()),
    "no error": _NoError,
    "other error": _OtherError,
    "number as message": lambda: _changed(message=7),
    "lying message": lambda: _changed(message=_Lying("x" * 10**6)),
    "data that are none": lambda: _changed(data=7),
    "data that JSON lacks": lambda: _changed(data={"a": object()}),
    "endless data": lambda: _changed(data={"a": "x" * 10**6}),
    "long message": lambda: GuestException("x" * 10**6),
    "long name": _long_name,
    "unicode error": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x" * 10**6),
    "surrogates": lambda: ValueError("\ud800" * 10),
    "recursion": lambda: RecursionError("x"),
    "memory": lambda: MemoryError(),
}


@pytest.fixture(params=list(_RAISED.values()), ids=list(_RAISED))
def raised(request: pytest.FixtureRequest) -> Callable[[], BaseException]:
    """Makes something that a handler raises."""
    make: Callable[[], BaseException] = request.param
    return make


def _sync(make: Callable[[], BaseException]) -> Any:
    def handler() -> None:
        raise make()

    return handler


def _async(make: Callable[[], BaseException]) -> Any:
    async def handler() -> None:
        raise make()

    return handler


def _later(make: Callable[[], BaseException]) -> Any:
    async def handler() -> None:
        await asyncio.sleep(0)
        raise make()

    return handler


def _in_a_task(make: Callable[[], BaseException]) -> Any:
    async def handler() -> None:
        await asyncio.ensure_future(_async(make)())

    return handler


class _Value:
    """Raises when it is turned into plain data."""

    def __init__(self, make: Callable[[], BaseException]) -> None:
        self._make = make

    def model_dump(self) -> Any:
        raise self._make()


def _in_value(make: Callable[[], BaseException]) -> Any:
    async def handler() -> Any:
        return [_Value(make)]

    return handler


@pytest.mark.parametrize("way", [_sync, _async, _later, _in_a_task, _in_value])
async def test_code_gets_an_error_whatever_is_raised(
    make_session: MakeSession, raised: Callable[[], BaseException], way: Any
) -> None:
    session = make_session(Bridge(name="kit.f", handler=way(raised)), limits=_PATIENT)
    await session.eval("caught = 'nothing'")
    outcome = await session.eval(_CATCH)
    assert outcome.error is None
    assert outcome.text not in ("nothing", "")
    assert len(outcome.text) < 11_000
    assert (await session.eval("caught")).text == outcome.text


@pytest.mark.parametrize("way", [_sync, _async, _in_a_task])
async def test_a_call_that_nobody_awaits_is_left_behind(
    make_session: MakeSession, raised: Callable[[], BaseException], way: Any
) -> None:
    bridge = Bridge(name="kit.f", handler=way(raised), awaited=False)
    session = make_session(bridge, limits=_PATIENT)
    outcome = await session.eval("kit.f()\n'on'")
    assert (outcome.text, len(outcome.attachments)) == ("on", 1)


class _Modules:
    """A plugin whose only module fails, when it is looked for or when it is loaded."""

    def __init__(self, make: Callable[[], BaseException], found: bool) -> None:
        self._make, self._found = make, found

    @hookimpl
    def interpstack_resolve_module(self, specifier: str) -> Any:
        if self._found:
            return _async(self._make)
        raise self._make()


@pytest.mark.parametrize("found", [True, False], ids=["when loaded", "when looked for"])
async def test_an_import_fails_whatever_is_raised(
    make_session: MakeSession, raised: Callable[[], BaseException], found: bool
) -> None:
    plugins = [_Modules(raised, found)]
    session = make_session(engine=CallerEngine(), plugins=plugins, limits=_PATIENT)
    (result,) = json.loads((await session.eval('[["module", "x"]]')).text)
    assert result["error"]["name"] in ("ModuleNotFound", "ToolError", "C")
    assert 0 < len(result["error"]["message"]) < 11_000


async def _itself_then_raises() -> None:
    _cancel_itself()
    raise ValueError("x")


async def _itself_then_awaits() -> None:
    _cancel_itself()
    await asyncio.sleep(60)


async def _itself_then_returns() -> str:
    _cancel_itself()
    return "value"


async def _itself_then_returns_much() -> str:
    _cancel_itself()
    return "x" * 2**19


async def _by_a_timer() -> None:
    asyncio.get_running_loop().call_soon(_own_task().cancel)
    await asyncio.sleep(60)


async def _twice() -> None:
    for _ in range(2):
        try:
            _cancel_itself()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue
    await asyncio.sleep(0)
    raise ValueError("x")


def _own_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


def _cancel_itself() -> None:
    _own_task().cancel()


_ITSELF = [
    _itself_then_raises,
    _itself_then_awaits,
    _itself_then_returns,
    _itself_then_returns_much,
    _by_a_timer,
    _twice,
]


@pytest.mark.parametrize("handler", _ITSELF)
async def test_a_handler_that_cancels_itself_is_answered(
    make_session: MakeSession, handler: Any
) -> None:
    session = make_session(Bridge(name="kit.f", handler=handler), limits=_PATIENT)
    outcome = await session.eval("caught = 'value'\n" + _CATCH)
    assert outcome.error is None
    assert outcome.text in ("value", "ToolError: x", "ToolError: kit.f was cancelled")
    assert (await session.eval("caught")).text == outcome.text


@pytest.mark.parametrize("handler", _ITSELF)
async def test_a_call_that_cancels_itself_does_not_cancel_the_cell(
    make_session: MakeSession, handler: Any
) -> None:
    session = make_session(Bridge(name="kit.f", handler=handler, awaited=False), limits=_PATIENT)
    assert (await session.eval("kit.f()\n'on'")).text == "on"
    assert _own_task().cancelling() == 0


async def test_a_cancelled_caller_is_cancelled_though_a_handler_cancels_itself(
    make_session: MakeSession,
) -> None:
    async def both() -> None:
        running.cancel()
        await _itself_then_awaits()

    session = make_session(Bridge(name="kit.f", handler=both), limits=_PATIENT)
    running = asyncio.ensure_future(session.eval(_CATCH))
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (await session.eval("1")).text == "1"


@pytest.fixture(params=[KeyboardInterrupt, SystemExit])
def ending(request: pytest.FixtureRequest) -> Iterator[type[BaseException]]:
    """Exceptions that end the program."""
    return request.param  # type: ignore[no-any-return]


def test_what_ends_the_program_is_found_in_groups(ending: type[BaseException]) -> None:
    for hidden in (ending(), _Group("x", [ending()]), _shared(ending())):
        assert ends_program(hidden)
    assert not ends_program(_shared(ValueError()))


@pytest.mark.parametrize("awaited", [True, False], ids=["request", "call"])
def test_what_ends_the_program_leaves(
    make_session: MakeSession, ending: type[BaseException], awaited: bool
) -> None:
    session = make_session(Bridge(name="kit.f", handler=_async(ending), awaited=awaited))
    with pytest.raises(ending):
        session.eval_sync("await kit.f()" if awaited else "kit.f()")
    assert session.eval_sync("1").text == "1"


def test_a_guest_exception_takes_strings() -> None:
    for fields in ({"message": 7}, {"message": "x", "name": None}):
        with pytest.raises(TypeError, match="strings"):
            GuestException(**fields)


def test_the_text_of_an_error_is_bounded(raised: Callable[[], BaseException]) -> None:
    error = describe_error(raised(), "kit.f")
    assert error.message
    assert type(error.message) is type(error.name) is str
    assert len(error.name) + len(error.message) < 11_000
    assert error.data["tool"] == "kit.f"


def test_too_many_data_are_refused_where_the_error_is_made() -> None:
    with pytest.raises(ValueError, match="at most 10000 characters of data"):
        GuestException("the quota is used up", name="Quota", big="x" * 10_000)
