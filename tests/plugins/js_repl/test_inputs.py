"""Input of the tool: its options, and every fault in the documented order."""

from __future__ import annotations

import pytest

from interpstack_js_repl.inputs import Input, InputFault, check_fields, read_input

FENCE = "`" * 3
PAIRS = "js_repl pragma expects space-separated key=value pairs (supported keys: timeout_ms); got "
ONLY = "js_repl pragma only supports timeout_ms; got "
INTEGER = "js_repl pragma timeout_ms must be a positive whole number of milliseconds; got "
TWICE = "js_repl pragma specifies timeout_ms more than once"
ALONE = "js_repl pragma must be followed by JavaScript source on subsequent lines"
EMPTY = "js_repl expects raw JavaScript tool input (non-empty). Provide JS source text, optionally"
FENCED = "js_repl expects raw JavaScript source, not markdown code fences"
WRAPPED = "js_repl is a freeform tool and expects raw JavaScript source"
PRAGMA = "// codex-js-repl:"


@pytest.mark.parametrize(
    ("text", "source", "timeout_ms"),
    [
        ("1 + 1", "1 + 1", None),
        ("  1\n\n", "  1\n\n", None),  # nothing is trimmed
        (f"{PRAGMA} timeout_ms=15000\n1", "\n1", 15000),
        ("// interpstack: timeout_ms=15000\n1\n2", "\n1\n2", 15000),
        (f"  \t{PRAGMA}timeout_ms=7\r\n1", "\n1", 7),
        (f"{PRAGMA}\n1", "\n1", None),
        (f"{PRAGMA} timeout_ms=18446744073709551615\n1", "\n1", 2**64 - 1),
        (f"1\n{PRAGMA} timeout_ms=5\n2", f"1\n{PRAGMA} timeout_ms=5\n2", None),
        (f"\n{PRAGMA} timeout_ms=5\n2", f"\n{PRAGMA} timeout_ms=5\n2", None),
        ("// codex-js-repl timeout_ms=5\n1", "// codex-js-repl timeout_ms=5\n1", None),
        ("//codex-js-repl: timeout_ms=5\n1", "//codex-js-repl: timeout_ms=5\n1", None),
        ("[1, 2]", "[1, 2]", None),
        ("17", "17", None),
        ("true", "true", None),
        ("{ let a = 1; a }", "{ let a = 1; a }", None),
        ('"use strict"; 1', '"use strict"; 1', None),
        ("`text`", "`text`", None),
    ],
)
def test_source_and_options(text: str, source: str, timeout_ms: int | None) -> None:
    assert read_input(text) == Input(source, timeout_ms)


@pytest.mark.parametrize(
    ("text", "stem"),
    [
        ("", EMPTY),
        (" \n\t ", EMPTY),
        (f"{PRAGMA} timeout_ms\n1", PAIRS + '"timeout_ms"'),
        (f"{PRAGMA} fast timeout_ms=1\n1", PAIRS + '"fast"'),
        (f"{PRAGMA} reset=true\n1", ONLY + '"reset"'),
        (f"{PRAGMA} TIMEOUT_MS=1\n1", ONLY + '"TIMEOUT_MS"'),
        (f"{PRAGMA} timeout_ms=1 timeout_ms=2\n1", TWICE),
        (f"{PRAGMA} timeout_ms=-1\n1", INTEGER + '"-1"'),
        (f"{PRAGMA} timeout_ms=0\n1", INTEGER + '"0"'),
        (f"{PRAGMA} timeout_ms=1.5\n1", INTEGER + '"1.5"'),
        (f"{PRAGMA} timeout_ms=soon\n1", INTEGER + '"soon"'),
        (f"{PRAGMA} timeout_ms=\n1", INTEGER + '""'),
        (f"{PRAGMA} timeout_ms=18446744073709551616\n1", INTEGER),
        (f"{PRAGMA} timeout_ms={'9' * 10_000}\n1", INTEGER),
        (f"{PRAGMA} timeout_ms=٣\n1", INTEGER),
        (f"{PRAGMA} timeout_ms=1", ALONE),
        (f"{PRAGMA} timeout_ms=1\n  \n", ALONE),
        (f"{FENCE}js\n1\n{FENCE}", FENCED),
        (f"{PRAGMA} timeout_ms=1\n {FENCE}\n1", FENCED),
        ('{"code": "1"}', WRAPPED),
        (' "1 + 1" ', WRAPPED),
        (f'{PRAGMA}\n{{"code": "1"}}', WRAPPED),
        # The first fault in the documented order is named.
        (f"{PRAGMA} fast\n{FENCE}", PAIRS),
        (f"{PRAGMA} timeout_ms=1 timeout_ms=2\n", TWICE),
        (f"{PRAGMA} timeout_ms=x\n", INTEGER),
    ],
)
def test_every_fault_is_named_by_its_stem(text: str, stem: str) -> None:
    with pytest.raises(InputFault) as caught:
        read_input(text)
    assert str(caught.value).startswith(stem)
    assert len(str(caught.value)) < 300


def test_the_option_of_a_field_counts_like_that_of_a_line() -> None:
    assert read_input("1", 500) == Input("1", 500)
    with pytest.raises(InputFault, match="more than once"):
        read_input(f"{PRAGMA} timeout_ms=1\n1", 500)
    with pytest.raises(InputFault, match=r"^js_repl field timeout_ms must be a positive whole"):
        read_input("1", -1)


@pytest.mark.parametrize("given", [-1, 0, 1.5, "soon", "500", "", True, 2**64, -2.0])
def test_a_wrong_field_is_named_as_a_field(given: object) -> None:
    with pytest.raises(InputFault, match=r"^js_repl field timeout_ms must be a positive whole"):
        check_fields({"code": "1", "timeout_ms": given})


@pytest.mark.parametrize("given", [1, 500, 500.0, None])
def test_a_field_may_be_any_whole_number(given: object) -> None:
    check_fields({"code": "1", "timeout_ms": given})


def test_messages_have_the_tools_name() -> None:
    with pytest.raises(InputFault, match=r"^node expects raw JavaScript"):
        read_input("", tool="node")


def test_deep_json_is_source() -> None:
    assert read_input("{" + '"a":{' * 100_000).source
