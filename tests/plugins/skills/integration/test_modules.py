"""What is inside a skill: several files, TypeScript, failures."""

from __future__ import annotations

import json
from typing import Any

import pytest
from engines import OnEngine

from interpstack import InterpreterStack, Place, Session


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("files", "code", "text"),
    [
        (
            {"index.js": "export * from './lib/a.js'", "lib/a.js": "export {x} from '../b.js'",
             "b.js": "export const x = 1"},
            "m.x", "1",
        ),
        (
            {"index.js": "export * as a from './a.js'; export {default} from './a.js'",
             "a.js": "export const x = 2; export default class D {}"},
            "[m.a.x, m.default]", "[2, [class D]]",
        ),
        (
            {"index.js": "import {b} from './b.js'; export const a = () => b() + 1",
             "b.js": "import {a} from './index.js'; export const b = () => typeof a"},
            "m.a()", "function1",
        ),
        ({"index.js": "export const x = await Promise.resolve(3)"}, "m.x", "3"),
        (
            {"index.js": "export const x = await new Promise(go => setTimeout(() => go(4), 2))"},
            "m.x", "4",
        ),
        (
            {"index.js": "import './set.js'; export const x = five; delete globalThis.five",
             "set.js": "globalThis.five = 5"},
            "m.x", "5",
        ),
        (
            {"index.js": "export const x = async n => (await import(`./${n}.js`)).x",
             "late.js": "export const x = 6"},
            "await m.x('late')", "6",
        ),
        ({"index.js": "export const x = [typeof this, typeof require, typeof fetch].join()"},
         "m.x", "undefined,undefined,undefined"),
        ({"index.js": "export const x = '\0\U0001f600'.length"}, "m.x", "3"),
        ({"index.js": "\ufeffexport const x = 8"}, "m.x", "8"),
        ({"index.js": "export const x = 9\r\nexport const y = 1\r\n"}, "m.x", "9"),
        ({"index.js": "let n = 0; export const next = () => ++n"}, "m.next() + m.next()", "3"),
    ],
)  # fmt: skip
async def test_javascript(
    session: Session, skill: Any, files: dict[str, str], code: str, text: str
) -> None:
    skill("m", files)
    outcome = await session.eval(f'import * as m from "@/skills/m"; {code}')
    assert (outcome.error, outcome.text) == (None, text)


TYPED = "enum E { A = 3 }\ninterface I { x: number }\nexport const x: number = E.A as number;"


@pytest.mark.parametrize("ending", ["js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"])
async def test_every_ending_can_be_an_entry(session: Session, skill: Any, ending: str) -> None:
    skill("m", {f"go.{ending}": TYPED if "t" in ending else "export const x = 3"},
          front=f"module: go.{ending}")  # fmt: skip
    assert (await session.eval('(await import("@/skills/m")).x')).text == "3"


@pytest.mark.parametrize(
    ("specifier", "file"),
    [
        ("./x.js", "x.ts"),
        ("./x.js", "x.tsx"),
        ("./x.mjs", "x.mts"),
        ("./x.cjs", "x.cts"),
        ("./x.jsx", "x.tsx"),
        ("./x.ts", "x.ts"),
        ("./x", "x.ts"),
        ("./x", "x.js"),
        ("./x", "x/index.ts"),
        ("./x/", "x/index.js"),
        ("./a/../x", "x.ts"),
        ("./x.util.js", "x.util.ts"),
        ("./x.util", "x.util.ts"),
    ],
)
async def test_how_relative_imports_find_their_file(
    session: Session, skill: Any, specifier: str, file: str
) -> None:
    skill("m", {"index.ts": f"export {{x}} from '{specifier}'", file: "export const x = 3"})
    outcome = await session.eval('(await import("@/skills/m")).x')
    assert (outcome.error, outcome.text) == (None, "3")


