"""The SDK's log of connections that were made here does not reach the host's standard error."""

from __future__ import annotations

import contextvars
import logging
from typing import Any

import mcp
import pytest

from interpstack_mcp.connections.sdk_logs import own_connection, own_request


def warn(name: str, file: str) -> None:
    """Log a warning from a line of this file."""
    exec(compile(f"log.warning('from {name}')", file, "exec"), {"log": logging.getLogger(name)})


@pytest.mark.parametrize("name", ["client", "mcp.client.session", "mcp.client.streamable_http"])
def test_a_warning_of_the_sdk_becomes_a_record_for_debugging(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")

    def of_this(work: Any) -> list[tuple[str, str]]:
        caplog.clear()
        contextvars.copy_context().run(work)
        return [(one.name, one.levelname) for one in caplog.records]

    def connected() -> None:
        own_connection()
        warn(name, mcp.__file__)

    def asked() -> None:
        with own_request():
            warn(name, mcp.__file__)

    def host() -> None:
        own_connection()
        warn(name, __file__)

    assert of_this(connected) == of_this(asked) == [("interpstack.mcp", "DEBUG")]
    assert of_this(host) == [(name, "WARNING")]
    assert of_this(lambda: warn(name, mcp.__file__)) == [(name, "WARNING")]
