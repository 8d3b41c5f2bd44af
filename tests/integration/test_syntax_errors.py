"""Source that does not parse: every engine that knows where says so in the same form."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from engines import OnEngine

from interpstack import (
    Cell,
    InterpreterStack,
    ModuleBundle,
    Session,
    hookimpl,
    render,
)
from interpstack.contracts.modules import ModuleLoader

#: Faulty sources, and the line and column that V8 names for them (as Node 20 does). Columns count
#: characters.
_FAULTY = {
    "declaration without name": ("const = 1", 1, 7),
    "two equals": ("let = = 1", 1, 7),
    "missing bracket": ("const a = [1, 2, 3;\na.length", 1, 19),
    "missing paren": ("function f(a, b {\n  return a + b;\n}\nf(1, 2)", 1, 17),
    "extra brace": ("const a = 1;\nif (a) {\n  a;\n}}\na", 4, 2),
    "unterminated string": ("const name = 'abc;\nname", 1, 14),
    "keyword as name": ("const a = 1;\nconst class = 2;", 2, 7),
    "missing comma in object": ("const o = {\n  a: 1\n  b: 2,\n};\no", 3, 3),
    "missing comma in call": ("const x = Math.max(1 2);", 1, 20),
    "python style": ("const xs = [1, 2];\nfor x in xs:\n    console.log(x)", 2, 5),
    "unexpected token": ("const a = 1 +* 2;", 1, 14),
    "bad arrow": ("const f = (a, b) = > a + b;", 1, 11),
    "await in sync function": ("function f() {\n  const r = await g();\n  return r;\n}", 2, 13),
    "octal in template/number": ("const n = 3in [];", 1, 11),
    "illegal character": ("const a = 1 # comment", 1, 13),
    "unexpected identifier": ("const a = 1;\nlet b = a c;\nb", 2, 11),
    "return at top with junk": ("const a = 1;\nreturn return a;", 2, 1),
    "double else": ("let a = 1;\nif (a) { a } else { 2 } else { 3 }", 2, 25),
    "import after code, broken": ("const a = 1;\nimport {x from 'y';\nx", 2, 11),
    "class broken": ("class A {\n  constructor( {\n  }\n}\nnew A", 4, 1),
    "invalid assignment": ("const a = 1;\n1 = a;", 2, 1),
    "two statements": ("const a = 1 const b = 2", 1, 13),
    "missing colon ternary": ("const a = true ? 1;", 1, 19),
    "json paste": ('const a = {"x": 1, "y": };\na', 1, 25),
    "tabs": ("\tconst a = 1;\n\t\tconst b = a a;", 2, 15),
    "wide": ("const s = '日本語'; const t = s s;", 1, 30),
    "emoji": ("const s = '😀😀'; const t = s s;", 1, 29),
    "bad escape": ("const a = '\\u{zz}';", 1, 15),
    "yield stmt": ("function* g() { yield* ; }", 1, 24),
    "new line in string": ('const s = "first\nsecond";', 1, 11),
    "object literal missing brace": ("const a = foo({x: 1, y: [1, 2});", 1, 30),
    "break outside": ("const a = 1;\nbreak;", 2, 1),
    "super outside": ("const a = 1;\nsuper.x();", 2, 1),
    "declared twice": ("{ let q = 1; let q = 2; }", 1, 14),
    "getter": ("const a = { get x( { return 1 } };", 1, 29),
    "label": ("foo: bar baz", 1, 10),
    "async arrow": ("const f = async x => { await y z };", 1, 32),
    "bad spread": ("const a = [...];", 1, 15),
    "optional assign": ("const a = {};\na?.b = 1;", 2, 1),
    "template in expr": ("const u = `a${`b${c d}`}`;", 1, 19),
    "html": ("<div>hello</div>", 1, 1),
    "prose": ("Let me compute the value of the thing", 1, 5),
}

_TOKEN = re.compile(r"[\w$]+|'[^'\n]*'?|\"[^\"\n]*\"?|\S")


def _token(source: str, line: int, column: int) -> int:
    """Number of the token that is at a place, or before it."""
    before = "".join(text + "\n" for text in source.split("\n")[: line - 1])
    at = len(before) + column - 1
    return sum(found.start() <= at for found in _TOKEN.finditer(source))


@pytest.mark.engines("javascript")
def test_the_place_is_that_of_v8_within_one_token(on_engine: OnEngine) -> None:
    with InterpreterStack(on_engine.name) as stack, stack.session() as session:
        for name, (source, line, column) in _FAULTY.items():
            error = session.eval_sync(source).error
            assert error is not None, name
            assert error.place is not None, (name, error)
            place = error.place
            assert place.line == line, (name, error)
            away = _token(source, place.line, place.column) - _token(source, line, column)
            assert abs(away) <= 1, (name, error)
            assert error.stack == f"    at cell:{place.line}:{place.column}"


#: Places in what the user wrote, which differs from what the engine is given.
_REWRITTEN = {
    "behind a class": ("class A { constructor() {} }; const q = 1 2", 43),
    "behind an import": ("import {a} from 'x'; let b = 1 2", 32),
    "behind two": ("const a = 1; let b = 2; const c = 3 4", 37),
    "behind await": ("await 1; const t = 7 8;", 22),
    "in a class": ("class A { x( } }; const q = 1", 14),
}


@pytest.mark.engines("javascript")
@pytest.mark.parametrize(("source", "column"), _REWRITTEN.values(), ids=_REWRITTEN)
def test_places_are_those_of_the_source_as_written(
    on_engine: OnEngine, source: str, column: int
) -> None:
    with InterpreterStack(on_engine.name) as stack, stack.session() as session:
        for lines in ("", "const one = 1;\n\n"):
            error = session.eval_sync(Cell(source=lines + source, name="mine")).error
            assert error is not None
            assert error.place is not None
            assert (error.place.line, error.place.column) == (1 + lines.count("\n"), column)
            assert error.stack == f"    at mine:{error.place.line}:{column}"


#: V8 gives no place for these.
_PLACELESS = (
    "async function f() { for await (const [...x = []] of y) {} }",
    "for await (const [...x = []] of y) {}",
)


@pytest.mark.engines("javascript")
@pytest.mark.parametrize("source", _PLACELESS)
def test_a_fault_without_a_place_is_an_error_of_its_cell(on_engine: OnEngine, source: str) -> None:
    with InterpreterStack(on_engine.name) as stack, stack.session() as session:
        session.eval_sync("function kept() { return 41 }")
        error = session.eval_sync(source).error
        assert error is not None
        assert error.name == "SyntaxError"
        assert "binding" in error.message or "rest element" in error.message
        assert session.eval_sync("kept() + 1").text == "42"


_ENDLESS = {
    "string": ("let a = 1; // 'it\nlet b = 'oops;\nlet c = 'x' + \"y\";", 2, 9),
    "string, continued": ("const x = 'abc\\\n", 1, 11),
    "string, continued, double": ('const x = "abc\\\n', 1, 11),
    "comment": ("let a = 1; /* /* b\nlet c", 1, 12),
    "template": ("let a = `b`; let c = `d\n`; let e = `f", 2, 12),
    "name of a private field": ("let a = '#b'; // #c\nlet d = 1 # e", 2, 12),
    "end": ("function f() {\n  return [1, 2\n\n", 2, 15),
}


@pytest.mark.parametrize(("source", "line", "column"), _ENDLESS.values(), ids=_ENDLESS)
def test_what_has_no_end_is_named_by_its_beginning(source: str, line: int, column: int) -> None:
    with InterpreterStack() as stack, stack.session() as session:
        error = session.eval_sync(source).error
        assert error is not None
        assert error.place is not None
        assert (error.place.line, error.place.column) == (line, column)


#: Sources that only a module may have, and the places that V8 names for them.
_FAULTY_MODULES = {
    "import": ("const a = 1;\nimport {x from 'y';\nx", 2, 11),
    "export": ("export const a = 1;\nexport const b = 3 + ;\nexport default a;", 2, 22),
    "export of nothing": ("const a = 1;\nexport const = a;", 2, 14),
    "behind an export": ("export {a as b}; const a = {q: 1 r: 2};", 1, 34),
    "behind an import": ("import {a} from './a.js';\nconst t = await a(1 2);", 2, 19),
    "default": ("export default function f() {\n  return [1, 2;\n}", 2, 15),
    "strict": ("export const a = 1;\nwith (a) {}", 2, 1),
    "wide": ("export const s = '日本語😀'; const t = s s;", 1, 38),
    "exported text": ("export const s = 'abc;\nexport default s", 1, 18),
}


class _Files:
    """A plugin that offers sources as modules."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.sources = dict(sources)

    @hookimpl
    def interpstack_resolve_module(self, specifier: str, session: Session) -> ModuleLoader:
        async def load() -> ModuleBundle:
            name = f"files/{specifier}"
            return ModuleBundle(name, {name: self.sources[specifier]})

        return load


