"""A cell ends as its program does in the bare engine, but for differences that have a reason.

`INTERPSTACK_TEST262` names a folder with a copy of the JavaScript standard's suite, test262.
`INTERPSTACK_SAMPLE` and `INTERPSTACK_STANDARD_SEED` draw other programs than those whose
differences are listed here.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from standard_suite import Program, sample

from interpstack import InterpreterStack, Limits
from interpstack_quickjs.guest import STATUS_OK, Guest
from interpstack_quickjs.webassembly.machine import Trapped

FOLDER = os.environ.get("INTERPSTACK_TEST262", "")
SIZE = int(os.environ.get("INTERPSTACK_SAMPLE", "1500"))
SEED = int(os.environ.get("INTERPSTACK_STANDARD_SEED", "1"))

pytestmark = pytest.mark.skipif(not FOLDER, reason="INTERPSTACK_TEST262 names no copy of test262")

#: Errors of the language, which are compared by name; what else is thrown is of one kind.
_NAMES = {"SyntaxError", "TypeError", "ReferenceError", "RangeError", "EvalError", "URIError"}
_OFFERED = "a cell imports the modules that its host offers, and is told of others"
_EARLY = "assignments in functions are not checked, as that would slow loops down"
_USING = "the engine has a newer Node than the PATH of the test may have, which reads no `using`"
_CONTEXT = "the global object of a context of Node differs; a cell ends as the suite wants"
_DYNAMIC = "test/language/expressions/dynamic-import/syntax/valid/nested-"
_EVALS = "test/annexB/language/eval-code/"
_ASSIGNED = "test/language/expressions/compound-assignment/compound-assignment-operator-calls-"
_DISPOSED = "test/language/statements/using/throws-"
#: Programs of the sample that end in another way in a cell, and why.
DIFFERENT: dict[str, str] = {
    "test/language/expressions/object/11.1.5_3-3-1.js": "`Object.prototype` takes no properties",
    "test/language/statements/for-of/typedarray-backed-by-resizable-buffer-grow-before-end.js": (
        "the constants of a cell are there in later cells, those of a text for `eval` are not"
    ),
    f"{_DYNAMIC}block-labeled-empty-str-is-valid-assign-expr.js": _OFFERED,
    f"{_DYNAMIC}block-nested-imports.js": _OFFERED,
    f"{_DYNAMIC}do-while-import-attributes-trailing-comma-second.js": _OFFERED,
    f"{_DYNAMIC}else-braceless-import-attributes-trailing-comma-first.js": _OFFERED,
    f"{_DYNAMIC}while-empty-str-is-valid-assign-expr.js": _OFFERED,
    f"{_EVALS}direct/global-if-decl-else-decl-b-eval-global-existing-global-init.js": _CONTEXT,
    f"{_EVALS}direct/global-if-decl-no-else-eval-global-existing-global-init.js": _CONTEXT,
    f"{_EVALS}indirect/global-if-decl-no-else-eval-global-init.js": _CONTEXT,
    f"{_ASSIGNED}putvalue-lref--v--1.js": _CONTEXT,
    f"{_ASSIGNED}putvalue-lref--v--17.js": _CONTEXT,
    f"{_DISPOSED}error-as-is-if-only-one-error-during-disposal.js": _USING,
    f"{_DISPOSED}if-initializer-Symbol.dispose-property-is-null.js": _USING,
    f"{_DISPOSED}if-initializer-missing-Symbol.dispose.js": _USING,
}


@pytest.fixture(scope="module")
def programs() -> Sequence[Program]:
    return sample(Path(FOLDER), SIZE, SEED)


def bare_node(programs: Sequence[Program]) -> dict[str, str]:
    """How the programs end in contexts of Node, without an interpreter."""
    given = json.dumps([[one.name, one.scripts] for one in programs])
    path = Path(__file__).with_name("bare.mjs")
    done = subprocess.run(
        ["node", "--no-warnings", path], input=given, capture_output=True, text=True, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def bare_quickjs(programs: Sequence[Program]) -> dict[str, str]:
    """How the programs end in QuickJS, without the kernel."""
    return {one.name: _end_in_quickjs(one) for one in programs}


def _end_in_quickjs(program: Program) -> str:
    guest = Guest(64 * 2**20)
    guest.set_time(10)
    try:
        guest.evaluate("globalThis.print = () => {}")
        for script in program.scripts:
            # its own entry for scripts makes them strict
            status, thrown = guest.evaluate(f"(0, eval)({json.dumps(script)})")
            if status != STATUS_OK:
                return guest.text_of(thrown, "name") or "thrown"
    except Trapped:
        return "RangeError"  # the stack ran out, which nothing bounds without the kernel
    else:
        return ""
    finally:
        guest.close()


def _end_in_cells(stack: InterpreterStack, program: Program) -> str:
    with stack.session() as session:
        for script in program.scripts:
            error = session.eval_sync(script).error
            if error is not None:
                return error.name
    return ""


def _kind(name: str) -> str:
    return name if name in _NAMES or not name else "other"


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("engine", ["quickjs", "node"])
def test_a_program_ends_as_in_the_bare_engine(engine: str, programs: Sequence[Program]) -> None:
    assert len(programs) == SIZE
    bare = bare_quickjs(programs) if engine == "quickjs" else bare_node(programs)
    different = {}
    with InterpreterStack(engine, limits=Limits(cpu_seconds=10)) as stack:
        for one in programs:
            ends = _kind(bare[one.name]), _kind(_end_in_cells(stack, one))
            if ends[0] != ends[1] and one.name not in DIFFERENT:
                different[one.name] = ends
    assert different == {}
