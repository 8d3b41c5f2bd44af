"""The JSON form of protocol values: what is written, what is read, and what is refused."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack import (
    Bridge,
    Cell,
    Completion,
    GuestBridge,
    GuestError,
    GuestSource,
    Image,
    Limits,
    Notification,
    Place,
    Progress,
    Request,
    Settlement,
    Step,
)
from interpstack.values import ProtocolError, from_json, to_json
from interpstack_testing.conformance.texts import texts as any_text

texts = any_text(20)
numbers = st.integers(-(2**70), 2**70)
seconds = st.floats(allow_nan=False, allow_infinity=False)
trees = st.recursive(
    st.none() | st.booleans() | numbers | seconds | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, trees, max_size=3)
places = st.builds(Place, numbers, numbers, texts, texts)
errors = st.builds(GuestError, texts, texts, texts, objects, st.none() | places)
notifications = st.builds(Notification, texts, trees)
requests = st.builds(Request, numbers, texts, trees, st.booleans())
settlements = st.builds(
    Settlement,
    numbers,
    texts,
    st.none() | errors,
    st.dictionaries(texts, texts, max_size=3),
    st.booleans(),
)
images = st.builds(Image, texts, texts, st.binary(max_size=40))
completions = st.builds(
    Completion,
    text=texts,
    omitted_chars=numbers,
    omitted_exact=st.booleans(),
    handle=st.booleans(),
    undefined=st.booleans(),
    error=st.none() | errors,
)
VALUES: dict[type, st.SearchStrategy[Any]] = {
    Notification: notifications,
    Cell: st.builds(
        Cell,
        source=texts,
        name=texts,
        language=st.none() | texts,
        seed=st.none() | st.integers(0, 2**128),
        value_name=st.sampled_from(["", "_", "answer"]),
    ),
    Completion: completions,
    GuestBridge: st.builds(
        GuestBridge,
        name=texts,
        awaited=st.booleans(),
        hidden=st.booleans(),
        listed=st.booleans(),
        counted=st.booleans(),
        declaration=texts,
    ),
    GuestError: errors,
    GuestSource: st.builds(GuestSource, texts, texts, texts, texts),
    Image: images,
    Limits: st.builds(
        Limits,
        cpu_seconds=st.none() | st.floats(0.1, 1e9),
        wall_seconds=st.none() | st.floats(0.1, 1e9),
        memory_bytes=st.none() | st.integers(2**22, 2**53),
        requests=st.none() | st.integers(1, 2**53),
        timers=st.integers(1, 2**53),
    ),
    Place: places,
    Progress: st.builds(
        Progress,
        notifications=st.lists(notifications, max_size=2).map(tuple),
        requests=st.lists(requests, max_size=2).map(tuple),
        cancelled=st.lists(numbers, max_size=2).map(tuple),
        completion=st.none() | completions,
        cpu_seconds=seconds,
        exhausted=st.booleans(),
        failure=st.none() | errors,
        state=st.sampled_from(["kept", "undone", "lost"]),
        loss=texts,
        notices=st.lists(texts, max_size=2).map(tuple),
    ),
    Request: requests,
    Settlement: settlements,
    Step: st.builds(
        Step,
        seconds,
        st.lists(settlements, max_size=2).map(tuple),
        st.dictionaries(texts, seconds, max_size=2),
    ),
}
KINDS = pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
FAULT = GuestError("TypeError", "wrong", "at cell", {"tool": "x"})


def crossed(value: Any) -> Any:
    return json.loads(json.dumps(value))


@KINDS
@given(data=st.data())
def test_every_value_comes_back(kind: type, data: st.DataObject) -> None:
    value = data.draw(VALUES[kind])
    assert from_json(kind, crossed(to_json(value))) == value


@KINDS
@given(data=st.data())
def test_any_other_data_are_refused_with_the_name_of_a_field(
    kind: type, data: st.DataObject
) -> None:
    found = crossed(to_json(data.draw(VALUES[kind])))
    at, found = found, {"whole": found}
    place: tuple[Any, Any] = (found, "whole")
    while isinstance(at, (dict, list)) and at and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at))))
        place, at = (at, key), at[key]
    place[0][place[1]] = data.draw(trees | st.just(nested(700)))
    with suppress(ProtocolError):  # unless that fits, too
        assert isinstance(from_json(kind, found["whole"]), kind)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (Request(3, "tools.x", {"n": 1}), [3, "tools.x", {"n": 1}, False]),
        (Settlement(3), [3, "null", None, {}]),
        (
            Settlement(3, error=FAULT),
            [3, "null", ["TypeError", "wrong", "at cell", {"tool": "x"}], {}],
        ),
        (Settlement(3, refused=True), [3, "null", None, {}, True]),
        (
            GuestError("SyntaxError", "wrong", place=Place(2, 5, "a", "b")),
            ["SyntaxError", "wrong", "", {}, [2, 5, "a", "b"]],
        ),
        (Image("quickjs", "1", b"\0\1\2"), ["quickjs", "1", "AAEC"]),
        (
            Cell(source="1"),
            {"source": "1", "name": "cell", "language": None, "seed": None, "value_name": ""},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_form_is_the_one_that_is_stored(value: Any, found: Any) -> None:
    assert json.dumps(to_json(value)) == json.dumps(found)
    assert from_json(type(value), found) == value


def test_engines_get_no_more_of_a_bridge_than_they_need() -> None:
    known = to_json(Bridge(name="a.b", handler=print, raw=True, declaration="x"), GuestBridge)
    assert known == {**attrs.asdict(GuestBridge(name="a.b", declaration="x"))}


def test_what_a_store_gives_back_as_tuples_is_read() -> None:
    found = (3, "null", ("TypeError", "wrong", "at cell", {"tool": "x"}), {})
    assert from_json(Settlement, found) == Settlement(3, error=FAULT)


def nested(depth: int) -> Any:
    tree: Any = 0
    for _ in range(depth):
        tree = [tree]
    return tree


CELL = to_json(Cell(source="1"))
PROGRESS = to_json(Progress())


@pytest.mark.parametrize(
    ("kind", "found", "message"),
    [
        (Settlement, 7, "Settlement takes an array; got 7"),
        (Settlement, {}, "Settlement takes an array; got {}"),
        (Settlement, [1, "a"], "Settlement.error is missing"),
        (Settlement, [1, "a", None, {}, False, "", 9], "Settlement takes 6 items at most; got 7"),
        (Settlement, [True, "a", None, {}], "Settlement.id takes a whole number; got True"),
        (Settlement, [1, None, None, {}], "Settlement.text takes a string; got None"),
        (Settlement, [1, "a", None, {"m": 5}], "Settlement.modules.m takes a string; got 5"),
        (Settlement, [1, "a", None, {5: ""}], "Settlement.modules takes keys that are strings"),
        (
            Settlement,
            [1, "a", ["E", 2, "", {}], {}],
            "Settlement.error.message takes a string; got 2",
        ),
        (Settlement, [1, "a", None, {}, 1], "Settlement.refused takes true or false; got 1"),
        (Request, [1, "a", nested(641), False], "Request.wire is nested deeper than 640 levels"),
        (Cell, {"source": "1"}, "Cell.name is missing"),
        (Cell, {**CELL, "more": 1}, "Cell.more is not a field"),
        (Cell, {**CELL, "seed": 1.5}, "Cell.seed takes a whole number; got 1.5"),
        (Cell, [], "Cell takes an object; got []"),
        (Limits, {**to_json(Limits()), "timers": 0}, "Limits limits: timers takes a whole number"),
        (Image, ["a", "b", "?"], "Image.data takes base64; got '?'"),
        (Image, ["a", "b", 5], "Image.data takes base64; got 5"),
        (Progress, {**PROGRESS, "cpu_seconds": float("nan")}, "Progress.cpu_seconds takes a"),
        (Progress, {**PROGRESS, "state": "gone"}, "Progress.state takes one of kept, undone, lost"),
        (Progress, {**PROGRESS, "cpu_seconds": 10**400}, "Progress.cpu_seconds takes a finite"),
        (
            Progress,
            {**PROGRESS, "notifications": [["a", 1], ["b"]]},
            "Progress.notifications.1.wire is missing",
        ),
        (Request, [10**5000, "a", None, "x" * 10**6], "Request.plain takes true or false"),
        (tuple[str, int], ["a"], "tuple takes 2 items; got 1"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(kind: type, found: Any, message: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        from_json(kind, found)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 300
    assert message.startswith(caught.value.field)


def test_a_class_with_fields_of_no_json_form_is_a_mistake_of_the_program() -> None:
    @attrs.frozen
    class Odd:
        field: complex

    with pytest.raises(TypeError, match="complex"):
        to_json(Odd(1j))
