"""Tests of interpstack_v8.context."""

from __future__ import annotations

import pytest

from interpstack import GuestSource
from interpstack_javascript import KERNEL_NAME
from interpstack_v8.context import (
    kernel_module,
    module_name,
    module_url,
    setup_script,
    setup_scripts,
)


@pytest.mark.parametrize("name", ["@/skills/sums", "a b", "ö?x#y", "50%", "http://x/y", ""])
def test_modules_have_urls_from_which_their_names_come_back(name: str) -> None:
    url = module_url(name)
    assert url.startswith("module:")
    assert not set(" ?#") & set(url)
    assert module_name(url) == name


def test_other_urls_are_names_as_they_are() -> None:
    assert module_name("guest:a%20b") == "guest:a%20b"


def test_a_script_has_a_name_in_traces_and_no_value() -> None:
    script = setup_script("interpstack:x", 'f("a")')
    assert script.name == "interpstack:x"
    assert script.text == 'f("a");undefined\n//# sourceURL=interpstack:x'


def test_the_kernel_is_a_source_of_one_byte_a_character() -> None:
    assert kernel_module().isascii()
    assert "\\u2026" in kernel_module()


def test_scripts_come_in_order_around_those_of_plugins() -> None:
    sources = [GuestSource("javascript", f"plugin:{n}", f"(api) => {n}") for n in (1, 2)]
    names = [script.name for script in setup_scripts(sources)]
    assert names[0] == "interpstack:setup"
    assert names[-4:] == ["plugin:1", "plugin:2", "interpstack:host", "interpstack:seal"]
    assert (
        names.index("interpstack:guard") < names.index(KERNEL_NAME) < names.index("interpstack:web")
    )
    texts = {script.name: script.text for script in setup_scripts(sources)}
    assert "((api) => 2)($setup.api)" in texts["plugin:2"]


def test_they_are_made_once_for_the_same_sources() -> None:
    sources = [GuestSource("javascript", "plugin:1", "(api) => 1")]
    assert setup_scripts(sources) is setup_scripts(list(sources))
    assert setup_scripts([]) is not setup_scripts(sources)
    assert kernel_module() is kernel_module()
