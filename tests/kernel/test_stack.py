from __future__ import annotations

import sys
import types
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from fake_distributions import install_points

from interpstack import (
    Bridge,
    BridgeNameClash,
    ConfigurationError,
    HostOffer,
    InterpreterStack,
    InterpstackError,
    PluginLoadError,
    UnknownEngine,
    UnknownPlugin,
    bridge,
    hookimpl,
    installed,
    plugins,
)
from interpstack_testing import FakeEngine


class Picky(FakeEngine):
    """Takes one option."""

    name = "picky"

    def __init__(self, *, size: int) -> None:
        self.size = size


def test_an_unknown_engine_lists_those_whose_packages_are_missing(
    entries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    needy = types.ModuleType("fake_plugin_v8")

    @hookimpl
    def interpstack_register_engine() -> Any:
        raise ModuleNotFoundError("No module named 'jsrun'", name="jsrun")

    needy.interpstack_register_engine = interpstack_register_engine  # type: ignore[attr-defined]
    entries(agents=None, fake=_module("fake", FakeEngine), v8=needy)
    monkeypatch.setattr("interpstack.contracts.errors.install_command", lambda name: f"get {name}")
    with pytest.raises(UnknownEngine) as info:
        InterpreterStack("fakes")
    expected = "known: fake; not installed: v8 (get v8); did you mean 'fake'? If a package"
    assert expected in str(info.value)
    assert info.value.known == ("fake",)


def test_a_plugin_without_an_engine_is_no_engine(entries: Any) -> None:
    entries(agents=None, fake=_module("fake", FakeEngine), console=_module("console", None))
    with pytest.raises(UnknownEngine, match=r"'console'; known: fake\. If a package") as info:
        InterpreterStack("console")
    assert info.value.known == ("fake",)


def test_the_nearest_engine_is_found_in_capitals_too(entries: Any) -> None:
    entries(agents=None, fake=_module("fake", FakeEngine))
    with pytest.raises(UnknownEngine, match="did you mean 'fake'"):
        InterpreterStack("FAKES")


def test_a_wrong_list_is_shown_in_short() -> None:
    with pytest.raises(ConfigurationError, match=r"bridges takes a list of bridges; got .{60}$"):
        InterpreterStack(bridges=bridge("greet")(lambda: "x" * 100))  # type: ignore[arg-type]


class _Offer:
    def __init__(self, cls: Any, name: str = "offer") -> None:
        self.cls, self.name = cls, name

    @hookimpl
    def interpstack_register_engine(self) -> Any:
        return self.cls


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replaces the installed plugins; each is a module made here, or a missing one."""

    def install(**found: Any) -> None:
        for name, implementation in found.items():
            if implementation is not None:
                monkeypatch.setitem(sys.modules, f"fake_plugin_{name}", implementation)
        points = (EntryPoint(name, f"fake_plugin_{name}", plugins.GROUP) for name in found)
        install_points(monkeypatch, *points)

    return install


def _module(name: str, cls: Any) -> types.ModuleType:
    module = types.ModuleType(f"fake_plugin_{name}")

    @hookimpl
    def interpstack_register_engine() -> Any:
        return cls

    module.interpstack_register_engine = interpstack_register_engine  # type: ignore[attr-defined]
    return module


# -- engines ---------------------------------------------------------------------------------


def test_an_engine_comes_from_the_installed_plugins(entries: Any) -> None:
    entries(fake=_module("fake", FakeEngine), picky=_module("picky", Picky), broken=None)
    with InterpreterStack("fake") as stack:
        assert isinstance(stack.engine, FakeEngine)
        assert [(p.name, p.engine, p.hooks) for p in stack.describe()] == [
            ("fake", "fake", ("interpstack_register_engine",))
        ]
    with InterpreterStack("picky", options={"size": 3}) as stack:
        assert stack.engine.size == 3  # type: ignore[attr-defined]


def test_an_engine_comes_from_the_stacks_own_plugins_first(entries: Any) -> None:
    entries()
    with InterpreterStack("picky", plugins=[_Offer(Picky)], options={"size": 1}) as stack:
        assert [p.name for p in stack.describe()] == ["offer"]


def test_an_unknown_engine_lists_the_known(entries: Any) -> None:
    entries(broken=None, fake=_module("fake", FakeEngine), picky=_module("picky", Picky))
    with pytest.raises(UnknownEngine) as info:
        InterpreterStack("quikjs")
    assert info.value.known == ("fake", "picky")
    assert "unknown engine 'quikjs'; known: fake, picky" in str(info.value)
    assert str(info.value).endswith("provides it, install that package first")
    with pytest.raises(PluginLoadError, match="'broken'"):
        InterpreterStack("broken")


def test_with_no_engine_installed_the_message_says_so(entries: Any) -> None:
    entries()
    with pytest.raises(UnknownEngine, match="known: none are installed"):
        InterpreterStack("fake")


def test_engines_of_one_name_are_refused(entries: Any) -> None:
    entries()
    offers = [_Offer(FakeEngine, "one"), _Offer(FakeEngine, "two")]
    with pytest.raises(ConfigurationError, match=r"engine 'fake' is registered by .* and .*"):
        InterpreterStack("fake", plugins=offers)


@pytest.mark.parametrize("cls", [dict, 5, FakeEngine()])
def test_what_is_no_engine_class_is_refused(entries: Any, cls: Any) -> None:
    entries()
    with pytest.raises(ConfigurationError, match="is registered as an engine but is not one"):
        InterpreterStack("fake", plugins=[_Offer(cls)])


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({}, ".*missing .*'size'"),
        ({"size": 1, "sise": 2}, "'sise'"),
        ({"sise": 1, "seize": 2}, "'sise', 'seize'"),
    ],
)
def test_wrong_engine_options_are_refused(options: Any, wrong: str) -> None:
    message = rf"engine 'picky' does not take these options: {wrong}; it has: size$"
    with pytest.raises(ConfigurationError, match=message):
        InterpreterStack("picky", plugins=[_Offer(Picky)], options=options)


def test_options_and_an_engine_object_are_refused_together() -> None:
    with pytest.raises(ConfigurationError, match="not by object"):
        InterpreterStack(FakeEngine(), options={"size": 1})


# -- plugins ---------------------------------------------------------------------------------


def test_an_unknown_plugin_lists_the_known(entries: Any) -> None:
    entries(fake=_module("fake", FakeEngine))
    with pytest.raises(UnknownPlugin, match=r"unknown plugin 'konsole'; known: fake. If a package"):
        InterpreterStack(FakeEngine(), plugins=["konsole"])


def test_a_plugin_that_lacks_a_package_names_it_and_the_command(entries: Any) -> None:
    entries(broken=None)
    with pytest.raises(PluginLoadError, match="No module named 'fake_plugin_broken'") as info:
        InterpreterStack(FakeEngine(), plugins=["broken"])
    assert str(info.value).endswith("; install what it needs")
    assert isinstance(info.value.__cause__, ModuleNotFoundError)


@pytest.mark.parametrize("twice", [["fake", "fake"], [_Offer(FakeEngine), _Offer(FakeEngine)]])
def test_a_plugin_listed_twice_is_refused(entries: Any, twice: Any) -> None:
    entries(fake=_module("fake", FakeEngine))
    with pytest.raises(ConfigurationError, match="is listed twice; list it once"):
        InterpreterStack("fake", plugins=twice)


class _Misspelt:
    name = "misspelt"

    @hookimpl
    def interpstack_regster_engine(self) -> None: ...


class _WrongArguments:
    name = "wrong"

    @hookimpl
    def interpstack_prompt_section(self, stack: Any, colour: Any) -> None: ...


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (_Misspelt(), "'misspelt' cannot be used: .*interpstack_regster_engine"),
        (_WrongArguments(), r"'wrong' cannot be used: .*colour"),
        (object(), "'builtins.object' has no hooks; mark functions with @hookimpl"),
        (5, "has no hooks"),
    ],
)
def test_plugins_without_proper_hooks_are_refused(plugin: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        InterpreterStack(FakeEngine(), plugins=[plugin])


def test_two_distributions_with_one_plugin_name_are_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = [EntryPoint("a", value, plugins.GROUP) for value in ("one", "two")]
    install_points(monkeypatch, *points)
    assert list(installed()) == ["a"]
    with pytest.raises(ConfigurationError, match="named 'a': one and two; uninstall one"):
        InterpreterStack(FakeEngine(), plugins=["a"])
    with pytest.raises(ConfigurationError, match="named 'a': one and two; uninstall one"):
        InterpreterStack("a")
    with pytest.raises(UnknownEngine):  # what concerns others does not hide that a name is wrong
        InterpreterStack("b")
    assert InterpreterStack(FakeEngine()).session().eval_sync("1").ok


# -- other arguments -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"engine": 5}, "engine takes a name or an Engine object; got 5"),
        ({"engine": FakeEngine}, "engine takes a name or an Engine object"),
        ({"engine": None}, "engine takes a name"),
        ({"plugins": "console"}, "plugins takes a list of plugins; got 'console'"),
        ({"plugins": None}, "plugins takes a list of plugins; got None"),
        ({"plugins": {"console": True}}, "plugins takes a list of plugins; got {'console': True}"),
        ({"bridges": None}, "bridges takes a list of bridges; got None"),
        (
            {"bridges": Bridge(name="a", handler=print, raw=True)},
            "bridges takes a list of bridges; got Bridge",
        ),
        ({"limits": {"cpu_seconds": 1}}, "limits takes a Limits object; got {'cpu_seconds': 1}"),
        ({"options": "size=1"}, "options takes a mapping; got 'size=1'"),
        ({"unawaited": "wait"}, "unawaited takes 'finish' or 'cancel'; got 'wait'"),
        ({"unhandled": "log"}, "unhandled takes 'tell', 'raise' or 'ignore'; got 'log'"),
        ({"max_live_sessions": 0}, "max_live_sessions takes a whole number above 0; got 0"),
        ({"max_live_sessions": True}, "max_live_sessions takes a whole number above 0; got True"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_arguments_of_wrong_types_are_refused_by_name(arguments: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as info:
        InterpreterStack(**{"engine": FakeEngine(), **arguments})
    assert isinstance(info.value, (InterpstackError, ValueError))


def test_clashing_bridges_are_refused_when_the_stack_is_made() -> None:
    bridges = [Bridge(name=name, handler=print, raw=True) for name in ("a", "a.b")]
    with pytest.raises(BridgeNameClash):
        InterpreterStack(FakeEngine(), bridges=bridges)


# -- what a stack asks its plugins -----------------------------------------------------------


class _Section:
    def __init__(self, name: str, text: str | None) -> None:
        self.name, self.text = name, text

    @hookimpl
    def interpstack_prompt_section(self, stack: Any, offer: HostOffer) -> str | None:
        return self.text and f"{self.text} for {stack.engine.language} {offer.code_tool}"


def test_prompt_joins_the_sections_in_order() -> None:
    sections = [_Section("a", "# A"), _Section("b", None), _Section("c", ""), _Section("d", "# D")]
    with InterpreterStack(FakeEngine(), plugins=sections) as stack:
        assert stack.prompt(HostOffer(code_tool="me")) == "# A for python me\n\n# D for python me"
        assert stack.prompt() == "# A for python eval\n\n# D for python eval"


def test_plugins_are_asked_once_for_an_offer() -> None:
    asked = []

    class Count:
        name = "count"

        @hookimpl
        def interpstack_register_bridges(self, offer: HostOffer) -> None:
            asked.append(offer)

    with InterpreterStack(FakeEngine(), plugins=[Count()]) as stack:
        offer = HostOffer()
        assert stack.bridge_set(offer) is stack.bridge_set(offer)
        assert len(asked) == 1
        with stack.session("k") as session:
            session.eval_sync("1")
            session.eval_sync("2")
        assert len(asked) == 2
