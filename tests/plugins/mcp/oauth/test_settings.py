"""The field `oauth` of a server."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_mcp.configuration import HttpServer, read_servers
from interpstack_mcp.oauth.settings import OAuth


def read(oauth: Any, **more: Any) -> OAuth | None:
    given = {"mcpServers": {"web": {"url": "https://example.org/mcp", "oauth": oauth, **more}}}
    (server,) = read_servers(given)
    assert isinstance(server, HttpServer)
    return server.oauth


def test_true_stands_for_a_client_that_registers_itself() -> None:
    assert read(True) == OAuth()
    assert OAuth().needs_login


def test_a_secret_comes_from_the_environment_and_is_not_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET", "hidden")
    made = read({"clientId": "me", "clientSecret": "${SECRET}", "callbackPort": 8123})
    assert made == OAuth(client_id="me", client_secret="hidden", callback_port=8123)
    assert "hidden" not in repr(made)


@pytest.mark.parametrize(
    ("oauth", "message"),
    [
        (False, "oauth takes true or an object"),
        ({"client_id": "a"}, "has the field 'client_id'; it takes grant, clientId"),
        ({"clientId": ""}, "clientId of oauth takes a non-empty string"),
        ({"clientId": 7}, "clientId of oauth takes a non-empty string; got 7"),
        ({"clientSecret": "a"}, "has a clientSecret, but no clientId"),
        (
            {"clientSecret": 7},
            "clientSecret of oauth takes a non-empty string; its value stays secret",
        ),
        ({"grant": "password"}, "grant authorization_code or client_credentials; got 'password'"),
        ({"grant": "client_credentials", "clientId": "a"}, "clientSecret, issuer is missing"),
        ({"issuer": "login.example.org"}, "issuer of oauth takes an address"),
        ({"callbackPort": 70000}, "callbackPort of oauth takes a number from 0 to 65535"),
        ({"callbackPort": True}, "callbackPort of oauth takes a number from 0 to 65535"),
    ],
)
def test_what_is_wrong_is_named(oauth: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read(oauth)
