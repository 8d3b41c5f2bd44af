"""The SDK's OAuth clients, for a server of the configuration."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import attrs
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER

from interpstack_mcp.connections.causes import printable
from interpstack_mcp.oauth.settings import LoginNeeded, OAuth
from interpstack_mcp.oauth.tokens import Login, LoginFile, login_file

__all__ = ["Person", "authorized"]

_CLIENT_NAME: Final = "interpstack"
_UNAUTHORIZED, _FORBIDDEN, _TOO_MANY, _BROKEN = 401, 403, 429, 500
#: The method of PKCE that the SDK uses.
_CHALLENGE: Final = "S256"
#: Characters of a server's own words in an error.
_SHOWN_CHARS: Final = 100


@attrs.frozen
class Person:
    """The way to a person who logs in.

    Attributes:
        redirect_uri: The address to which the person's browser returns.
        show: Shows the person the page of the authorization server.
        returned: Waits for the browser to return.
    """

    redirect_uri: str
    show: Callable[[str], Awaitable[None]]
    returned: Callable[[], Awaitable[AuthorizationCodeResult]]


def authorized(
    name: str, url: str, oauth: OAuth, person: Person | None = None
) -> OAuthClientProvider:
    """The authorization of the requests to a server.

    Args:
        name: The server's name in the configuration.
        url: The server's address.
        oauth: Its settings.
        person: The person who logs in now; `None` to use an earlier login.
    """
    if oauth.needs_login:
        if person is not None:
            return _PersonLogin(url, oauth, person)
        return _StoredLogin(name, url, oauth)
    if oauth.client_id is None or oauth.client_secret is None or oauth.issuer is None:
        raise ValueError(f"the settings of {name!r} are not checked")
    # It brings cryptography along, which takes long to import.
    from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider

    return ClientCredentialsOAuthProvider(
        url,
        _Memory(),
        oauth.client_id,
        oauth.client_secret,
        issuer=oauth.issuer,
    )


@attrs.define
class _Memory:
    """Tokens of a client that gets new ones without a person."""

    _tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Never called: the client is configured."""


@attrs.define
class _StoredTokens:
    """The tokens of a login in its file.

    The SDK asks for tokens and client one by one, and knows of neither an absolute time nor the
    addresses of the authorization server, which a later process needs to renew tokens.
    """

    file: LoginFile
    login: Login

    async def restore(self) -> bool:
        """Take the login from the file, and return whether there is one."""
        found = await self.file.read()
        if found is None or found.tokens is None:
            return False
        self.login = found
        return True

    def learn(self, **addresses: Any) -> None:
        """Keep what the servers say of themselves, with the next tokens."""
        self.login = self.login.model_copy(update=addresses)

    async def get_tokens(self) -> OAuthToken | None:
        return self.login.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.login = self.login.with_tokens(tokens)
        await self.file.write(self.login)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.login.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.learn(client=client_info)


class _PersonLogin(OAuthClientProvider):
    """A client for which a person logs in now.

    The SDK asks for a login with each request that the server refuses, and connects by several
    requests. A login that has failed is not begun again: the person would see one page more.
    """

    def __init__(self, url: str, oauth: OAuth, person: Person) -> None:
        self._failure: Exception | None = None
        new = Login(url=url, client=_configured(oauth, person))
        self._stored = _StoredTokens(login_file(url, oauth), new)
        super().__init__(url, _metadata(oauth, person), self._stored, person.show, person.returned)

    async def _perform_authorization(self) -> httpx2.Request:
        if self._failure is not None:
            raise self._failure
        _check_challenges(self.context.oauth_metadata, self.context.auth_server_url)
        with self._noting_failure():
            return await super()._perform_authorization()

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        self._stored.learn(
            authorization=self.context.oauth_metadata,
            resource=self.context.protected_resource_metadata,
            client=self.context.client_info,
        )
        with self._noting_failure():
            await super()._handle_token_response(response)

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._failure = error
            raise


