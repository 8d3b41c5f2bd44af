"""A server whose clients log in elsewhere: an authorization server says what tokens are worth.

The SDK answers with the metadata of the protected resource, refuses requests without a good token,
and binds sessions to the client, issuer and person of the token that began them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import attrs
import httpx2
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken, principal_components
from mcp.server.auth.settings import AuthSettings

from interpstack import ConfigurationError
from interpstack.checks import expect
from interpstack_mcp.serving.arguments import texts
from interpstack_mcp.serving.loopback import is_loopback

__all__ = ["OAuthResource", "TokenVerifier", "owner_of"]

_log = logging.getLogger("interpstack.mcp")
#: Seconds for one question to the authorization server, and bytes of its answer.
_SECONDS: Final = 10.0
_BYTES: Final = 65_536
#: Characters of a token that is asked about.
_TOKEN_CHARS: Final = 8_192


class TokenVerifier(Protocol):
    """The SDK's protocol of a function that checks tokens."""

    async def verify_token(self, token: str) -> AccessToken | None:
        """The access that a token gives; `None` for none."""


def _scopes(given: Any) -> Sequence[str]:
    return texts("scopes", given)


@attrs.frozen(kw_only=True)
class OAuthResource:
    """A server as a protected resource of OAuth.

    Attributes:
        issuer: The URL of the authorization server that issues the tokens.
        resource: The URL by which clients reach the server, such as `https://example.org/mcp`.
            Tokens must have been issued for it.
        introspection: The URL at which the authorization server says whether a token is valid (RFC
            7662); empty with a `verifier`.
        client_id: The name with which this server asks the authorization server.
        client_secret: The secret for that name.
        scopes: Scopes that a token must have, all of them.
        verifier: Checks tokens in place of the introspection, for example signed ones (JWT). It
            must set `AccessToken.resource`; otherwise, tokens are refused.

    Raises:
        ConfigurationError: A value is wrong.
    """

    issuer: str
    resource: str
    introspection: str = ""
    client_id: str = ""
    client_secret: str = attrs.field(default="", repr=False)
    scopes: Sequence[str] = attrs.field(default=(), converter=_scopes)
    verifier: TokenVerifier | None = None

    def __attrs_post_init__(self) -> None:
        for name in ("issuer", "resource", "introspection"):
            _check_url(f"OAuth {name}", getattr(self, name), name == "introspection")
        if bool(self.introspection) == (self.verifier is not None):
            raise ConfigurationError("OAuth takes an introspection URL or a verifier, and not both")
        if self.introspection and not self.client_id:
            raise ConfigurationError("OAuth introspection needs the client_id of this server")
        for scope in self.scopes:
            if (
                not scope
                or not scope.isascii()
                or not scope.isprintable()
                or set(scope) & set(' "\\')
            ):
                raise ConfigurationError(f"OAuth scope {scope!r:.60} is not a name of a scope")

    @property
    def settings(self) -> AuthSettings:
        """The settings as the SDK takes them."""
        return AuthSettings.model_validate(
            {
                "issuer_url": self.issuer,
                "resource_server_url": self.resource,
                "required_scopes": list(self.scopes) or None,
                "validate_token_resource": True,
            }
        )

    @property
    def checking(self) -> TokenVerifier:
        """The verifier, or one that asks the authorization server."""
        return self.verifier or _Introspection(self)


def _check_url(name: str, url: Any, empty: bool) -> None:
    """Refuse URLs by which tokens or secrets would be sent in the clear."""
    if empty and url == "":
        return
    expect(url, str, f"{name} takes a URL")
    parts = urlsplit(url)
    secure = parts.scheme == "https" or (
        parts.scheme == "http" and is_loopback(parts.hostname or "")
    )
    if not parts.hostname or not secure or parts.fragment:
        raise ConfigurationError(
            f"{name} takes an https URL without a fragment, or an http URL of the loopback; got "
            f"{url!r:.200}"
        )


@attrs.frozen
class _Introspection:
    """Asks the authorization server about each token.

    Answers are not kept, so a token that was revoked is refused with the next request.
    """

    resource: OAuthResource

    async def verify_token(self, token: str) -> AccessToken | None:
        """The access of a token; `None` also if the authorization server does not answer well."""
        if len(token) > _TOKEN_CHARS:
            return None
        try:
            answer = await self._ask(token)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            _log.warning("introspection at %s failed: %s", self.resource.introspection, error)
            return None
        return _access(token, answer, self.resource)

    async def _ask(self, token: str) -> Any:
        """The answer of the authorization server.

        Raises:
            httpx2.HTTPError: The server refuses, or does not answer.
            ValueError: The answer is too large or no JSON.
        """
        secret = httpx2.BasicAuth(self.resource.client_id, self.resource.client_secret)
        form = {"token": token, "token_type_hint": "access_token"}
        body = bytearray()
        async with (
            httpx2.AsyncClient(timeout=_SECONDS, auth=secret, follow_redirects=False) as client,
            client.stream("POST", self.resource.introspection, data=form) as response,
        ):
            response.raise_for_status()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _BYTES:
                    raise ValueError(f"the answer has more than {_BYTES} bytes")
        return httpx2.Response(200, content=bytes(body)).json()


def _access(token: str, answer: Any, resource: OAuthResource) -> AccessToken | None:
    """The access that an answer of RFC 7662 describes; `None` for none, or a malformed answer."""
    if not isinstance(answer, Mapping) or answer.get("active") is not True:
        return None
    issuer = answer.get("iss", resource.issuer)
    scope, expires, subject = (answer.get(name) for name in ("scope", "exp", "sub"))
    if not _same_url(issuer, resource.issuer):
        _log.warning("a token of another issuer was refused: %.200r", issuer)
        return None
    client = answer.get("client_id") or subject
    if not client or not isinstance(scope, str | None) or not isinstance(expires, int | None):
        _log.warning(
            "a token was refused: its introspection lacks client_id and sub, or is malformed"
        )
        return None
    return AccessToken(
        token=token,
        client_id=str(client),
        scopes=(scope or "").split(),
        expires_at=expires,
        resource=_audience(answer.get("aud"), resource.resource),
        subject=None if subject is None else str(subject),
        claims={"iss": resource.issuer},
    )


def _audience(audience: Any, wanted: str) -> str | None:
    """The audience of a token that is this server, for the SDK to compare."""
    listed = audience if isinstance(audience, list) else [audience]
    return next((one for one in listed if _same_url(one, wanted)), None)


def _same_url(one: Any, other: str) -> bool:
    return isinstance(one, str) and one.removesuffix("/") == other.removesuffix("/")


def owner_of(request: Any) -> tuple[str | None, ...]:
    """The client, issuer and person of a request's token; empty without OAuth."""
    user = getattr(request, "scope", {}).get("user")
    if not isinstance(user, AuthenticatedUser):
        return ()
    return principal_components(user.access_token)