def test_the_place_in_a_module_is_that_of_v8_within_one_token() -> None:
    faulty = {**_FAULTY, **_ENDLESS, **_FAULTY_MODULES}
    files = _Files({f"{name}.js": source for name, (source, _, _) in faulty.items()})
    with InterpreterStack(plugins=[files]) as stack, stack.session() as session:
        for name, (source, line, column) in faulty.items():
            if name == "declared twice":  # QuickJS names the module alone
                continue
            error = session.eval_sync(f"await import({name + '.js'!r})").error
            assert error is not None, name
            assert error.place is not None, (name, error)
            place = error.place
            assert place.line == line, (name, error)
            away = _token(source, place.line, place.column) - _token(source, line, column)
            assert abs(away) <= 1, (name, error)
            assert error.stack.startswith(f"    at files/{name}.js:{place.line}:{place.column}")
            shown = source.splitlines()[place.line - 1].replace("\t", "    ")
            assert place.excerpt().startswith(f"{place.line} | {shown}\n")


def test_a_faulty_module_is_searched_without_a_run_and_can_be_mended() -> None:
    files = _Files({"b.js": "globalThis.ran = 1;\nexport const c = (1 2);"})
    with InterpreterStack(plugins=[files]) as stack, stack.session() as session:
        for _ in range(3):
            error = session.eval_sync("await import('b.js')").error
            assert error is not None
            assert error.place is not None
            assert (error.place.line, error.place.column) == (2, 21)
            assert session.eval_sync("typeof ran").text == "undefined"
        files.sources["b.js"] = "export const c = 12;"
        assert session.eval_sync("(await import('b.js')).c").text == "12"


