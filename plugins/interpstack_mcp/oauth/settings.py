"""The field `oauth` of a server in the configuration, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import attrs

from interpstack import ConfigurationError
from interpstack.checks import shown

__all__ = ["LoginNeeded", "OAuth", "read_oauth"]

_FIELDS: Final = ("grant", "clientId", "clientSecret", "issuer", "callbackPort")
#: The grants of OAuth 2.1 that are accepted: with a person who logs in once, and without.
_GRANTS: Final = ("authorization_code", "client_credentials")
_EXAMPLE: Final = '"oauth": {"clientId": "my-client"}'


class LoginNeeded(Exception):
    """Raised when a person has to log in before a server can be used."""


@attrs.frozen(kw_only=True)
class OAuth:
    """The authorization of the requests to a server.

    The scopes are those that the server asks for, as the MCP specification wants it.

    Attributes:
        grant: `authorization_code`, for which a person logs in once, or `client_credentials`.
        client_id: The client's name at the authorization server; `None` to register a client.
        client_secret: The client's secret; `None` for a public client.
        issuer: The authorization server that the secret belongs to.
        callback_port: The loopback port to which the browser returns; 0 for a free one.
    """

    grant: str = _GRANTS[0]
    client_id: str | None = None
    client_secret: str | None = attrs.field(default=None, repr=False)
    issuer: str | None = None
    callback_port: int = 0

    @property
    def needs_login(self) -> bool:
        """Whether a person logs in."""
        return self.grant == _GRANTS[0]


def read_oauth(where: str, given: Any) -> OAuth:
    """The settings of a server.

    Args:
        where: Names the server in errors.
        given: `True` for a client that registers itself, or an object with the settings.

    Raises:
        ConfigurationError: A field is unknown, missing, or of the wrong kind.
    """
    if given is True:
        return OAuth()
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f"{where}: oauth takes true or an object, as in {_EXAMPLE}; got {shown(given)}"
        )
    for name in given:
        if name not in _FIELDS:
            raise ConfigurationError(
                f"{where}: oauth has the field {shown(name)}; it takes {', '.join(_FIELDS)}"
            )
    grant = given.get("grant", _GRANTS[0])
    if grant not in _GRANTS:
        raise ConfigurationError(
            f"{where}: oauth takes the grant {' or '.join(_GRANTS)}; got {shown(grant)}"
        )
    return _checked(
        where,
        OAuth(
            grant=grant,
            client_id=_text(where, given, "clientId"),
            client_secret=_text(where, given, "clientSecret"),
            issuer=_issuer(where, given),
            callback_port=_port(where, given.get("callbackPort", 0)),
        ),
    )


def _checked(where: str, made: OAuth) -> OAuth:
    if made.client_secret is not None and made.client_id is None:
        raise ConfigurationError(f"{where}: oauth has a clientSecret, but no clientId")
    if not made.needs_login:
        wanted = {
            "clientId": made.client_id,
            "clientSecret": made.client_secret,
            "issuer": made.issuer,
        }
        missing = [name for name, value in wanted.items() if value is None]
        if missing:
            raise ConfigurationError(
                f"{where}: the grant {made.grant} needs {', '.join(wanted)}; "
                f"{', '.join(missing)} is missing"
            )
    return made


def _text(where: str, given: Mapping[str, Any], field: str) -> str | None:
    value = given.get(field)
    if value is None:
        return None
    if not isinstance(value, str) or not value.isprintable() or not value.strip():
        kind = "its value stays secret" if field == "clientSecret" else f"got {shown(value)}"
        raise ConfigurationError(f"{where}: {field} of oauth takes a non-empty string; {kind}")
    return value


def _issuer(where: str, given: Mapping[str, Any]) -> str | None:
    issuer = _text(where, given, "issuer")
    if issuer is not None and urlsplit(issuer).scheme not in ("http", "https"):
        raise ConfigurationError(
            f"{where}: issuer of oauth takes an address, as in 'https://login.example.org'; "
            f"got {shown(issuer)}"
        )
    return issuer


def _port(where: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 65535:
        raise ConfigurationError(
            f"{where}: callbackPort of oauth takes a number from 0 to 65535; got {shown(value)}"
        )
    return value
