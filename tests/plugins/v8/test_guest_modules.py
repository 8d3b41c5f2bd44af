"""Modules of a realm, as its isolate asks for them."""

from __future__ import annotations

import pytest

from interpstack import GuestError
from interpstack_javascript import KERNEL_NAME
from interpstack_javascript.modules import ModuleTable
from interpstack_v8.context import kernel_module, module_url
from interpstack_v8.guest_modules import GuestModules, module_fault


def _modules() -> GuestModules:
    table = ModuleTable()
    table.add({"kit/index.js": "import './half.js'", "kit/half.js": "1"})
    return GuestModules(table)


def test_modules_import_their_own_files() -> None:
    modules = _modules()
    found = modules.resolve("./half.js", module_url("kit/index.js"))
    assert found == module_url("kit/half.js")
    assert modules.load(found) == "1"


@pytest.mark.parametrize("specifier", ["kit/other.js", KERNEL_NAME, "node:fs"])
def test_what_no_host_has_handed_over_is_refused(specifier: str) -> None:
    with pytest.raises(ImportError, match="Error resolving module"):
        _modules().resolve(specifier, KERNEL_NAME)
    with pytest.raises(ImportError, match="Error loading module"):
        _modules().load(module_url("kit/other.js"))


def test_the_kernel_is_imported_only_while_a_context_is_set_up() -> None:
    modules = _modules()
    modules.begin_set_up()
    assert modules.resolve(module_url(KERNEL_NAME), "") == module_url(KERNEL_NAME)
    assert modules.load(module_url(KERNEL_NAME)) == kernel_module()
    modules.end_set_up()
    with pytest.raises(ImportError):
        modules.resolve(module_url(KERNEL_NAME), "")


_FILES = {"kit/index.js": "const a = 1;\nlet é = 'x', b = ;", "kit/a b.js": "\n  class {"}


@pytest.mark.parametrize(
    ("stack", "shown", "line", "column"),
    [
        ("    at module:kit/index.js:2:18", "    at kit/index.js:2:18", 2, 18),
        ("    at module:kit/a b.js:2:9\n    at f", "    at kit/a b.js:2:9\n    at f", 2, 9),
    ],
)
def test_the_place_of_a_fault_is_read(stack: str, shown: str, line: int, column: int) -> None:
    table = ModuleTable()
    table.add(_FILES)
    error = module_fault(GuestError("SyntaxError", "unexpected", stack), table)
    assert error.stack == shown
    assert error.place is not None
    assert (error.place.line, error.place.column) == (line, column)


@pytest.mark.parametrize(
    ("name", "stack"),
    [
        ("TypeError", "    at module:kit/index.js:2:18"),
        ("SyntaxError", "    at module:kit/other.js:2:18"),
        ("SyntaxError", "    at module:kit/index.js:2"),
        ("SyntaxError", "    at module:kit/index.js:9999999999:1"),
        ("SyntaxError", "    at module:kit/index.js:0:0"),
        ("SyntaxError", "    at module:kit/index.js:2:99"),
        ("SyntaxError", "    at f\n    at module:kit/index.js:2:18"),
        ("SyntaxError", ""),
    ],
)
def test_other_errors_stay_as_they_are(name: str, stack: str) -> None:
    table = ModuleTable()
    table.add(_FILES)
    error = GuestError(name, "unexpected", stack)
    assert module_fault(error, table) is error
