"""Guest languages: neutral texts, and how a stack finds the language of its engine."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import (
    UNDEFINED,
    Cell,
    ConfigurationError,
    GuestLanguage,
    HostTool,
    InterpreterStack,
    MapValue,
    SetValue,
    hookimpl,
)
from interpstack_testing import FakeEngine


class KlingonEngine(FakeEngine):
    """The reference engine under the name of a language that nobody knows."""

    name = "klingon"
    language = "klingon"
    dialects = ("old-klingon",)


class Plugin:
    """Registers one language."""

    def __init__(self, name: str, language: Any) -> None:
        self.name, self._language = name, language

    @hookimpl
    def interpstack_register_language(self) -> Any:
        return self._language


async def _nothing(value: Any, context: Any) -> None:
    return None


TOOL = HostTool(name="web-search", call=_nothing, description="Find\n pages.", input_schema={})


def test_a_language_that_nobody_registers_is_neutral() -> None:
    with InterpreterStack(KlingonEngine()) as stack:
        language = stack.language
    assert language == GuestLanguage(name="klingon")
    assert language.title == "klingon"
    assert language.identifier("web-search v2.1") == "web_search_v2_1"
    assert language.call("tools.find", {"text": '"x"', "most": "5"}) == (
        'tools.find(text: "x", most: 5)'
    )
    assert language.usage("find", {"text": True, "most": False}) == "find(text, [most])"
    values = [[1, None, UNDEFINED], MapValue([]), {"a": SetValue([])}, b"x"]
    texts = ['[1, null, "undefined"]', "map", '{"a": "set"}', "bytes"]
    assert [*map(language.literal, values)] == texts
    signature = language.signature("web_search", TOOL)
    assert signature == "- `web_search`: Find pages. Fields, as JSON Schema: `{}`"
    assert language.listing("tools", [signature]) == f"On `tools`:\n\n{signature}"


def test_a_stack_takes_the_language_from_its_plugins() -> None:
    klingon = GuestLanguage(name="klingon", title="Klingon")
    with InterpreterStack(KlingonEngine(), [Plugin("one", klingon)]) as stack:
        assert stack.language is klingon


def test_equal_languages_of_two_plugins_are_one() -> None:
    plugins = [Plugin(name, GuestLanguage(name="klingon", title="K")) for name in ("one", "two")]
    with InterpreterStack(KlingonEngine(), plugins) as stack:
        assert stack.language.title == "K"


def test_a_dialect_is_a_language_of_its_own() -> None:
    old = GuestLanguage(name="klingon", title="Old Klingon")
    family = GuestLanguage(name="common", dialects=(old,))
    with InterpreterStack(KlingonEngine(), [Plugin("one", family)]) as stack:
        assert stack.language is old


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        (
            [GuestLanguage(name="klingon"), GuestLanguage(name="klingon", title="K")],
            "plugins 'one' and 'two' register different languages as 'klingon'; leave one of them "
            "out",
        ),
        (
            ["klingon"],
            "plugin 'one' returns a GuestLanguage; got 'klingon'",
        ),
    ],
)
def test_clashes_and_wrong_types_name_the_plugins(languages: list[Any], message: str) -> None:
    plugins = [Plugin(n, lang) for n, lang in zip(("one", "two"), languages, strict=False)]
    with pytest.raises(ConfigurationError) as raised:
        InterpreterStack(KlingonEngine(), plugins)
    assert message in str(raised.value)


@pytest.mark.parametrize("language", [None, "klingon", "old-klingon"])
def test_cells_in_the_languages_of_the_engine_run(language: str | None) -> None:
    with InterpreterStack(KlingonEngine()) as stack, stack.session() as session:
        assert session.eval_sync(Cell(source="6 * 7", language=language)).text == "42"


def test_other_cells_are_refused() -> None:
    with (
        InterpreterStack(KlingonEngine()) as stack,
        stack.session() as session,
        pytest.raises(ConfigurationError) as raised,
    ):
        session.eval_sync(Cell(source="1", language="python"))
    assert str(raised.value) == "engine 'klingon' runs klingon and old-klingon, not 'python'"
