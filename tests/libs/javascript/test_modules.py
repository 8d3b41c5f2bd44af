"""Modules of a realm: they import each other inside their bundle, and outlive it as text."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import pytest

from interpstack_javascript import KERNEL_NAME
from interpstack_javascript.modules import ModuleFault, ModuleTable


@pytest.fixture
def table() -> ModuleTable:
    made = ModuleTable()
    made.add({"a/main.js": "1", "a/lib.ts": "let n: number = 2", "a/b/index.js": "3"})
    made.add({"other.js": "4"})
    return made


@pytest.mark.parametrize(
    ("base", "specifier", "name"),
    [
        (KERNEL_NAME, "a/main.js", "a/main.js"),
        (KERNEL_NAME, "missing.js", None),
        ("a/main.js", "./lib.js", "a/lib.ts"),
        ("a/main.js", "./lib", "a/lib.ts"),
        ("a/main.js", "./b", "a/b/index.js"),
        ("a/b/index.js", "../main.js", "a/main.js"),
        ("a/main.js", "../other.js", None),
        ("a/main.js", "other.js", None),
        ("unknown.js", "./lib.js", None),
    ],
)
def test_names_lead_nowhere_but_into_the_bundle(
    table: ModuleTable, base: str, specifier: str, name: str | None
) -> None:
    found = table.resolve(base, specifier)
    if name is None:  # in place of a name there may be one that tells why
        assert found is None or (found.startswith(f"{specifier}': ") and table.load(found) is None)
    else:
        assert found == name


def test_typescript_is_javascript_once_resolved(table: ModuleTable) -> None:
    name = table.resolve("a/main.js", "./lib.js")
    assert name is not None
    assert (table.load(name) or "").rstrip(";\n").split() == ["let", "n", "=", "2"]
    assert table.load("missing.js") is None


def test_typescript_that_does_not_parse_is_reported_by_another_module() -> None:
    table = ModuleTable()
    table.add({"m.ts": "let let = : 5"})
    name = table.resolve(KERNEL_NAME, "m.ts")
    assert name is not None
    assert table.load(name) is None
    said = name.replace("interpstack:broken/", "interpstack:fault/")
    assert table.resolve(KERNEL_NAME, said) == said
    source = table.load(said) or ""
    fault = ModuleFault(*json.loads(source.removeprefix("export default ")))
    assert (fault.name, fault.line, fault.column, fault.as_module) == ("m.ts", 1, 11, source)
    assert table.resolve("m.ts", said) != said  # it is for the kernel alone


def test_a_table_outlives_its_realm_without_what_was_loaded(table: ModuleTable) -> None:
    assert table.resolve(KERNEL_NAME, "other.js") == "other.js"
    assert table.load("other.js") == "4"
    again = ModuleTable(table.dump())
    assert again.load("a/main.js") == "1"
    assert again.load("other.js") is None
    assert ModuleTable(ModuleTable().dump()).dump() == ""


def test_a_table_of_an_earlier_release_is_read() -> None:
    table = ModuleTable(_stored([{"a.js": "1", "b.js": None}]))
    assert table.load("a.js") == "1"
    assert table.clash({"a.js": "2"}, "@/other") == ""


def _stored(value: Any) -> str:
    return base64.b64encode(zlib.compress(json.dumps(value).encode())).decode()


_DAMAGED = [
    [{"files": {"a": "1"}, "origins": origins}]
    for origins in (5, {"a": 5}, {"a": ["x"]}, {"a": ["x", 5]})
]


@pytest.mark.parametrize(
    "stored", ["x", "eA==", _stored({}), _stored([5]), _stored([{"a": 5}]), *map(_stored, _DAMAGED)]
)
def test_a_damaged_table_is_refused(stored: str) -> None:
    with pytest.raises(ValueError):
        ModuleTable(stored)
