"""Tests of interpstack_javascript.advice.named_paths: what code names, read from any tree."""

# ruff: noqa: E501 - programs read best unbroken

from __future__ import annotations

import pytest

from interpstack_javascript.advice.named_paths import FaultPlace, Path, last_path, suspects
from interpstack_javascript.parser.parsing import Node, parse, units_of

#: Forms of the language and of TypeScript, with paths in them.
PROGRAMS = (
    "label: for (;;) { break label } for (;;) { a.b.c; continue }",
    "class A { #x = 1; m() { return this.#x.y } static { this.z.q } get [k]() { return a.b.c } }",
    "const [a,, {b: [c]}, ...d] = x.y.z; for (const [k, [v]] of m.n) v.o.p; ({a, b: c.d.e, ...f} = g)",
    "import x, {y as z} from 'q'; import.meta.foo.bar; await import(a.b.c)",
    "a?.[b]?.(c)?.d.e; `${a.b.c}${d}`; tag`x${y.z.w}`; (async () => { for await (const x of y.z) x.q.r })()",
    "var {q = 1, ...r} = s.t, [u = a.b.c] = v; x.map(); x.map(...y); Array.from(); a.at(); a.at(-1).b.c; a.at('x'); a.at(1, 2)",
    "type T = {a: number}; interface I { x: T } enum E { A = a.b.c, B } namespace N { export const x = y.z.w }",
    "abstract class Q<T> extends R.S<T> { constructor(private x: T) { super(); super.a.b } declare y: number }",
    "let v = <any>x.y.z; v!.q.r; (v as T).a.b; declare const zz: number; const f = (x?: T, ...y: T[]) => x!.a.b",
    "switch (a.b) { case c.d.e: f.g.h; default: } try { a.b.c } catch { d.e.f } finally { g.h.i } try {} catch ({m}) { m.n.o }",
    "delete a.b.c; void 0; typeof x.y.z; a.b.c++; [a.b.c, d] = [1]; ({x: a.b.c} = y); for (a.b.c of d.e); for (var i in q.w.e);",
    "a.b[`x`].c; a[1.5].b; a[-1].c; a[1n].d; a[/x/].e; a[null].f; a[true].g; a[1e99].h; a[x.y].z",
    "function f(a = b.c.d, {e = g.h.i}, [j] = k.l, ...m) { arguments.x.y; return m.n.o } f(); new f; new (a.b.c)(); new a.b.c",
    "(() => {})(); rows.map(r => {}); rows.map(r => { return }); rows.map(() => x.y); rows.map((a, b) => b.c); rows.map(r => r)",
    "if (x) var y = a.b; y.c.d; using_ = 1; [1,, 2].a.b; ((((a)))).b.c; (a, b.c).d.e; (a ? b : c).d.e; a ??= b.c.d",
    "'use strict'; debugger; ;; while (a.b.c) do { d.e.f } while (g.h.i); throw new a.b.C(d.e.f)",
    "#!/usr/bin/env node\n'é\U0001f600'.a.b; y.z.w",
)  # fmt: skip


def _tree(source: str) -> Node:
    for ending in ("js", "mjs", "ts", "mts"):
        parsed = parse(source, name=f"cell.{ending}")
        if not parsed.faults:
            return parsed.program
    raise AssertionError(source)


@pytest.mark.parametrize("source", PROGRAMS)
def test_every_form_is_read_at_every_place(source: str) -> None:
    program, units = _tree(source), units_of(source)
    body = program["body"]
    for count in range(len(body) + 1):
        path, _ = last_path({**program, "body": body[:count]}, units)
        assert path == () or len(path) > 1
    for at in (None, *range(len(units) + 2)):
        for one in suspects(program, units, FaultPlace(0, len(units), at)):
            assert one.use in ("call", "iterate", "name", "read")
            assert one.path == () or isinstance(one.path[0], str)
            assert len(one.text) <= 80
    suspects(program, units, FaultPlace(0, len(units), None, has_line=False))


def _paths(source: str, mark: str) -> list[Path]:
    """The paths that are read in front of the first `mark`."""
    at = source.index(mark)
    found = suspects(_tree(source), source, FaultPlace(0, len(source), at))
    return [one.path for one in found if one.use == "read" and one.mark == at]


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("a.b.MARK", ("a", "b")),
        ("a[0]['b c'].MARK", ("a", 0, "b c")),
        ("a.at(2).MARK", ("a", 2)),
        ("(a!.b as any).MARK", ("a", "b")),
        ("a.map(r => r.b.MARK)", ("a", None, "b")),
        ("a.b.filter(r => r).slice(1).map(({c: [d]}) => d.MARK)", ("a", "b", None, "c", 0)),
        ("a.reduce((sum, r) => r.MARK, 0)", ("a", None)),
        ("a.sort((x, y) => y.b.MARK)", ("a", None, "b")),
        ("Array.from(a, r => r.b.MARK)", ("a", None, "b")),
        ("a.map(r => r.b.map(s => s.c.MARK))", ("a", None, "b", None, "c")),
        ("for (const r of a.b) { const s = r.c; s.d.MARK }", ("a", "b", None, "c", "d")),
        ("for (let i = 0; i < 2; i++) a[i].b.MARK", ("a", None, "b")),
        ("function f(r) { r.b.MARK }", ()),
        ("function f() { var r = g(); r.b.MARK }", ()),
        ("{ var r = a.b; r.c.MARK }", ("r", "c")),
        ("a.map(r => { let r2 = {}; return r2.b.MARK })", ()),
        ("a.find(r => r.x).b.MARK", ()),
        ("a.map((r = {}) => r.b.MARK)", ()),
        ("a.map(({b = {}}) => b.MARK)", ()),
        ("try {} catch (e) { e.b.MARK }", ()),
        ("a" + ".b" * 40 + ".MARK", ()),
    ],
)
def test_names_are_led_back_to_variables(source: str, path: Path) -> None:
    assert _paths(source, "MARK") == [path]


@pytest.mark.parametrize(
    ("source", "path", "is_list"),
    [
        ("a.b", ("a", "b"), False),
        ("const x = 1; a[0].b;", ("a", 0, "b"), False),
        ("const x = a.b; x", ("a", "b"), False),
        ("let {b} = a; b", ("a", "b"), False),
        ("const x = a.b", ("a", "b"), False),
        ("a?.b?.c", ("a", "b", "c"), False),
        ("a.map(r => r.b)", ("a", None, "b"), True),
        ("a.map(function ({b}) { return b })", ("a", None, "b"), True),
        ("a", (), False),
        ("a.b()", (), True),
        ("a.b + 1", (), False),
        ("a[i].b", (), False),
        ("a.map(r => r.b.map(s => s.c))", (), True),
        ("a.map(r => r)", (), True),
        ("if (a) { a.b }", (), False),
        ("", (), False),
    ],
)
def test_the_last_statement_is_a_path_or_none(source: str, path: Path, is_list: bool) -> None:
    assert last_path(_tree(source), source) == (path, is_list)


def test_a_large_cell_is_looked_at_in_part() -> None:
    source = "a.b.c;\n" * 20_000
    program = parse(source, whole=True).program
    assert len(suspects(program, source, FaultPlace(0, 6, 4))) <= 12
    deep = "a.map(r => " * 300 + "r.b.c" + ")" * 300
    assert suspects(_tree(deep), deep, FaultPlace(0, len(deep), deep.index("c)")))
