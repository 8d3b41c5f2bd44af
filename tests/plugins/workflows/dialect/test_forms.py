"""The two forms of a workflow, told apart, and the place of every character in them."""

from __future__ import annotations

from typing import Any

import pytest
from claude_code_scripts import Team, bare
from workflow_runs import runner

from interpstack_workflows.errors import MetadataError
from interpstack_workflows.module.forms import top_level_script
from interpstack_workflows.module.metadata import read_metadata

_META = "export const meta = { name: 'n', description: 'd' }"


@pytest.mark.parametrize(
    ("source", "top_level"),
    [
        (f"{_META}\nreturn 1", True),
        (f"{_META}\nif (args) {{ return 1 }}", True),
        (f"{_META}\nawait agent('a')", True),
        (f"{_META}; log('a')", True),
        (f"{_META}\nconst a = 5", True),
        (f"{_META}\nexport default async () => {{ return 1 }}", False),
        (f"{_META}\nconst a = 5\nexport {{ a as default }}", False),
        (f"{_META}\nconst f = () => {{ return 'return' }}\nexport default f", False),
        (f"{_META}\nexport const other = 5\nawait agent('a')", False),
        # They do nothing: an `export default` was forgotten.
        (f"{_META}\nasync function main() {{ return agent('a') }}", False),
        (f"{_META}\nimport 'workflow:extra'; class A {{}}", False),
        (_META, False),
        ("const meta = { name: 'n', description: 'd' }\nreturn 1", False),
        (f"{_META}\nreturn 1\nlet broken = ;", False),
    ],
)
def test_a_body_at_top_level_has_no_other_export(source: str, top_level: bool) -> None:
    assert (top_level_script(source, "tested.js") is not None) is top_level


@pytest.mark.parametrize(
    ("source", "line", "column", "words"),
    [
        (
            f"{_META}\nif (args) return 1\nexport default () => 2",
            2,
            11,
            "both forms of a workflow: a default export, and a body at top level that returns",
        ),
        (
            f"{_META}\nconst f = 1\nreturn 2\nexport {{ f as default }}",
            3,
            1,
            "Keep one: move the `return` into the exported function, or leave out `export default`",
        ),
        (f"{_META}\nexport const a = 1\nreturn a", 2, 1, "exports `meta` alone; leave out the"),
        (f"{_META}\nexport * from 'workflow:extra'\nreturn 1", 2, 1, "exports `meta` alone"),
        (f"\nconst a = 1\n{_META}\nreturn a", 2, 1, "begins with `export const meta = {…}`; move"),
        (f"{_META}\nreturn 1\nconst 𐍈 = 'a' let", 3, 14, "the module does not parse: Expected"),
        (f"{_META}\nconst a: number = 1\nreturn a", 2, 7, "TypeScript, which needs a name that"),
    ],
)
def test_what_is_neither_form_is_refused(source: str, line: int, column: int, words: str) -> None:
    with pytest.raises(MetadataError) as raised:
        read_metadata(source, name="tested.js")
    assert words in str(raised.value)
    assert str(raised.value).startswith(f"tested.js:{line}:{column}: ")
    assert (raised.value.line, raised.value.column) == (line, column)


async def test_a_run_names_both_forms() -> None:
    async with runner(Team()) as made:
        with pytest.raises(MetadataError, match="both forms of a workflow"):
            await made.run(f"{_META}\nreturn 1\nexport default () => 2")


@pytest.mark.parametrize(
    "body",
    [
        "return 1",
        "const a = '𐍈';\r\n\treturn a // end",
        "import { sleep } from 'workflow:extra'; await sleep(1)\nreturn `a\n${meta.name}`",
        "/* é */ 'use strict'\u2028label: { break label }",
    ],
)
@pytest.mark.parametrize("between", [";", "; ", "\n", " // note\n", "\n\n/* more */ "])
@pytest.mark.parametrize("meta", [_META, _META.replace(" ", "\n"), f"/* 𐍈 */ {_META}"])
def test_the_body_stays_where_it_stands(meta: str, between: str, body: str) -> None:
    source = f"{meta}{between}{body}"
    script = top_level_script(source, "tested.js")
    assert script is not None
    kept = body.replace("import { sleep } from 'workflow:extra';", " " * 39)
    lines = f"{meta}{between.replace(';', ' ')}{kept}".split("\n")
    found = script.module.split("\n")[: len(lines)]
    first = meta.count("\n")
    above = len((meta.rpartition("\n")[2]).encode("utf-16-le"))
    assert found[first].encode("utf-16-le")[above:] == lines[first].encode("utf-16-le")[above:]
    assert found[first + 1 :] == lines[first + 1 :]


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
@pytest.mark.parametrize(
    ("source", "line"),
    [
        (f"{_META}; const k = 1; null.wrong", 1),
        (f"{_META}\n\n  const 𐍈 = {{}}; 𐍈.wrong()\nreturn 1 // end", 3),
        ("export const meta = {\n name: 'n',\n description: 'd' }; null.wrong", 3),
        (f"import 'workflow:extra'\n{_META}\nimport 'workflow:sandbox'; null.wrong", 3),
    ],
)
async def test_errors_name_the_authors_lines(engine: str, source: str, line: int) -> None:
    async with runner(Team(), engine=engine) as made:
        error = (await made.run(source)).error
    assert error is not None
    assert error["name"] == "TypeError"
    before = source.split("\n")[line - 1].partition("wrong")[0]
    column = len(before.encode("utf-16-le")) // 2 + 1
    if engine == "quickjs":  # it names the dot, or the call; and characters
        assert f"(workflow.js:{line}:" in error["stack"]
    else:
        assert f"workflow.js:{line}:{column})" in error["stack"]