async def test_the_file_that_is_there_comes_first(session: Session, skill: Any) -> None:
    skill("m", {"index.js": "export {x} from './x.js'", "x.js": "export const x = 'js'",
                "x.ts": "export const x = 'ts'"})  # fmt: skip
    assert (await session.eval('(await import("@/skills/m")).x')).text == "js"


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(
    ("imported", "why"),
    [
        ("./nope.js", "./nope.js"),
        ("@/skills/other", "@/skills/other"),
        ("../other/index.js", "../other/index.js"),
        ("../../x.js", "../../x.js"),
        ("/etc/passwd", "/etc/passwd"),
        ("%2e%2e/other/index.js", "%2e%2e"),
        ("./%2e%2e/other/index.js", "%2e%2e"),
        ("./INDEX.js", "./INDEX.js"),
        ("./lib/../../other/index.js", "other"),
        ("lodash", "lodash"),
        ("node:fs", "node:fs"),
        ("https://x.invalid/y.js", "https://x.invalid/y.js"),
        ("interpstack:kernel", "interpstack:kernel"),
        ("./node_modules/dep/index.js", "dep"),
        ("./.hidden.js", ".hidden"),
        ("./data.json", "data.json"),
    ],
)
@pytest.mark.parametrize("form", ["import {{x}} from '{}'", "export * from '{}'"])
async def test_a_skill_reaches_its_own_files_only(
    session: Session, skill: Any, form: str, imported: str, why: str
) -> None:
    skill("other", {"index.js": "export const x = 1"})
    skill("m", {
        "index.js": form.format(imported), "data.json": "{}",
        "node_modules/dep/index.js": "export const x = 1", ".hidden.js": "export const x = 1",
    })  # fmt: skip
    await session.eval('import "@/skills/other"')  # that it is loaded opens no way to it
    outcome = await session.eval('await import("@/skills/m")')
    assert outcome.error is not None
    assert outcome.error.name == "ModuleNotFound"
    assert why in outcome.error.message
    assert (await session.eval('(await import("@/skills/other")).x')).text == "1"


@pytest.mark.parametrize(
    ("files", "name", "message", "place"),
    [
        ({"index.js": "import './b.js'", "b.js": "\n\n  throw new TypeError('boo')"},
         "TypeError", "boo", "@/skills/m/b.js:3:"),
        ({"index.js": "export const x = 1;\nmissing();"},
         "ReferenceError", "missing is not defined", "@/skills/m/index.js:2:"),
        ({"index.js": "import './b.js'", "b.js": "export const = 1"},
         "SyntaxError", "", "@/skills/m/b.js:1:"),
        ({"index.js": "import {x} from './b.js'", "b.js": "export const y = 1"},
         "SyntaxError", "'x' in module '@/skills/m/b.js'", ""),
        ({"index.ts": "\nexport const x: = 1"}, "SyntaxError", "", "@/skills/m/index.ts:2:17"),
        ({"index.js": "import './b.mts'", "b.mts": "export const x = 1 satisfies"},
         "SyntaxError", "", "@/skills/m/b.mts:1:"),
        ({"index.ts": "const a = 1;\n  @a class B {}"},
         "SyntaxError", "", "@/skills/m/index.ts:2:3"),
        ({"index.ts": "import './" + "long" * 50 + ".ts'",
          "long" * 50 + ".ts": "const a = 'it\\'s \"quoted\"';\nconst b: = `é`"},
         "SyntaxError", "", "@/skills/m/" + "long" * 50 + ".ts:2:10"),
        ({"index.js": "throw new Error('interpstack:broken/0123456789abcdef')"},
         "Error", "interpstack:broken/0123456789abcdef", ""),
        ({"index.js": "await Promise.reject(new RangeError('late'))"}, "RangeError", "late", ""),
        ({"index.js": "throw 'text'"}, "Error", "text", ""),
        ({"index.js": "await new Promise(() => {})"}, "Deadlock", "", ""),
        ({"index.js": "module.exports = 1"}, "ReferenceError", "module", ""),
    ],
)  # fmt: skip
async def test_failures_name_the_file(
    session: Session, skill: Any, files: dict[str, str], name: str, message: str, place: str
) -> None:
    skill("m", files)
    skill("good", {"index.js": "export const x = 1"})
    outcome = await session.eval('import "@/skills/m"')
    assert outcome.error is not None
    assert outcome.error.name == name
    assert message in outcome.error.message
    assert place in outcome.error.stack
    assert (await session.eval('(await import("@/skills/good")).x')).text == "1"


