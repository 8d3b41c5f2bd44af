"""Modules of a realm, as its isolate asks for them."""

from __future__ import annotations

import pytest

from interpstack_javascript import KERNEL_NAME
from interpstack_javascript.modules import ModuleTable
from interpstack_v8.context import kernel_module, module_url
from interpstack_v8.guest_modules import GuestModules


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
