"""The hooks: their order, their documentation, their calls."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import types
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar

import pluggy
import pytest
from fake_distributions import FakeDistribution, install_points

import interpstack
from interpstack import (
    Bridge,
    ConfigurationError,
    Engine,
    GuestLanguage,
    InterpreterStack,
    ModuleBundle,
    PluginLoadError,
    SessionState,
    UnknownEngine,
    hookimpl,
    plugins,
    run_sync,
)
from interpstack.contracts import hookspecs
from interpstack.contracts.protocol import MODULE
from interpstack.plugins import GROUP, NAMES, PluginManager, find_engine
from interpstack_testing import FakeEngine
from interpstack_testing.fake import FakeExecution, FakeRealm

_SPECS = {
    name: function
    for name, function in vars(hookspecs).items()
    if name.startswith("interpstack_") and inspect.isfunction(function)
}


class ImportingRealm(FakeRealm):
    """Offers `load(specifier)`, which asks the host for a module and gives its entry."""

    def bind(self, bridges: Any) -> None:
        super().bind(bridges)
        self.globals["__builtins__"]["load"] = self._load

    def _load(self, specifier: str) -> Any:
        execution = self.running
        assert isinstance(execution, FakeExecution)
        return execution.request(MODULE, specifier)


class ImportingEngine(FakeEngine):
    name = "importing"

    def open(self, limits: Any, bridges: Any, image: Any = None) -> ImportingRealm:
        return ImportingRealm(limits, bridges)


class Recorder:
    """Implements every hook and notes each call."""

    def __init__(self, name: str, log: list[tuple[str, str]]) -> None:
        self.name, self.log = name, log

    def note(self, hook: str) -> None:
        self.log.append((hook, self.name))

    @hookimpl
    def interpstack_register_engine(self) -> None:
        self.note("interpstack_register_engine")

    @hookimpl
    def interpstack_register_language(self) -> Any:
        self.note("interpstack_register_language")
        return GuestLanguage(name="python", title="Test Python")

    @hookimpl
    def interpstack_add_hookspecs(self) -> None:
        self.note("interpstack_add_hookspecs")

    @hookimpl
    def interpstack_register_bridges(self, register: Any, stack: Any, offer: Any) -> None:
        self.note("interpstack_register_bridges")
        assert stack.engine.name == "importing"
        register.bridge(Bridge(name=f"kit.{self.name}", handler=lambda: self.name))

    @hookimpl
    def interpstack_prompt_section(self, stack: Any, offer: Any) -> str:
        self.note("interpstack_prompt_section")
        return self.name

    @hookimpl
    def interpstack_resolve_module(self, specifier: str, session: Any) -> Any:
        self.note("interpstack_resolve_module")
        if specifier != self.name:
            return None

        async def load() -> ModuleBundle:
            return ModuleBundle(f"{specifier}.js", {f"{specifier}.js": ""})

        return load

    @hookimpl
    def interpstack_open_cell(self, session: Any, cell: Any) -> Any:
        self.note("interpstack_open_cell")

    @hookimpl
    def interpstack_session_opened(self, session: Any) -> None:
        self.note("interpstack_session_opened")

    @hookimpl
    def interpstack_keep_state(self, session: Any) -> None:
        self.note("interpstack_keep_state")

    @hookimpl
    def interpstack_session_hibernation(
        self, session: Any, wakes: Any, seconds: Any, image_bytes: Any
    ) -> None:
        self.note("interpstack_session_hibernation")

    @hookimpl
    def interpstack_session_closing(self, session: Any) -> None:
        self.note("interpstack_session_closing")

    @hookimpl
    def interpstack_wrap_eval(self, session: Any, cell: Any) -> None:
        self.note("interpstack_wrap_eval")

    @hookimpl
    def interpstack_transform_cell(self, session: Any, cell: Any) -> None:
        self.note("interpstack_transform_cell")

    @hookimpl
    def interpstack_wrap_request(self, session: Any, request: Any) -> None:
        self.note("interpstack_wrap_request")

    @hookimpl
    def interpstack_render_outcome(self, session: Any, outcome: Any) -> None:
        self.note("interpstack_render_outcome")


class Importing:
    name = "importing"

    @hookimpl
    def interpstack_register_engine(self) -> Any:
        return ImportingEngine


def test_the_recorder_implements_every_hook() -> None:
    """Whoever adds a hook adds it to the order test below."""
    implemented = {name for name in vars(Recorder) if name.startswith("interpstack_")}
    assert implemented == set(_SPECS)


def test_every_hook_is_called_in_the_stacks_order() -> None:
    log: list[tuple[str, str]] = []
    plugins = [Recorder(name, log) for name in ("one", "two", "three")]
    with InterpreterStack("importing", plugins=[*plugins, Importing()]) as stack:
        assert stack.language.title == "Test Python"
        assert stack.prompt() == "one\n\ntwo\n\nthree"
        session = stack.session("k")
        assert list(stack.bridge_set(session.offer).bridges) == ["kit.one", "kit.two", "kit.three"]
        outcome = session.eval_sync("await kit.two()")
        assert (outcome.text, session.render(outcome)) == ("two", "<result>two</result>")
        error = session.eval_sync("await load('four')").error
        assert error is not None
        assert (error.name, error.message) == (
            "ModuleNotFound",
            "there is no module 'four' to import",
        )
        run_sync(stack.session("other").restore_state(SessionState(values={"x": 1})))
        names = [plugin.name for plugin in stack.describe()]
    assert names == ["one", "two", "three", "importing"]
    for hook in _SPECS:
        called = [name for called_hook, name in log if called_hook == hook]
        assert called, f"{hook} was never called"
        assert called == ["one", "two", "three"] * (len(called) // 3), hook


def test_the_first_answer_to_a_module_wins() -> None:
    log: list[tuple[str, str]] = []
    plugins = [Recorder(name, log) for name in ("one", "two", "three")]
    with InterpreterStack(ImportingEngine(), plugins=plugins) as stack:
        log.clear()
        assert stack.session("k").eval_sync("await load('two')").text == "two.js"
    assert [name for hook, name in log if hook == "interpstack_resolve_module"] == ["one", "two"]


class BadLoader:
    name = "bad"

    @hookimpl
    def interpstack_resolve_module(self, specifier: str) -> Any:
        async def load() -> ModuleBundle:
            raise OSError("the disk is gone")

        return load


def test_a_module_that_fails_to_load_is_an_error_in_the_guest() -> None:
    with InterpreterStack(ImportingEngine(), plugins=[BadLoader()]) as stack:
        error = stack.session("k").eval_sync("await load('x')").error
    assert error is not None
    assert (error.name, error.message) == ("ModuleNotFound", "the disk is gone")


def test_each_stack_has_its_own_plugins() -> None:
    log: list[tuple[str, str]] = []
    with (
        InterpreterStack(ImportingEngine(), plugins=[Recorder("one", log)]) as one,
        InterpreterStack(ImportingEngine(), plugins=[Recorder("two", log)]) as two,
    ):
        assert (one.prompt(), two.prompt()) == ("one", "two")
        assert one.hook is not two.hook


@pytest.mark.parametrize("value", ["1", "0", None])
def test_hook_calls_are_traced_on_request(
    value: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("INTERPSTACK_TRACE", raising=False)
    if value is not None:
        monkeypatch.setenv("INTERPSTACK_TRACE", value)
    with InterpreterStack(FakeEngine(), plugins=[Recorder("one", [])]) as stack:
        stack.prompt()
    printed = capsys.readouterr().err
    traced = re.search(r"^interpstack_prompt_section \d+\.\d{3} ms: one$", printed, re.MULTILINE)
    assert (traced is not None) == (value == "1")
    with InterpreterStack(FakeEngine()) as empty:
        empty.prompt()
    assert ("ms: no plugin\n" in capsys.readouterr().err) == (value == "1")


# -- the specifications ----------------------------------------------------------------------


class _Later:
    """Hooks that a stack does not await, and one that it does."""

    def __init__(self, hook: str) -> None:
        async def later() -> None:
            self.called = True

        self.name, self.called = "later", False
        setattr(self, hook, hookimpl(later))


@pytest.mark.parametrize("hook", sorted(set(_SPECS) - {"interpstack_session_closing"}))
def test_an_async_function_is_refused_for_a_hook_that_nobody_awaits(hook: str) -> None:
    with pytest.raises(ConfigurationError, match=f"plugin 'later' cannot be used: {hook} is a pl"):
        InterpreterStack(FakeEngine(), [_Later(hook)])


async def test_an_async_function_may_close_a_session() -> None:
    later = _Later("interpstack_session_closing")
    async with InterpreterStack(FakeEngine(), [later]) as stack, stack.session() as session:
        await session.eval("1")
    assert later.called


def test_bridges_that_are_returned_in_place_of_registered_are_refused() -> None:
    class Returns:
        name = "returns"

        @hookimpl
        def interpstack_register_bridges(self) -> Any:
            return [Bridge(name="lost", handler=lambda: 1)]

    with (
        InterpreterStack(FakeEngine(), [Returns()]) as stack,
        stack.session() as session,
        pytest.raises(ConfigurationError, match=r"pass each bridge to register\.bridge"),
    ):
        session.eval_sync("1")


def test_a_prompt_section_is_text() -> None:
    class Number:
        @hookimpl
        def interpstack_prompt_section(self) -> Any:
            return 5

    with (
        InterpreterStack(FakeEngine(), [Number()]) as stack,
        pytest.raises(ConfigurationError, match="section returns text or None; got 5"),
    ):
        stack.prompt()


def test_there_are_at_most_fifteen_hooks() -> None:
    assert 0 < len(_SPECS) <= 15


@pytest.mark.parametrize("name", _SPECS)
def test_each_hook_says_when_it_is_called_and_what_it_returns(name: str) -> None:
    function = _SPECS[name]
    text = inspect.getdoc(function) or ""
    assert "\nCalled " in text, "say when it is called"
    assert "\nReturns:" in text or "\nNothing is returned" in text
    if "\nReturns:" in text:
        assert "`None`" in text.partition("\nReturns:")[2], "say what `None` means"
    parameters = inspect.signature(function).parameters
    for parameter in parameters:
        assert f"\n    {parameter}: " in text, f"describe {parameter}"
    assert ("\nArgs:" in text) == bool(parameters)


class Wrapping(FakeEngine):
    """Runs another engine, as its subclass would."""

    name: ClassVar[str] = "wrapping"

    @classmethod
    def around(cls, inner: type[Engine]) -> type[Engine]:
        return type("Wrapped", (cls,), {"name": f"wrapping:{inner.name}"})


class Registers:
    """A plugin with one engine."""

    def __init__(self, cls: type[Engine]) -> None:
        self.name = f"plugin of {cls.name}"
        self._cls = cls

    @hookimpl
    def interpstack_register_engine(self) -> type[Engine]:
        return self._cls


def test_a_name_with_a_colon_asks_an_engine_to_run_another() -> None:
    manager = PluginManager([Registers(Wrapping), Registers(FakeEngine)])
    assert find_engine("wrapping:fake", manager).name == "wrapping:fake"
    with pytest.raises(
        ConfigurationError, match="'fake' cannot run another engine; name 'wrapping'"
    ):
        find_engine("fake:wrapping", manager)
    for wrong in ("wrapping:nothing", "nothing:fake"):
        with pytest.raises(UnknownEngine, match="unknown engine 'nothing'; known: fake"):
            find_engine(wrong, manager)
    for wrong in ("wrapping:", ":fake"):
        with pytest.raises(ConfigurationError, match=f"engine '{wrong}': name an engine on both"):
            find_engine(wrong, manager)


class NeedsMore:
    name = "needy"

    @hookimpl
    def interpstack_register_engine(self) -> type[Engine]:
        raise ModuleNotFoundError("No module named 'more'", name="more")


def test_an_engine_whose_package_is_missing_is_named_with_its_plugin() -> None:
    manager = PluginManager([Registers(FakeEngine), NeedsMore()])
    with pytest.raises(PluginLoadError, match=r"plugin 'needy' .*No module named 'more'"):
        manager.engines()
    with pytest.raises(PluginLoadError, match="plugin 'needy'"):
        InterpreterStack("quickjs", [NeedsMore()])


# -- hooks of a plugin's own -----------------------------------------------------------------

_BROUGHT = types.ModuleType("brought")


@pluggy.HookspecMarker("interpstack")
def interpstack_greet(name: str) -> str:
    """Return a greeting."""
    raise NotImplementedError


_BROUGHT.interpstack_greet = interpstack_greet  # type: ignore[attr-defined]


class Brings:
    def __init__(self, name: str) -> None:
        self.name = name

    @hookimpl
    def interpstack_add_hookspecs(self) -> Any:
        return _BROUGHT


class Greets:
    name = "greets"

    @hookimpl
    def interpstack_greet(self, name: str) -> str:
        return f"hello {name}"


@pytest.mark.parametrize("before", [True, False])
def test_a_plugin_brings_hooks_for_others(before: bool) -> None:
    brings = [Brings("one"), Brings("two")]
    plugins = [*brings, Greets()] if before else [Greets(), *brings]
    with InterpreterStack(FakeEngine(), plugins) as stack:
        assert stack.hook.interpstack_greet(name="Ann") == ["hello Ann"]


def test_an_async_function_is_refused_for_a_hook_that_a_plugin_brings() -> None:
    message = "plugin 'later' cannot be used: interpstack_greet is a pl"
    with pytest.raises(ConfigurationError, match=message):
        InterpreterStack(FakeEngine(), [Brings("one"), _Later("interpstack_greet")])


def test_a_hook_that_nobody_brings_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match=r"plugin 'greets' cannot.*interpstack_greet"):
        InterpreterStack(FakeEngine(), [Greets()])


# -- attributes that plugins add to the package ----------------------------------------------


def _offer(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    install_points(monkeypatch, *(EntryPoint(name, value, NAMES) for name, value in values.items()))


def test_a_plugin_adds_an_attribute_to_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    _offer(monkeypatch, dumps="json:dumps")
    assert interpstack.dumps([1]) == "[1]"  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["load", "_hidden", "__wrapped__"])
def test_the_package_has_no_other_attributes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _offer(monkeypatch, dumps="json:dumps", _hidden="json:dumps", __wrapped__="json:dumps")
    with pytest.raises(AttributeError, match=f"'interpstack' has no attribute '{name}'"):
        getattr(interpstack, name)


def test_an_attribute_whose_package_is_missing_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _offer(monkeypatch, show="interpstack_notebook.magics:install", other="of.another:thing")
    monkeypatch.setitem(sys.modules, "interpstack_notebook.magics", None)
    # Nothing need be installed here, so no distribution names its extras.
    monkeypatch.setattr("interpstack.contracts.errors.install_command", lambda name: f"get {name}")
    with pytest.raises(PluginLoadError, match=r"plugin 'notebook' .*get notebook"):
        interpstack.show  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(PluginLoadError, match=r"plugin 'of' .*No module named 'of'"):
        interpstack.other  # type: ignore[attr-defined]  # noqa: B018


def test_an_attribute_of_two_distributions_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    install_points(
        monkeypatch, *(EntryPoint("show", f"{module}:show", NAMES) for module in ("one", "two"))
    )
    with pytest.raises(ConfigurationError, match="an attribute named 'show': one:show and two:"):
        interpstack.show  # type: ignore[attr-defined]  # noqa: B018


def test_the_first_of_two_distributions_of_one_name_hides_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [
        FakeDistribution("another", [EntryPoint("show", "json:dumps", "something.else")]),
        FakeDistribution("twice", [EntryPoint("show", "json:dumps", NAMES)]),
        FakeDistribution(
            "twice", [EntryPoint(name, "json:loads", NAMES) for name in ("show", "old")]
        ),
    ]
    monkeypatch.setattr("importlib.metadata.distributions", lambda: found)
    assert interpstack.show([1]) == "[1]"  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="'old'"):
        interpstack.old  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("group", [GROUP, NAMES])
def test_entry_points_are_those_that_the_standard_library_finds(group: str) -> None:
    entries, clashes = plugins._installed(group)
    assert set(entries.values()) == set(entry_points(group=group))
    assert not clashes


def test_importing_the_package_looks_up_no_entry_point() -> None:
    code = "import sys, interpstack\nassert 'importlib.metadata' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
