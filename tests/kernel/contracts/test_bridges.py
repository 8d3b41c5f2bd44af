from __future__ import annotations

import functools
from typing import Any

import pytest

from interpstack import (
    Bridge,
    BridgeError,
    BridgeNameClash,
    BridgeRegistry,
    ConfigurationError,
    GuestLanguage,
    GuestSource,
    HostOffer,
    HostTool,
    InterpreterStack,
    bridge,
    hookimpl,
)
from interpstack_testing import FakeEngine


def _bridge(name: Any, owner: str = "host", **options: Any) -> Bridge:
    return Bridge(name=name, handler=lambda: None, owner=owner, **options)


class _Awaitable:
    async def __call__(self) -> None: ...


@pytest.mark.parametrize(
    ("handler", "on_loop"), [(lambda: None, False), (_Awaitable(), True), (_Awaitable, False)]
)
def test_coroutine_functions_run_on_the_loop(handler: Any, on_loop: bool) -> None:
    assert Bridge(name="a", handler=handler).on_loop is on_loop
    assert Bridge(name="a", handler=handler, on_loop=True).on_loop


def test_bridges_of_the_same_function_and_fields_are_equal() -> None:
    def today(city: str) -> str:
        return city

    assert Bridge(name="a", handler=today) == Bridge(name="a", handler=today)
    assert Bridge(name="a", handler=today) != Bridge(name="a", handler=today, budget=1)
    assert Bridge(name="a", handler=today) != Bridge(name="a", handler=lambda city: city)


def test_decorator_with_and_without_a_name() -> None:
    @bridge
    def plain() -> None: ...

    @bridge("a.named", budget=2, concurrency=3, awaited=False)
    async def other(context: Any) -> None: ...

    assert (plain.name, plain.on_loop, plain.takes_context) == ("plain", False, False)
    assert (other.name, other.on_loop, other.takes_context) == ("a.named", True, True)
    assert (other.budget, other.concurrency, other.awaited) == (2, 3, False)
    assert other.owner.endswith(
        "test_bridges.test_decorator_with_and_without_a_name.<locals>.other"
    )


def test_the_name_may_be_passed_by_keyword() -> None:
    @bridge(name="weather.today", budget=2)
    async def today(city: str) -> str:
        return city

    assert (today.name, today.budget) == ("weather.today", 2)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a b",
        "1a",
        "a.",
        ".a",
        "a..b",
        "a-b",
        "a.1",
        "é",
        "a\n",
        "__a__",
        "a.__proto__.b",
        None,
        5,
    ],
)
def test_names_that_are_no_identifiers_are_refused(name: Any) -> None:
    with pytest.raises(
        BridgeError, match="is not a valid bridge name; use identifiers joined by dots"
    ):
        _bridge(name)


class _Loud(GuestLanguage):
    """A language that reserves one word."""

    def name_fault(self, name: str) -> str:
        return "'quiet' is no word of it" if "quiet" in name else ""


def test_names_that_no_code_could_call_are_refused_where_they_are_registered() -> None:
    registry = BridgeRegistry(language=_Loud(name="loud"))
    with pytest.raises(
        BridgeError, match=r"'a.quiet' \(from me\) cannot be used: 'quiet' is no wor"
    ):
        registry.bridge(_bridge("a.quiet", owner="me"))
    registry.bridge(_bridge("a.quiet", hidden=True))  # only the kernel names it
    registry.bridge(_bridge("a.loud"))
    assert registry.freeze().language.name == "loud"


def test_the_hosts_own_bridges_are_refused_with_the_stack() -> None:
    class Plugin:
        name = "loud"

        @hookimpl
        def interpstack_register_language(self) -> GuestLanguage:
            return _Loud(name="python")

        @hookimpl
        def interpstack_register_bridges(self, register: BridgeRegistry, offer: HostOffer) -> None:
            if offer.tools:
                register.bridge(_bridge("quiet", owner="the plugin"))

    with pytest.raises(BridgeError, match=r"'quiet' \(from host\) cannot be used"):
        InterpreterStack(FakeEngine(), [Plugin()], bridges=[_bridge("quiet")])
    tool = HostTool(name="a", call=print)  # type: ignore[arg-type]
    with InterpreterStack(FakeEngine(), [Plugin()]) as stack, stack.session() as session:
        with pytest.raises(BridgeError, match=r"'quiet' \(from the plugin\) cannot be used"):
            session.bind(HostOffer(tools=[tool]))
        assert session.eval_sync("6 * 7").text == "42"


@pytest.mark.parametrize("name", ["timer", "module"])
def test_names_of_requests_without_a_bridge_are_refused(name: str) -> None:
    with pytest.raises(BridgeError, match=f"'{name}' is reserved"):
        _bridge(name)
    assert _bridge(f"{name}.start").name == f"{name}.start"


@pytest.mark.parametrize("field", ["concurrency", "budget"])
@pytest.mark.parametrize("value", [0, -1, 1.0, True, "2"])
def test_bad_options_are_refused(field: str, value: Any) -> None:
    with pytest.raises(BridgeError, match=f"bridge 'a': {field} takes a whole number above 0"):
        _bridge("a", **{field: value})


