"""The reference pages say what the code says, no more and no less."""

from __future__ import annotations

import importlib
import inspect
import re
from importlib import metadata
from pathlib import Path

import attrs
import pytest
from public_modules import public_modules

import interpstack
from interpstack import Limits
from interpstack.contracts import hookspecs
from interpstack_persistence.api import hookspecs as persistence_hookspecs
from interpstack_workflows import hookspecs as workflow_hookspecs

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FRAGMENTS = DOCS / "changelog.d"


def page(name: str) -> str:
    return (DOCS / name).read_text("utf-8")


def sections(text: str) -> dict[str, str]:
    """Text by second-level heading."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def first_cells(text: str) -> list[str]:
    """What stands alone, as code, in the first cell of a table's row."""
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


#: Modules whose names have a section each, beside those of `interpstack`.
SECTIONS = public_modules(ROOT) - {"interpstack"}


@pytest.mark.parametrize("module", ["interpstack", *sorted(SECTIONS)])
def test_api_page_names_what_is_public(module: str) -> None:
    found = sections(page("reference/api.md"))
    others = [name for name in found if re.match(r"interpstack[._]", name)]
    text = (
        found[module]
        if module in others
        else "".join(body for name, body in found.items() if name not in others)
    )
    names = first_cells(text)
    assert len(names) == len(set(names))
    assert set(names) == set(importlib.import_module(module).__all__)


def test_the_table_of_plugins_names_each_of_this_distribution() -> None:
    table = sections(page("how-to/compose-a-stack.md"))["The plugins of this distribution"]
    named = first_cells(table)
    installed = metadata.distribution("interpstack").entry_points.select(group="interpstack")
    assert len(named) == len(set(named))
    assert set(named) == installed.names


def test_the_table_of_commands_names_each_of_this_distribution() -> None:
    text = page("how-to/use-the-command-line.md").partition("## ")[0]
    named = {name.split()[1] for name in first_cells(text) if name.startswith("interpstack ")}
    points = metadata.distribution("interpstack").entry_points
    assert named == points.select(group="interpstack.commands").names


def test_api_page_names_modules_that_exist() -> None:
    found = {n for n in sections(page("reference/api.md")) if re.match(r"interpstack[._]", n)}
    assert found == SECTIONS


def test_hooks_page_documents_every_hook_with_its_arguments() -> None:
    text = page("reference/hooks.md")
    documented = {
        name: body for name, body in sections(text).items() if name.startswith("interpstack_")
    }
    hooks = {
        name: function
        for module in (hookspecs, persistence_hookspecs, workflow_hookspecs)
        for name, function in vars(module).items()
        if name.startswith("interpstack_") and inspect.isfunction(function)
    }
    assert documented.keys() == hooks.keys()
    for name, function in hooks.items():
        body = documented[name]
        arguments = list(inspect.signature(function).parameters)
        assert f"`{name}({', '.join(arguments)})" in body
        listed = body.partition("**Arguments**")[2].partition("\n- **")[0]
        assert [a for a in arguments if f"`{a}`" not in listed] == []
        for part in ("**When**", "**Returns**", "**Order**"):
            assert part in body, (name, part)
    assert set(re.findall(r"^\| \[`(\w+)`\]\(#\1\)", text, re.MULTILINE)) == hooks.keys()


def test_limits_page_has_every_limit_with_its_default() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| `([\d.]+)` \| (yes|no) \|", page("reference/limits.md"), re.MULTILINE
    )
    limits = Limits()
    assert [name for name, _, _ in rows] == [field.name for field in attrs.fields(Limits)]
    for name, default, optional in rows:
        assert str(getattr(limits, name)) == default
        if optional == "yes":
            assert getattr(Limits(**{name: None}), name) is None
        else:
            with pytest.raises(interpstack.ConfigurationError):
                Limits(**{name: None})


def test_configuration_page_has_every_environment_variable() -> None:
    sources = [
        path.read_text("utf-8")
        for root in ("src", "plugins")
        for path in (ROOT / root).rglob("*.py")
    ]
    used = {name for text in sources for name in re.findall(r'"(INTERPSTACK_\w+)"', text)}
    assert used
    assert used == {
        name
        for name in first_cells(page("reference/configuration.md"))
        if name.startswith("INTERPSTACK_")
    }


def test_contributing_page_has_every_tox_env() -> None:
    text = sections(page("contributing.md"))["Set up"]
    rows = re.findall(r"^\| (`.+?`) \| ", text, re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    config = (ROOT / "tox.ini").read_text("utf-8")
    named = set(re.findall(r"^\[testenv:(\w+)\]", config, re.MULTILINE))
    factors = set(re.findall(r"^    (\w+): INTERPSTACK_SUITE", config, re.MULTILINE))
    documented -= {f"py313-{factor}" for factor in factors}
    assert documented == named | factors | {"py311", "py312", "py313"}


def test_result_page_has_every_error_the_core_makes() -> None:
    driver = (ROOT / "src" / "interpstack" / "cells" / "loop.py").read_text("utf-8")
    engine = (ROOT / "plugins" / "interpstack_quickjs" / "execution.py").read_text("utf-8")
    made = set(re.findall(r'GuestError\(\s*"(\w+)"', driver + engine))
    made |= set(re.findall(r'_give_up\(\s*"(\w+)"', driver))
    made |= set(re.findall(r'return "(\w+)", f?"', driver))
    assert {"Deadlock", "Timeout", "OutOfMemory"} <= made
    listed = first_cells(sections(page("reference/result-format.md"))["Errors"])
    assert made <= set(listed)


def test_fragments_can_be_collected() -> None:
    """Right after a release there are none."""
    for path in sorted(FRAGMENTS.glob("+*.md")):
        assert re.fullmatch(r"\+?[\w-]+\.(added|changed|deprecated|fixed|removed)\.md", path.name)
        text = path.read_text("utf-8").strip()
        assert text.endswith((".", "`")), path.name
        assert "\n\n" not in text, path.name


def test_the_changelog_tells_of_the_version_that_is_installed() -> None:
    released = re.findall(r"^## (\S+) \(\d{4}-\d{2}-\d{2}\)$", page("changelog.md"), re.MULTILINE)
    assert released
    assert interpstack.__version__.startswith(released[0]) or "dev" in interpstack.__version__
