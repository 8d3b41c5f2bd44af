"""Requests with the tokens of a client that has a secret."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mcp_config import Notes, free_port, guarded_server

from interpstack import InterpreterStack
from interpstack_mcp.api import mcp


@pytest.fixture
def url(notes: Notes) -> Iterator[str]:
    port = free_port()
    with guarded_server(port, notes, "client_credentials"):
        yield f"http://127.0.0.1:{port}"


async def asked(url: str, **changes: Any) -> tuple[str, tuple[str, ...]]:
    oauth = {
        "grant": "client_credentials",
        "clientId": "machine",
        "clientSecret": "hidden",
        "issuer": url,
        **changes,
    }
    given = {"mcpServers": {"guarded": {"url": f"{url}/mcp", "oauth": oauth}}}
    async with InterpreterStack(plugins=[mcp(given)]) as stack, stack.session() as session:
        outcome = await session.eval("(await mcp.guarded.whoami()).result")
        return outcome.text, outcome.notices


async def test_a_client_with_a_secret_needs_no_person(url: str, notes: Notes) -> None:
    assert await asked(url) == ("somebody who is allowed to", ())
    _, notices = await asked(url, clientSecret="wrong")
    assert "invalid_client" in notices[0]
    _, notices = await asked(url, issuer="http://127.0.0.1:9/elsewhere")
    assert "issuer mismatch" in notices[0]
    assert notes.text() == "let in\n", "the secret goes to its own authorization server only"
