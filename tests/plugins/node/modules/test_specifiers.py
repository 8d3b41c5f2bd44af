"""Parts and paths of specifiers and addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpstack_node.modules.specifiers import (
    UnresolvedSpecifier,
    address_of,
    check_bare,
    joined,
    name_and_subpath,
    not_found,
    path_of,
    unsupported,
)


@pytest.mark.parametrize(
    ("specifier", "parts"),
    [
        ("lodash", ("lodash", ".")),
        ("lodash/fp/x", ("lodash", "./fp/x")),
        ("@scope/pack", ("@scope/pack", ".")),
        ("@scope/pack/x.js", ("@scope/pack", "./x.js")),
    ],
)
def test_names_and_subpaths(specifier: str, parts: tuple[str, str]) -> None:
    check_bare(specifier)
    assert name_and_subpath(specifier) == parts


@pytest.mark.parametrize(
    "specifier", ["", " a", "@a", "a:b", "a\\b", "a%2f", ".a", "a/../b", "a/Node_Modules/b"]
)
def test_other_specifiers_are_no_names(specifier: str) -> None:
    with pytest.raises(UnresolvedSpecifier, match="Use a package name") as refused:
        check_bare(specifier)
    assert refused.value.code == "ERR_UNSUPPORTED_SPECIFIER"


def test_paths_of_specifiers() -> None:
    folder = Path("/x")
    assert joined(folder, "./a%20b.mjs") == Path("/x/a b.mjs")
    assert joined(folder, ".\\a") == Path("/x/a")
    assert joined(folder, "file:///y/a.mjs") == Path("/y/a.mjs")
    with pytest.raises(UnresolvedSpecifier):
        joined(folder, "a\0b")


def test_paths_have_a_number_of_parts_that_is_soon_looked_for() -> None:
    folder = Path("/x")
    assert joined(folder, "./" + "a/" * 199) == Path("/x", *"a" * 199)
    assert path_of("file://" + "/a" * 200) == Path("/", *"a" * 200)
    for specifier in ("./" + "a/" * 200, ".%2f" + "a%2F" * 200, ".\\" + "a\\" * 200):
        with pytest.raises(UnresolvedSpecifier) as refused:
            joined(folder, specifier)
        assert refused.value.code == "ERR_MODULE_NOT_FOUND"
    for address in ("file://" + "/a" * 201, "file://" + "%2fa" * 201, "file:///" + "a" * 12_500):
        with pytest.raises(UnresolvedSpecifier, match="Module not found: file://"):
            path_of(address)


def test_addresses_lead_back_to_their_files() -> None:
    path = Path("/x/a b#c?d%.mjs")
    assert path_of(address_of(path)) == path


@pytest.mark.parametrize(
    "address", ["http://a/b", "file://host/a", "file:///a?b", "file:///a#b", "file://[a/b", "a"]
)
def test_addresses_of_other_things(address: str) -> None:
    with pytest.raises(UnresolvedSpecifier) as refused:
        path_of(address)
    assert refused.value.code == "ERR_MODULE_NOT_FOUND"


def test_errors_repeat_a_part_of_a_specifier() -> None:
    assert str(not_found("x" * 1000)) == f"Module not found: {'x' * 200}"
    assert str(unsupported("a\n", "Do.")) == 'Unsupported import specifier "a\\n". Do.'
