"""Attachments: what code shows with `display` comes out as it was, bounded, however a cell ends."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from interpstack.contracts.engine import Capability
from interpstack.contracts.limits import Limits
from interpstack.contracts.outcome import Outcome
from interpstack.plugins import installed
from interpstack.sessions.session import Session
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.kit import EngineKit

__all__ = ["AttachmentTests"]

_PLUGIN: Final = "display"
#: The most that one cell shows by default.
_COUNT: Final = 16
#: A picture as far as its first bytes tell, with all bytes in it.
_GIF: Final = b"GIF89a" + bytes(range(256))
_TEXT: Final = {"type": "text", "text": "a"}
_SHOWN: Final = [(_GIF, "image/gif")]


def _items(outcome: Outcome) -> list[tuple[bytes, str]]:
    return [(item.data, item.mime_type) for item in outcome.attachments]


class AttachmentTests(EngineKit, area=Area.ATTACHMENTS):
    """Required of every engine, where the plugin `display` is installed."""

    @contextmanager
    def showing(self, value: Any, **more: Any) -> Iterator[Session]:
        """A session whose cells show a value of the host."""
        if _PLUGIN not in installed():
            pytest.skip("the plugin 'display' is not installed")

        async def give() -> Any:
            return value

        with self.session(give=give, plugins=[_PLUGIN], **more) as session:
            yield session

    def test_bytes_come_out_as_they_are(self) -> None:
        with self.showing(_GIF) as session:
            outcome = session.eval_sync(self.guest.show)
            assert outcome.error is None, outcome.error
            assert _items(outcome) == _SHOWN

    def test_large_bytes_come_out_as_they_are(self) -> None:
        data = _GIF * 4000
        with self.showing(data) as session:
            assert _items(session.eval_sync(self.guest.show)) == [(data, "image/gif")]

    def test_content_of_a_tool_is_shown_unchanged(self) -> None:
        text = base64.b64encode(_GIF).decode()
        block = {"type": "image", "mimeType": "image/gif", "data": text, "extra": [1, None]}
        with self.showing([_TEXT, block]) as session:
            outcome = session.eval_sync(self.guest.show)
            assert _items(outcome) == [(b"a", "text/plain"), *_SHOWN]

    def test_each_cell_has_its_own(self) -> None:
        with self.showing(_GIF) as session:
            assert _items(session.eval_sync(self.guest.show)) == _SHOWN
            session.eval_sync(self.guest.store)
            assert _items(session.eval_sync(self.guest.recall)) == []
            twice = session.eval_sync(f"{self.guest.show}\n{self.guest.show}")
            assert _items(twice) == _SHOWN * 2

    def test_a_cell_shows_so_many_and_no_more(self) -> None:
        with self.showing([_TEXT] * _COUNT) as session:
            assert len(_items(session.eval_sync(self.guest.show))) == _COUNT
        with self.showing([_TEXT] * (_COUNT + 1)) as session:
            session.eval_sync(self.guest.store)
            outcome = self.fails(session, self.guest.show, "DisplayLimitExceeded", "at most")
            assert _items(outcome) == []
            self.assert_usable(session)

    def test_a_value_that_cannot_be_shown_is_an_error_of_the_code(self) -> None:
        for value in (b"\1\2", {"type": "image", "mimeType": "image/png", "data": "R0lGODlh"}):
            with self.showing(value) as session:
                session.eval_sync(self.guest.store)
                outcome = self.fails(session, self.guest.show, "DisplayError", "bytes")
                assert _items(outcome) == []
                self.assert_usable(session)

    def test_a_failed_cell_keeps_what_it_showed(self) -> None:
        with self.showing(_GIF) as session:
            outcome = session.eval_sync(f"{self.guest.show}\n{self.guest.error}")
            assert outcome.error is not None
            assert _items(outcome) == _SHOWN

    def test_a_stopped_cell_keeps_what_it_showed(self) -> None:
        if Capability.CPU_LIMIT not in self.engine.capabilities:
            pytest.skip("the engine does not declare cpu-limit")
        with self.showing(_GIF, limits=Limits(cpu_seconds=1)) as session:
            outcome = session.eval_sync(f"{self.guest.show}\n{self.guest.loop}")
            assert outcome.stopped
            assert _items(outcome) == _SHOWN