@pytest.mark.engines("javascript")
async def test_a_fault_in_typescript_has_its_place(
    session: Session, skill: Any, on_engine: OnEngine
) -> None:
    skill("m", {"index.ts": "export const a: number = 1;\nexport function f(x: string: {}"})
    outcome = await session.eval('import "@/skills/m"')
    assert outcome.error is not None
    assert outcome.error.stack.startswith("    at @/skills/m/index.ts:2:28")
    if on_engine.name != "node":  # which has no places in modules
        assert outcome.error.place == Place(2, 28, "export function f(x: string", ": {}")
    caught = await session.eval(
        'try { await import("@/skills/m") } catch (e) { [e.name, e.message, `${e}`] }'
    )
    error = outcome.error
    found = [error.name, error.message, f"{error.name}: {error.message}"]
    assert caught.text == json.dumps(found)


async def test_an_endless_module_times_out_and_is_undone(
    stack: InterpreterStack, session: Session, skill: Any
) -> None:
    skill("m", {"index.js": "globalThis.begun = true; for (;;);"})
    skill("good", {"index.js": "export const x = 1"})
    await session.eval("let kept = 1")
    for _ in range(2):
        outcome = await session.eval('import "@/skills/m"')
        assert outcome.error is not None
        assert outcome.error.name == "Timeout"
        assert "undone" in f"{outcome.error.message}{outcome.notices}"
    assert (await session.eval("typeof begun")).text == "undefined"
    outcome = await session.eval('[kept, (await import("@/skills/good")).x]')
    assert (outcome.error, outcome.text) == (None, "[1, 1]")


async def test_a_cell_that_only_imported_before_it_timed_out_is_not_undone(
    session: Session, skill: Any
) -> None:
    skill("m", {"index.js": "export const x = 1"})
    outcome = await session.eval('import {x} from "@/skills/m"; let kept = 1; for (;;) kept++')
    assert outcome.error is not None
    assert outcome.error.name == "Timeout"
    assert (await session.eval("x")).text == "1"


async def test_a_module_that_waits_for_ever_can_be_imported_again(
    session: Session, skill: Any
) -> None:
    skill("m", {"index.js": "await globalThis.gate; export const x = 1"})
    await session.eval("globalThis.gate = new Promise(() => {})")
    outcome = await session.eval('import "@/skills/m"')
    assert outcome.error is not None
    assert outcome.error.name == "Deadlock"
    await session.eval("globalThis.gate = 1")
    assert (await session.eval('(await import("@/skills/m")).x')).text == "1"


@pytest.mark.engines("javascript")
async def test_what_failed_to_parse_can_be_mended(session: Session, skill: Any) -> None:
    directory = skill("m", {"index.js": "export {x} from './b.js'", "b.js": "export const x ="})
    assert (await session.eval('import "@/skills/m"')).error is not None
    (directory / "b.js").write_text("export const x = 1")
    assert (await session.eval('(await import("@/skills/m")).x')).text == "1"


async def test_a_syntax_error_shows_the_line_of_the_file(session: Session, skill: Any) -> None:
    skill("m", {"index.js": "import './lib/h.js'", "lib/h.js": "const q = 1;\nlet r = 3 + ;\n"})
    error = (await session.eval("await import('@/skills/m')")).error
    assert error is not None
    assert error.name == "SyntaxError"
    assert error.stack.startswith("    at @/skills/m/lib/h.js:2:")
    assert error.place is not None
    assert error.place.excerpt().startswith("2 | let r = 3 + ;\n  | ")
    # A stack is what code says that it is.
    for stack in ("    at @/skills/m/gone.js:1:1", "    at @/skills/m/index.js:999999999:1"):
        made = f"const e = new SyntaxError('x'); e.stack = {stack!r}; throw e"
        assert (await session.eval(made)).error is not None
    again = (await session.eval("await import('@/skills/m')")).error
    assert again is not None
    assert again.place == error.place