@pytest.mark.parametrize(
    ("field", "value", "accepted"),
    [
        ("owner", None, "a string"),
        ("raw", 1, "True or False"),
        ("awaited", "no", "True or False"),
        ("passes", 5, "a tuple of exception classes"),
        ("passes", (5,), "a tuple of exception classes"),
        ("passes", [ValueError], "a tuple of exception classes"),
        ("hidden", None, "True or False"),
        ("repeats", "yes", "True or False"),
        ("tool", 5, "a string"),
        ("dispatches", 0, "True or False"),
        ("declaration", b"", "a string"),
    ],
)
def test_fields_of_wrong_types_are_refused(field: str, value: Any, accepted: str) -> None:
    options = {"name": "a", "handler": print, "raw": True, field: value}
    with pytest.raises(BridgeError, match=f"bridge 'a': {field} takes {accepted}; got "):
        Bridge(**options)


def test_the_decorator_refuses_what_is_no_function() -> None:
    plain = _bridge("plain")
    for wrong in (5, plain, None):
        with pytest.raises(BridgeError, match="bridge decorates a function; got "):
            bridge("a")(wrong)  # type: ignore[arg-type]
    for wrong in (5, plain, b"a"):
        with pytest.raises(BridgeError, match="bridge takes a dotted name or a function; got "):
            bridge(wrong)  # type: ignore[call-overload]
    with pytest.raises(BridgeError, match="bridge 'a': awaited takes True or False; got 'no'"):
        bridge("a", awaited="no")(print)  # type: ignore[call-overload]


def test_functions_without_a_name_are_given_one() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    one_more = functools.partial(add, b=1)
    assert bridge("kit.next")(one_more).owner == "functools.partial"
    with pytest.raises(BridgeError, match=r"has no name; pass one, as in @bridge\("):
        bridge(one_more)


def test_a_handler_must_be_callable() -> None:
    with pytest.raises(BridgeError, match=r"'a'.*is not a function"):
        Bridge(name="a", handler=5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "second"), [("a.b", "a.b"), ("a", "a.b"), ("a.b", "a"), ("a.b.c", "a.b")]
)
def test_clashes_name_both_owners(first: str, second: str) -> None:
    registry = BridgeRegistry([_bridge(first, "plugin one")])
    with pytest.raises(BridgeNameClash, match=r"plugin two.*plugin one.*clobber=True") as info:
        registry.bridge(_bridge(second, "plugin two"))
    assert info.value.owners == ("plugin one", "plugin two")
    assert (info.value.name, info.value.other) == (second, first)


def test_names_that_only_begin_alike_stand_side_by_side() -> None:
    registry = BridgeRegistry([_bridge("a.b"), _bridge("a.bc"), _bridge("ab")])
    assert list(registry.freeze().bridges) == ["a.b", "a.bc", "ab"]


def test_clobber_replaces_the_same_name_but_no_namespace() -> None:
    registry = BridgeRegistry([_bridge("a.b", "one")])
    registry.bridge(_bridge("a.b", "two"), clobber=True)
    found = registry.freeze().get("a.b")
    assert found is not None
    assert found.owner == "two"
    with pytest.raises(BridgeNameClash):
        registry.bridge(_bridge("a", "three"), clobber=True)


def test_a_guest_source_is_an_object_of_its_class() -> None:
    with pytest.raises(ConfigurationError, match=r"register\.source takes a GuestSource; got 'x'"):
        BridgeRegistry().source("x")  # type: ignore[arg-type]


def test_guest_sources_are_kept_by_language_and_clash_by_name() -> None:
    registry = BridgeRegistry()
    registry.source(GuestSource("javascript", "console", "1", "one"))
    registry.source(GuestSource("python", "console", "2", "two"))
    assert [s.source for s in registry.freeze().sources_for("python")] == ["2"]
    with pytest.raises(BridgeNameClash, match=r"three.*one"):
        registry.source(GuestSource("javascript", "console", "3", "three"))


def test_what_is_no_bridge_is_refused_by_the_stack_too() -> None:
    with pytest.raises(BridgeError, match="is not a bridge; decorate the function with @bridge"):
        InterpreterStack(FakeEngine(), bridges=[print])  # type: ignore[list-item]


def test_a_frozen_set_does_not_change() -> None:
    registry = BridgeRegistry([_bridge("a")])
    frozen = registry.freeze()
    registry.bridge(_bridge("b"))
    assert [item.name for item in frozen] == ["a"]
    with pytest.raises(TypeError):
        frozen.bridges["c"] = _bridge("c")  # type: ignore[index]


def test_annotations_are_read_where_input_is_checked_against_them() -> None:
    def handler(value: Missing, context: Any) -> None:  # type: ignore[name-defined]  # noqa: F821
        pass

    taken = Bridge(name="a.b", handler=handler, raw=True)
    assert taken.takes_context
    assert taken.arguments({"x": 1}) == (({"x": 1},), {})
    with pytest.raises(BridgeError, match="cannot read its signature: name 'Missing'"):
        Bridge(name="a.b", handler=handler)
