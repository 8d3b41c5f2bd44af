"""Integers that are larger than QuickJS's BigInt."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interpstack import Bridge, GuestError, InterpreterStack, SessionState, Settlement
from interpstack.sync import run_sync
from interpstack.values.decoding import BigInt
from interpstack.values.encoding import encode
from interpstack_quickjs.integers import MOST_DIGITS, fitting_answer, fitting_values

_MOST = BigInt(16**MOST_DIGITS - 1)
_CATCH = """
let seen;
try {
  seen = typeof (await host.get(null));
} catch (error) {
  seen = `${error.name}: ${error.message}`;
}
seen
"""


def _stack(answer: Any) -> InterpreterStack:
    return InterpreterStack(
        bridges=[Bridge(name="host.get", handler=lambda value: answer, raw=True)]
    )


def _settlement(value: Any, **separators: Any) -> Settlement:
    return Settlement(1, json.dumps(encode(value), **separators), modules={"a": "b"})


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_integer_enters_and_leaves(sign: int) -> None:
    with _stack(sign * _MOST).session() as session:
        session.eval_sync("const kept = await host.get(null)")
        text = session.eval_sync("kept.toString(16).length").text
        _, state = run_sync(session.eval_with_state("1"))
    assert text == str(MOST_DIGITS + (sign < 0))
    assert state is not None
    assert state.values is not None
    assert fitting_values(state.values) == state.values


@pytest.mark.parametrize(
    "answer",
    [_MOST + 1, -_MOST - 1, {"deep": [1, {"er": _MOST + 1}]}, {1: _MOST + 1}, {_MOST + 1}],
    ids=["positive", "negative", "nested", "in a map", "in a set"],
)
def test_code_catches_an_error_in_place_of_a_larger_one(answer: Any) -> None:
    with _stack(answer).session() as session:
        session.eval_sync("let kept = 41")
        outcome = session.eval_sync(_CATCH)
        assert outcome.text.startswith("RangeError: the answer cannot enter the guest"), outcome
        assert session.eval_sync("kept + 1").text == "42"
        uncaught = session.eval_sync("await host.get(null)").error
        assert uncaught is not None
        assert uncaught.name == "RangeError"
        assert session.eval_sync("kept + 1").text == "42"


def test_integers_of_the_guest_that_are_too_large_to_come_back() -> None:
    """QuickJS makes a few by a shift that it reads from no text."""
    with _stack(1).session() as session:
        _, state = run_sync(
            session.eval_with_state(
                "const large = 1n << 1048575n, held = {deep: [large]}, small = 41"
            )
        )
        for source in ("2n ** 2000000n", "BigInt('0x' + 'f'.repeat(400000))", "large * large"):
            outcome = session.eval_sync(f"try {{ {source}; 'made' }} catch (e) {{ e.name }}")
            assert outcome.text == "RangeError", source
    assert state is not None
    with _stack(1).session() as session:
        run_sync(session.restore_state(SessionState(values=state.values)))
        assert session.eval_sync("small + 1").text == "42"
        for name in ("large", "held"):
            error = session.eval_sync(name).error
            assert error is not None
            assert "was not restored because an integer in it has more than 262143" in error.message


def test_settlements_that_fit_stay_as_they_are() -> None:
    failed = Settlement(1, error=GuestError("Error", "no"))
    text = _settlement({"$": "bigint", "v": "f" * (MOST_DIGITS + 1)})  # data, not a tag
    zeros = Settlement(1, json.dumps({"$": "bigint", "v": "-" + "0" * 300_000 + "1"}))
    for settlement in (failed, text, zeros, _settlement("f" * 300_000), _settlement([_MOST, 1])):
        assert fitting_answer(settlement) is settlement


@pytest.mark.parametrize("separators", [(",", ":"), (" , ", " : ")])
def test_a_larger_one_is_noticed_however_the_text_is_written(separators: Any) -> None:
    found = fitting_answer(_settlement([_MOST + 1], separators=separators))
    assert found.error is not None
    assert (found.text, found.error.name, found.modules) == ("null", "RangeError", {"a": "b"})
    turned = Settlement(1, '{"v": "' + "f" * (MOST_DIGITS + 1) + '", "$": "bigint"}')
    assert fitting_answer(turned).error is not None
