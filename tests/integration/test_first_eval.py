"""What a process loads before the answer of its first eval; numbers that do not depend on time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

#: Ceilings: who brings the figures down lowers them here, and each one above has its reason in a
#: commit. Modules of this project and classes that attrs makes there, after `import interpstack`
#: and after the first eval.
MODULES = {"import": 52, "eval": 102}
CLASSES = {"import": 50, "eval": 61}
#: Needed by cells that declare or import something, by TypeScript, by cells that do not parse, and
#: by listeners; loaded in a guest's thread, never on the event loop. The evaluation of schemas is
#: needed by plugins, which are loaded before.
LATE = (
    "interpstack_javascript.edits",
    "interpstack_javascript.positions",
    "interpstack_javascript.parser",
    "interpstack_javascript.preparation",
    "interpstack_javascript.typescript",
    "interpstack.values.codec",
    "interpstack.guests.guest_clock",
    "interpstack.guests.places",
    "interpstack_quickjs.heap.allocator",
    "interpstack_quickjs.heap.printed",
    "interpstack_schemas.bounded",
)

_PROGRAM = """
import json, sys
import attrs

def loaded():
    modules = [name for name in list(sys.modules) if name.partition("_")[0] == "interpstack" or
               name.partition(".")[0] == "interpstack"]
    classes = {
        one for name in modules for one in vars(sys.modules[name]).values()
        if isinstance(one, type) and attrs.has(one) and one.__module__ == name
    }
    shown = [one for one in classes if one.__dict__.get("__repr__") is not None]
    return {"modules": modules, "classes": len(classes), "shown": len(shown)}

import interpstack

first = loaded()
with interpstack.InterpreterStack(plugins=["console"]) as stack:
    assert stack.session("one").eval_sync("1 + 1").text == "2"
second = loaded()
with interpstack.InterpreterStack(plugins=["console"]) as stack:
    assert stack.session("one").eval_sync("let a = 1; a").text == "1"
print(json.dumps({"import": first, "eval": second, "declaration": loaded()}))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("quickjs_rs")
    cwd: Path = tmp_path_factory.mktemp("first_eval")
    for _ in range(2):  # the first compiles what is in no cache yet, with more code
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            cwd=cwd,
            capture_output=True,
            text=True,
            check=True,
        )
    return json.loads(done.stdout)


@pytest.mark.parametrize("when", ["import", "eval"])
def test_few_modules_and_classes_are_made(found: Any, when: str) -> None:
    assert len(found[when]["modules"]) <= MODULES[when]
    assert found[when]["classes"] <= CLASSES[when]
    assert found[when]["shown"] == 0, (
        "`Value` shows all: a method for each takes attrs a third more"
    )


def test_what_few_cells_need_is_loaded_with_the_first_of_them(found: Any) -> None:
    def late(when: str) -> list[str]:
        return [name for name in found[when]["modules"] if name.startswith(LATE)]

    assert late("import") == late("eval") == []
    assert "interpstack_javascript.preparation" in late("declaration")
