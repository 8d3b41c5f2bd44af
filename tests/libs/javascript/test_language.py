"""JavaScript and TypeScript as guest languages."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone

import pytest

from interpstack import (
    UNDEFINED,
    BigInt,
    Bridge,
    BridgeError,
    ErrorValue,
    InterpreterStack,
    MapValue,
    SetValue,
)
from interpstack_javascript import JAVASCRIPT, TYPESCRIPT, language
from interpstack_quickjs.engine import QuickJSEngine


@pytest.mark.parametrize(
    ("given", "expected"),
    [("web_search", "webSearch"), ("web-search.v2", "webSearchV2"), ("GET_ALL", "GET_ALL")],
)
def test_names_are_in_camel_case(given: str, expected: str) -> None:
    assert JAVASCRIPT.identifier(given) == expected


def test_a_call_takes_one_object() -> None:
    assert (
        JAVASCRIPT.call("task", {"description": '"x"', "n": "1"})
        == 'task({description: "x", n: 1})'
    )
    assert JAVASCRIPT.usage("task", {"a": True, "b": False}) == "task({a, b?})"
    assert (JAVASCRIPT.call("task", {}), JAVASCRIPT.usage("task", {})) == ("task()", "task()")


def test_values_are_written_as_code_writes_them() -> None:
    nested = 'new Map([[{"a": undefined}, new Set([new Uint8Array([97])])]])'
    early = timezone(timedelta(hours=1))
    values = [
        ([1, True, None, "ä", {"a": 1.5}], '[1, true, null, "ä", {"a": 1.5}]'),
        (math.nan, "NaN"),
        (BigInt(-5), "-5n"),
        (BigInt(-(2**9000)), f"{-(2**9000):#x}n"),
        (datetime(2030, 1, 2, tzinfo=early), 'new Date("2030-01-01T23:00:00Z")'),
        (ErrorValue("Own error", "bad"), 'new Error("bad")'),
        (MapValue([({"a": UNDEFINED}, SetValue([b"a"]))]), nested),
        ("x" * 1000, f'"{"x" * 1000}"'),
    ]
    assert [JAVASCRIPT.literal(value) for value, _ in values] == [text for _, text in values]


def test_long_values_are_cut() -> None:
    assert JAVASCRIPT.literal(bytes(10**6)).endswith("0, …")
    assert len(JAVASCRIPT.literal([["x"] * 1000] * 1000)) < 300


def test_typescript_is_a_dialect() -> None:
    assert JAVASCRIPT.dialects == (TYPESCRIPT,)
    assert (TYPESCRIPT.title, TYPESCRIPT.endings[0], TYPESCRIPT.words) == (
        "TypeScript",
        ".ts",
        JAVASCRIPT.words,
    )


def _bridge(name: str) -> Bridge:
    return Bridge(name=name, handler=lambda: 42)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("await", "'await' is a word of JavaScript; use a namespace, as in 'host.await'"),
        ("import.now", "'import' is a word of JavaScript"),
        ("class", "a word of"),
        ("let", "a word of"),
        ("eval", "a word of"),
        ("Object", "it would replace 'Object', a global of JavaScript"),
        ("Promise.all", "it would replace 'Promise'"),
        ("Math.add", "it would replace 'Math'"),
        ("globalThis", "a global of"),
        ("then", "JavaScript calls 'then' by itself; use another word"),
        ("ns.then.more", "calls 'then'"),
        ("ns.toJSON", "calls 'toJSON'"),
        ("a.b.toString", "calls 'toString'"),
    ],
)
def test_names_that_code_cannot_call_are_refused(name: str, fault: str) -> None:
    assert fault in JAVASCRIPT.name_fault(name)
    with pytest.raises(BridgeError, match=r"\(from host\) cannot be used: "):
        InterpreterStack(bridges=[_bridge(name)])


@pytest.mark.parametrize(
    "name", ["ns.await", "ns.class", "ns.Object", "fetch", "len", "async", "of", "$a._b.nextthen"]
)
def test_other_names_are_called(name: str) -> None:
    assert TYPESCRIPT.name_fault(name) == ""
    with InterpreterStack(bridges=[_bridge(name)]) as stack, stack.session() as session:
        outcome = session.eval_sync(f"await {name}()")
    assert (outcome.error, outcome.text) == (None, "42")


def test_engines_given_as_objects_know_their_language() -> None:
    with pytest.raises(BridgeError, match="'await' is a word of JavaScript"):
        InterpreterStack(QuickJSEngine(), bridges=[_bridge("await")])


def test_every_listed_word_is_one_of_the_engine() -> None:
    """A word that is misspelt would declare a variable, or name no global."""
    strict = "(() => {{ 'use strict'; let {word} = 1 }})"
    with InterpreterStack() as stack, stack.session() as session:
        for word in set(language._RESERVED.split()) - {"await"}:  # it is one at the top level alone
            error = session.eval_sync(strict.format(word=word)).error
            assert error is not None, word
            assert error.name == "SyntaxError", word
        unknown = f"{language._GLOBALS.split()}.filter(name => !(name in globalThis)).join()"
        missing = set(session.eval_sync(unknown).text.split(","))
    assert missing <= {"", "Atomics", "Intl", "Iterator", "SharedArrayBuffer"}  # V8 has them
