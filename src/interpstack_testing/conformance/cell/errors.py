"""Errors of the guest: reported by name and message, without data of the host."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Final

from interpstack.contracts.raised import GuestException
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.kit import EngineKit

__all__ = ["ErrorTests"]

#: Characters of an error's name and message together.
_ERROR_CHARS: Final = 25_000
#: Exceptions and errors of handlers that an engine may not expect.
_RAISED: Final[Sequence[BaseException]] = (
    GeneratorExit("x"),
    asyncio.CancelledError(),
    BaseException("x"),
    BaseExceptionGroup("x", [GeneratorExit(), asyncio.CancelledError()]),
    ValueError("\ud800\0\u2028"),
    ValueError("x" * 10**6),
    *(GuestException("x", name=name) for name in ("", "a b", "\ud800", "__proto__", "n" * 10**4)),
    GuestException("x" * 10**6, name="Long"),
    GuestException("x", **dict.fromkeys(("stack", "cause", "constructor", "then"), "y")),
    GuestException("x", **dict.fromkeys(("__proto__", "__class__", "", "\ud800"), "\udfff")),
)


def _raise_next(errors: Iterator[BaseException]) -> Any:
    async def echo(value: Any) -> None:
        raise next(errors)

    return echo


class ErrorTests(EngineKit, area=Area.ERRORS):
    """Required of every engine."""

    def test_error_has_name_message_and_no_host_path(self) -> None:
        with self.session() as session:
            session.eval_sync(self.guest.store)
            error = session.eval_sync(self.guest.error).error
            assert error is not None
            assert (error.name, error.message) == (self.guest.error_name, "broken by the cell")
            assert "site-packages" not in error.stack
            assert ".py" not in error.stack
            self.assert_usable(session)

    def test_syntax_error_is_an_outcome(self) -> None:
        with self.session() as session:
            session.eval_sync(self.guest.store)
            error = session.eval_sync(self.guest.syntax_error).error
            assert error is not None
            assert error.name == "SyntaxError"
            assert error.message
            self.assert_usable(session)

    def test_empty_source_has_no_value(self) -> None:
        with self.session() as session:
            session.eval_sync(self.guest.store)
            for source in ("", " ", "\n\n"):
                outcome = session.eval_sync(source)
                assert outcome.error is None
                assert outcome.undefined
            self.assert_usable(session)

    def test_unknown_name_is_an_outcome(self) -> None:
        with self.session() as session:
            error = session.eval_sync(self.guest.recall).error
            assert error is not None
            assert error.name
            assert error.message

    def test_failed_request_can_be_caught(self) -> None:
        async def echo(value: Any) -> Any:
            raise RuntimeError("no luck")

        with self.session(echo=echo) as session:
            assert self.eval(session, self.guest.sequence) == "0 ToolError"

    def test_failed_request_that_is_not_caught_ends_the_cell(self) -> None:
        async def echo(value: Any) -> Any:
            raise RuntimeError("no luck")

        with self.session(echo=echo) as session:
            session.eval_sync(self.guest.store)
            self.fails(session, self.guest.request, "ToolError", "no luck")
            self.assert_usable(session)

    def test_whatever_a_handler_raises_is_an_error(self) -> None:
        with self.session(echo=_raise_next(iter(_RAISED))) as session:
            session.eval_sync(self.guest.store)
            for _ in _RAISED:
                outcome = session.eval_sync(self.guest.request)
                assert outcome.error is not None
                assert len(outcome.error.name) + len(outcome.error.message) < _ERROR_CHARS
            self.assert_usable(session)

    def test_the_host_chooses_names_of_errors(self) -> None:
        async def echo(value: Any) -> Any:
            raise GuestException("not now", name="Busy")

        with self.session(echo=echo) as session:
            assert self.eval(session, self.guest.sequence) == "0 Busy"