async def test_an_import_of_nothing_names_its_line() -> None:
    source = f"{_META}\nreturn 1\n  import {{ nope }} from 'workflow:extra'"
    async with runner(Team(), engine="v8") as made:
        error = (await made.run(source)).error
    assert error is not None
    assert error["message"].startswith("failed to declare workflow module: SyntaxError: ")
    assert "workflow.js:3:12" in error["stack"]


_SYNTAX: list[tuple[str, Any]] = [
    ("return twice(2)\nfunction twice(n) { return n * 2 }", 4),
    ("const text = 'return 1'\nreturn text // return 2", "return 1"),
    ("return /* a */ 5", 5),
    ("if (!args) return\nreturn 5", None),
    ("{ return }", None),
    ("return\n5", None),
    ("return /* a\n */ 5", None),
    ("return (\n  5\n)", 5),
    ("return [1, 2].map((n) => { return n })", [1, 2]),
    ("return args ? 1 : (() => 2)()", 2),
    ("try { return 1 } finally { log('end') }", 1),
    ("switch (1) { case 1: return 'one' }", "one"),
    ("for await (const one of [agent('a')]) { return one }", "A"),
    ("out: for (;;) { for (;;) break out }\nreturn 'out'", "out"),
    ("class A { static b = 5; c() { return A.b } }\nreturn new A().c()", 5),
    ("'use strict'\nreturn (function () { return this === undefined })()", True),
    ("return typeof this", "undefined"),
    ("const { a = 1, ...rest } = args ?? { b: 2 }\nreturn [a, rest]", [1, {"b": 2}]),
    ("import { sleep } from 'workflow:extra'\nawait sleep(1)\nreturn meta.name", "n"),
    ("import more, { checkpoint } from 'workflow:extra'\nreturn [await checkpoint('c', 3)]", [3]),
    ("const { sleep } = await import('workflow:extra')\nreturn typeof sleep", "function"),
    ("args = args ?? { files: ['a'] }\nargs.files.push('b')\nreturn args.files", ["a", "b"]),
    ("const log = [], agent = 5\nreturn [log, agent]", [[], 5]),
    ("await agent('a')", None),
    ("return", None),
]


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
async def test_the_syntax_of_bodies(engine: str) -> None:
    results = []
    async with runner(Team(), engine=engine) as made:
        for body, _ in _SYNTAX:
            ended = await made.run(f"{_META}\n{body}")
            results.append(ended.error or ended.result)
    assert results == [result for _, result in _SYNTAX]


async def test_a_script_of_typescript(tmp_path: Any) -> None:
    path = tmp_path / "typed.ts"
    path.write_text(
        "export const meta = { name: 'n', description: 'd' } as const\n"
        "import type { A } from './types'\nexport type B = number\ninterface C { d: B }\n"
        "const c: C = { d: 5 }\nif (c.d satisfies number) return <B>c.d\nreturn null!",
        "utf-8",
    )
    async with runner(Team()) as made:
        ended = await made.run(path)
        fault = "export const meta = { name: 'n', description: 'd' }\nlet a: = 1\nreturn a"
        path.write_text(fault, "utf-8")
        with pytest.raises(MetadataError, match=r"typed\.ts:2:8: the module does not parse"):
            await made.run(path)
    assert (ended.error, ended.result) == (None, 5)


async def test_a_large_script() -> None:
    """It has more characters than its home allows, and a large tree."""
    rows = ",\n".join(f"[{number}, 'row {number}', {{ a: {number} }}]" for number in range(20_000))
    source = bare(f"const rows = [{rows}]\nreturn rows.at(-1)")
    assert len(source) > 524_288
    async with runner(Team()) as made:
        assert (await made.run(source)).result == [19999, "row 19999", {"a": 19999}]
