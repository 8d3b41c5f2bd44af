"""Addresses that only this machine reaches."""

from __future__ import annotations

import pytest

from interpstack_mcp.serving.loopback import is_loopback


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("192.168.0.1", False),
        ("localhost.example.org", False),
        ("", False),
    ],
)
def test_loopback(host: str, own: bool) -> None:
    assert is_loopback(host) == own
