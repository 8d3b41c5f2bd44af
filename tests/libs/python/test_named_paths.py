"""Tests of interpstack_python.advice.named_paths: what code names, read from any tree."""

from __future__ import annotations

import pytest

from interpstack_python.advice.named_paths import Lines, Path, imported, names_in, suspects, tree_of

PROGRAMS = (
    "def f(a, /, b=c['d'], *args: T, e, **kw) -> U:\n    global g\n    return a.b[c].d['e']",
    "class A(B, metaclass=C.d):\n    x: int = a.b['c']\n    async def m(self): return self.x['y']",
    "async with a.b as c, d['e'] as f:\n    async for g, (h, *i) in j.k: g['l']",
    "[a['b'] for a, b in enumerate(c['d']) if e.f for g in a]; {k.x: v['y'] for k, v in d.items()}",
    "sorted(a.b, key=lambda x: x['c']); a.sort(key=lambda: 1); map(lambda: 2, *b); max(key=len)",
    "match a.b:\n    case {'c': d, **e}: d['f']\n    case [g, *h] | i.J(k=l): g.m",
    "try:\n    a['b']\nexcept* (C, d.E) as e:\n    e.f['g']\nfinally:\n    del a.b, c['d'], e[0]",
    "(x := a.b['c'])[1:2].d; a[1, 2]; a[b'c']; a[-1]; a[-b]; a[...]; a[1.5]; f'{a.b[0]!r}'",
    "a.get(); a.get('b', c); a.get('b').get(1); a.get(*b); a.get('b')['c'].d; await a.b['c']",
    "import a.b as c, d; from . import e; from f.g import (h, i)",
)


@pytest.mark.parametrize("source", PROGRAMS)
def test_every_form_is_read(source: str) -> None:
    tree = tree_of(source)
    assert tree is not None
    for first in range(source.count("\n") + 3):
        for last in (first, first + 1):
            lines = Lines(first, last)
            for one in suspects(tree, source, lines):
                assert one.path == () or isinstance(one.path[0], str)
                assert len(one.owner) <= 80
            assert all(names_in(tree, lines))
            imported(tree, lines)


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("a['b'].c", ("a", "[b", ".c")),
        ("a[0][-1]", ("a", 0, -1)),
        ("a.get('b')['c']", ("a", "[b", "[c")),
        ("[r['b'] for r in a]", ("a", None, "[b")),
        ("[r['b'] for r in sorted(a)]", ("a", None, "[b")),
        ("[r['b'] for n, r in enumerate(a)]", ("a", None, "[b")),
        ("for r in a.b: r['c']", ("a", ".b", None, "[c")),
        ("sorted(a, key=lambda r: r['b'])", ("a", None, "[b")),
        ("list(map(lambda r: r['b'], a))", ("a", None, "[b")),
        ("list(filter(lambda r: r['b'], a))", ("a", None, "[b")),
        ("def f(r): r['b']", ()),
        ("def f():\n  r = g()\n  r['b']", ()),
        ("g()['b']", ()),
        ("a[b]['c']", ("a", None, "[c")),
    ],
)
def test_names_are_led_back_to_variables(source: str, path: Path) -> None:
    tree = tree_of(source)
    assert tree is not None
    assert path in [one.path for one in suspects(tree, source, Lines(1, 9))]


def test_what_does_not_parse_or_is_too_large_has_no_tree() -> None:
    assert tree_of("a +") is None
    assert tree_of("\0") is None
    assert tree_of("a;" * 100_000) is None
    assert tree_of("(" * 10_000) is None
    assert tree_of(r'"\d"') is not None