def test_an_error_that_only_looks_like_a_fault_of_a_module_runs_nothing() -> None:
    source = "globalThis.runs = (globalThis.runs ?? 0) + 1; export const a = `b${1}` /* c */"
    messages = ("invalid first character of private name", "unexpected end of comment", "x", "")
    with InterpreterStack(plugins=[_Files({"a.js": source})]) as stack, stack.session() as session:
        session.eval_sync("await import('a.js')")
        for message in messages:
            made = f"const e = new SyntaxError({message!r}); e.stack = '    at files/a.js:1:9'"
            error = session.eval_sync(f"{{ {made}; throw e }}").error
            assert error is not None
            assert error.message == message
        assert session.eval_sync("runs").text == "1"


@pytest.mark.engines("all")
def test_the_line_is_shown_with_a_caret(on_engine: OnEngine) -> None:
    with InterpreterStack(on_engine.name) as stack, stack.session() as session:
        shown = render(session.eval_sync("a = 1\nb = '\u65e5<'; c = a a"))
    assert shown.splitlines()[-2:] == [
        "2 | b = '\u65e5&lt;'; c = a a",
        "  |                     ^</error>",
    ]


@pytest.mark.engines("javascript")
def test_errors_of_code_that_runs_have_no_place(on_engine: OnEngine) -> None:
    with InterpreterStack(on_engine.name) as stack, stack.session() as session:
        for source in (
            "eval('let = = 1')",
            "new Function('let = = 1')",
            "JSON.parse('{')",
            "throw new SyntaxError('mine')",
            "null.x",
            "new RegExp('(')",
            "await eval('a b')",
        ):
            error = session.eval_sync(source).error
            assert error is not None
            assert error.place is None, (source, error)


def test_no_piece_of_a_faulty_source_is_run() -> None:
    sources = (
        "globalThis.ran = 1; 'a\\",
        'globalThis.ran = 1; "a\\',
        "globalThis.ran = 1 # 'a\\\n \"b\\\n",
        "globalThis.ran = 1; // a\n/* b */ `c` /d/ \\",
        "globalThis.ran = 1\n<!-- x\n--> y\na b",
        "#!/bin/x\nglobalThis.ran = 1; `${`",
    )
    with InterpreterStack() as stack, stack.session() as session:
        for source in sources:
            error = session.eval_sync(source).error
            assert error is not None
            assert error.name == "SyntaxError", error
            assert session.eval_sync("typeof ran").text == "undefined", source


def test_a_large_source_is_searched_within_the_limits() -> None:
    with InterpreterStack() as stack, stack.session() as session:
        source = "a = 1;\n" * 30_000 + "b c;\n" + "a = 1\n" * 30_000
        outcome = session.eval_sync(source)
        assert outcome.error is not None
        assert outcome.error.name == "SyntaxError"
        assert outcome.error.place is not None
        assert (outcome.error.place.line, outcome.error.place.column) == (30_001, 3)


@pytest.mark.engines("javascript")
def test_an_error_of_typescript_has_the_place_that_the_author_wrote(on_engine: OnEngine) -> None:
    with InterpreterStack(on_engine.name) as stack, stack.session() as session:
        error = session.eval_sync(Cell(source="const a: = 1", language="typescript")).error
        assert error is not None
        assert (error.name, error.stack) == ("SyntaxError", "    at cell:1:10")