class _StoredLogin(OAuthClientProvider):
    """A client for which a person has logged in earlier, in this process or another one.

    The SDK's own flow asks a person as soon as the server refuses a token. This one renews the
    tokens first, once for each request, and never waits for a person.
    """

    def __init__(self, name: str, url: str, oauth: OAuth) -> None:
        self._name = name
        self._stored = _StoredTokens(login_file(url, oauth), Login(url=url))
        super().__init__(url, _metadata(oauth, None), self._stored)

    async def _auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        refused, renewed = "", False
        while not renewed:
            async with self.context.lock:
                self.context.protocol_version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER)
                if not self._may_use_another_than(refused):
                    await self._restore()  # another process may have renewed the tokens
                if not self._may_use_another_than(refused):
                    if not self.context.can_refresh_token():
                        raise self._needed()
                    await self._renew((yield await self._refresh_token()))
                    renewed = True
                self._add_auth_header(request)
                sent = self._access_token
            response = yield request
            if response.status_code == _FORBIDDEN:
                _check_scope(response)
            if response.status_code != _UNAUTHORIZED:
                return
            refused = sent
        raise self._needed()

    @property
    def _access_token(self) -> str:
        tokens = self.context.current_tokens
        return "" if tokens is None else tokens.access_token

    def _may_use_another_than(self, refused: str) -> bool:
        return self.context.is_token_valid() and self._access_token != refused

    async def _restore(self) -> None:
        """Take the login from the file.

        Raises:
            LoginNeeded: There is none.
        """
        if not await self._stored.restore():
            raise self._needed()
        login = self._stored.login
        self.context = replace(
            self.context,
            oauth_metadata=login.authorization,
            protected_resource_metadata=login.resource,
            token_expiry_time=login.expires,
        )
        await self._initialize()

    async def _renew(self, response: httpx2.Response) -> None:
        """Take the new tokens.

        Raises:
            OAuthFlowError: The authorization server cannot renew them at the moment.
            LoginNeeded: It does not renew them.
        """
        if response.status_code >= _BROKEN or response.status_code == _TOO_MANY:
            raise OAuthFlowError(
                f"the login could not be renewed, because the authorization server answers HTTP "
                f"{response.status_code}; try again later"
            )
        try:
            await response.aread()
        except httpx2.StreamError as error:
            raise OAuthFlowError(f"the login could not be renewed: {error}") from error
        if not await self._handle_refresh_response(response):
            raise self._needed()

    def _needed(self) -> LoginNeeded:
        return LoginNeeded(
            f"a person has to log in first; run: interpstack mcp login FILE {self._name}"
        )


def _check_challenges(server: OAuthMetadata | None, named: str | None) -> None:
    """Refuse an authorization server that does not say that it checks the challenges of PKCE.

    The MCP specification (since 2025-11-25, Authorization Code Protection) demands so. Servers of
    the version 2025-03-26, which name no authorization server, may have no metadata at all; their
    clients go on.

    Args:
        server: The metadata of the authorization server; `None` if none could be read.
        named: The authorization server that the MCP server names; `None` if it names none.

    Raises:
        OAuthFlowError: The metadata lack the challenges that the SDK sends, or must be there.
    """
    if server is None and named is None:
        return
    methods = None if server is None else server.code_challenge_methods_supported
    if _CHALLENGE in (methods or ()):
        return
    said = "is missing" if methods is None else f"is {json.dumps(methods)[:_SHOWN_CHARS]}"
    why = f"code_challenge_methods_supported {said} in its metadata"
    if server is None:
        why = "it has no metadata that can be read"
    raise OAuthFlowError(
        f"the authorization server {named if server is None else server.issuer} does not say that "
        f"it supports PKCE with {_CHALLENGE}: {why}, and without it a login code could be stolen, "
        "so the MCP specification forbids the login; ask the operator to add it, or pass a token "
        "under 'headers' in the configuration"
    )


def _check_scope(response: httpx2.Response) -> None:
    """Name the scope that a login lacks.

    Raises:
        OAuthFlowError: The server asks for a scope.
    """
    if extract_field_from_www_auth(response, "error") == "insufficient_scope":
        scope = printable(extract_scope_from_www_auth(response) or "")[:_SHOWN_CHARS]
        raise OAuthFlowError(f"the login lacks the scope {scope}".rstrip())


def _configured(oauth: OAuth, person: Person | None) -> OAuthClientInformationFull | None:
    """The client of the configuration; `None` for one that registers itself."""
    if oauth.client_id is None:
        return None
    return OAuthClientInformationFull.model_validate(
        {
            **_metadata(oauth, person).model_dump(mode="json", exclude_none=True),
            "client_id": oauth.client_id,
            "client_secret": oauth.client_secret,
        }
    )


def _metadata(oauth: OAuth, person: Person | None) -> OAuthClientMetadata:
    secret = "none" if oauth.client_secret is None else "client_secret_basic"
    return OAuthClientMetadata.model_validate(
        {
            "client_name": _CLIENT_NAME,
            "redirect_uris": None if person is None else [person.redirect_uri],
            "token_endpoint_auth_method": secret,
        }
    )
