"""The contract of journals: what the divergence of a second run tells."""

from __future__ import annotations

from interpstack import Completion, GuestError
from interpstack_durable.api import ReplayDivergence


def test_a_divergence_has_the_error_of_the_code_bounded() -> None:
    error = ReplayDivergence("nothing was done")
    assert error.after(None) is error
    assert error.after(Completion(text="1")) is error
    message = str(error.after(Completion(error=GuestError("TypeError", "x" * 1000))))
    assert message == f"nothing was done; the code ended with TypeError: {'x' * 300}"
