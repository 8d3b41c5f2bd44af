"""Text that has no UTF-8 form, everywhere text can go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from interpstack_testing.guests.guest import ANY_ERROR, VALUE, Attack, group

__all__ = ["ATTACKS"]

_LONE = r"'\ud800'"

#: Values and how they are shown.
_VALUES = {
    "result": (_LONE, "\\ud800"),
    "low": (r"'a\udfffb'", "a\\udfffb"),
    "wrong order": (r"'\udc00\ud800'", "\\udc00\\ud800"),
    "pair": (r"'\ud83d\ude00'", "\U0001f600"),
    "nested": (f"[{_LONE}]", '["\\ud800"]'),
    "key": (f"({{[{_LONE}]: 1}})", '{"\\ud800": 1}'),
    "Map": (f"new Map([[{_LONE}, {_LONE}]])", 'Map(1) {"\\ud800" => "\\ud800"}'),
    "symbol": (f"Symbol({_LONE})", "Symbol(\\ud800)"),
    "argument and answer": (f"await host.echo({_LONE}) === {_LONE}", "true"),
    "argument key": (f"Object.keys(await host.echo({{[{_LONE}]: 1}}))[0] === {_LONE}", "true"),
    "argument with tags": (f"(await host.echo({{$: {_LONE}}})).$ === {_LONE}", "true"),
    "argument Map": (f"(await host.echo(new Map([[{_LONE}, 1]]))).get({_LONE})", "1"),
}

_ERRORS = [
    f"throw {_LONE}",
    f"throw new Error({_LONE})",
    f"throw Object.assign(new Error('m'), {{name: {_LONE}, stack: {_LONE}}})",
    f"throw {{[{_LONE}]: {_LONE}}}",
    f"await Promise.reject(new TypeError({_LONE}))",
    f"await host.echo(Symbol({_LONE}))",
]

_SOURCES = [
    ("'\ud800'.length", "1"),
    ("'\ud800' === '\\ud800'", "true"),
    ("`\ud800`.charCodeAt(0) === 0xd800", "true"),
    ("'\ud83d\ude00'.codePointAt(0) === 0x1f600", "true"),
    ("/* \ud800 */ 5", "5"),
    ("// \udfff\n6", "6"),
    ("const lone = {'\ud800': 1}; lone['\\ud800']", "1"),
]

_NO_CODE = ["\ud800", "let a\ud800 = 1", "\ud800 = 1; 2", "/\ud800", "'\ud800"]

_ODD = [
    "'a\\0b'.length",
    "'a\0b'.length",
    "'\ufeff'.length + 2",
    "'a\u2028b'.length",
    "'\r\n'.length + 1 || 1",
]

ATTACKS: Final[Mapping[str, Attack]] = {
    **group("text", {k: Attack(v, shows=shown) for k, (v, shown) in _VALUES.items()}),
    **group("text", {v: Attack(v, (ANY_ERROR,)) for v in _ERRORS}),
    "text/console": Attack(f"console.log({_LONE}, [{_LONE}], 'a'); 1", shows="1"),
    **group("text", {f"source {v!a}": Attack(v, shows=shown) for v, shown in _SOURCES}),
    **group("text", {f"no code {v!a}": Attack(v, ("SyntaxError",)) for v in _NO_CODE}),
    **group("text", {f"odd {v!a}": Attack(v, (VALUE, "SyntaxError")) for v in _ODD}),
    "text/typescript": Attack(
        "const t: string = '\ud800'; t.length",
        shows="1",
        language="typescript",
    ),
}
