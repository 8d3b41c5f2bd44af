"""JSON of guests: the same values as `json.loads`, read so that other threads go on."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack.values import json_text, read_json
from interpstack_testing.conformance.texts import texts as any_text

texts = st.sampled_from(['"', "\\", "]},{[", "a,", "\ud800", ""]) | any_text(8)
trees = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=30,
)
written = st.builds(
    lambda tree, ascii_only, indent: json.dumps(tree, ensure_ascii=ascii_only, indent=indent),
    trees,
    st.booleans(),
    st.none() | st.just(1),
)
edits = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 1), st.sampled_from([*',[]{}:"\\0 a', ""])),
    min_size=1,
    max_size=3,
)


_FAULTY = [
    *("[1,,2]", "[1,]", "[,1]", "[[1]1]", '{"a":{"b":1}"c":1}', "[1}", "[1]]", "x[1]", "[1][2]"),
    *('["a]', '{"a":1[2]}', "[1,NaN]", "]", ",", '{"a":[1],}', "[[1],,[2]]", "[[1]x,2]", ""),
    *("{1:[2]}", "{[1]:2}", "{[1]}", '[{"a":[1] "b":2}]', "[[1] [2]]"),
]


@pytest.fixture(params=[1, 10])
def in_pieces(request: Any) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_text, "_PIECE_CHARS", request.param)
        yield


@pytest.mark.usefixtures("in_pieces")
@given(written)
def test_values_are_those_of_the_standard_library(text: str) -> None:
    assert repr(read_json(text)) == repr(_loaded(text))


@pytest.mark.usefixtures("in_pieces")
@given(written, edits)
def test_texts_that_are_not_json_are_refused(
    text: str, changes: list[tuple[int, int, str]]
) -> None:
    for at, taken, put in changes:
        at %= len(text) + 1
        text = text[:at] + put + text[at + taken :]
    try:
        expected = repr(_loaded(text))
    except ValueError:
        with pytest.raises(ValueError):
            read_json(text)
    else:
        assert repr(read_json(text)) == expected


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("text", _FAULTY)
def test_each_fault_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_json(text)


@pytest.mark.usefixtures("in_pieces")
def test_the_last_of_two_equal_keys_counts() -> None:
    assert read_json('{"a":[1,2,3],"b":0,"a":{"c":[4]},"b":[5]}') == {"a": {"c": [4]}, "b": [5]}


def test_long_strings_and_escapes() -> None:
    value = ['\\"' * 20_000, "x" * 300_000, {"\n" * 30_000: "\U0001f600"}]
    assert read_json(json.dumps(value)) == value


_DEEP = [
    "[" * 1010 + "]" * 1010,
    '{"a":' * 1500 + "1" + "}" * 1500,
    '[{"a":' * 600 + "[]" + "}]" * 600,
]


@pytest.mark.parametrize("text", [*_DEEP, "[" * 100_000, '{"a":' * 100_000])
def test_too_deep_texts_are_refused(text: str) -> None:
    with pytest.raises((RecursionError, ValueError)):
        read_json(text)


@pytest.mark.usefixtures("in_pieces")
@pytest.mark.parametrize("text", _DEEP)
def test_too_deep_texts_are_refused_in_pieces(text: str) -> None:
    with pytest.raises(RecursionError):
        read_json(text)


def test_texts_with_many_brackets_that_are_not_deep_are_read_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_text, "_Reader", None)
    for value in (
        [{"id": n, "tags": ["a", {"b": []}], "text": "x\n"} for n in range(1500)],
        ["[" * 900, "]"],
        [[]] * 3000,
    ):
        assert read_json(json.dumps(value)) == value


@pytest.mark.parametrize("inner", ['"["', '"\\"["', '"]"', '"\\\\"', '"é["', "{}"])
def test_brackets_in_strings_are_no_depth(inner: str) -> None:
    text = f"[{','.join([inner] * 1500)}]"
    assert read_json(text) == json.loads(text)
    with pytest.raises(RecursionError):
        read_json("[" * 1010 + text + "]" * 1010)


@pytest.mark.parametrize(
    "value",
    [
        {f"key {n}": n for n in range(300_000)},
        [n / 3 for n in range(600_000)],
        {"a": [{"b": n, "c": [str(n)]} for n in range(100_000)]},
        {"$": "map", "v": [[n, {"k": [n]}] for n in range(100_000)]},
    ],
    ids=["keys", "numbers", "rows", "pairs"],
)
def test_other_threads_run_meanwhile(value: Any) -> None:
    text = json.dumps(value)
    reads, beats, ended = threading.Event(), [0], threading.Event()

    def beat() -> None:
        reads.wait()
        while not ended.is_set():
            beats[0] += 1
            ended.wait(0.0001)

    thread = threading.Thread(target=beat)
    thread.start()
    reads.set()
    before = beats[0]
    read = read_json(text)
    during = beats[0] - before
    ended.set()
    thread.join()
    assert read == value
    assert during >= 3  # the standard library: none, or one at the start


@pytest.mark.parametrize("value", [None, 1, "a", [1, [2.5]], {"a": {"b": [True]}}])
def test_short_values_are_those_of_the_standard_library(value: Any) -> None:
    assert read_json(json.dumps(value)) == value


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "", "[1", "1 2"])
def test_short_texts_that_are_not_json_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_json(text)


def test_only_long_texts_are_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(text: str) -> Any:
        raise AssertionError(f"{len(text)} characters were read in pieces")

    monkeypatch.setattr(json_text, "_Reader", refuse)
    text = json.dumps("x" * (2 * json_text._PIECE_CHARS - 2))
    assert len(read_json(text)) == len(text) - 2
    with pytest.raises(AssertionError, match=f"{len(text) + 1} characters"):
        read_json(text + " ")


def _loaded(text: str) -> Any:
    def refused(constant: str) -> Any:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refused)
