"""The SDK's OAuth clients, for a server of the configuration."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from typing import Any, Final

import attrs
import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

from interpstack_mcp.oauth.settings import LoginNeeded, OAuth
from interpstack_mcp.oauth.tokens import Login, LoginFile, login_file

__all__ = ["Person", "authorized"]

_CLIENT_NAME: Final = "interpstack"


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
        return _StoredLogin(name, url, oauth, person)
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


class _StoredLogin(OAuthClientProvider):
    """A client for which a person has logged in, in this process or an earlier one."""

    def __init__(self, name: str, url: str, oauth: OAuth, person: Person | None) -> None:
        self._name, self._person = name, person
        new = Login(url=url, client=_configured(oauth, person))
        self._stored = _StoredTokens(login_file(url, oauth), new)
        super().__init__(
            url,
            _metadata(oauth, person),
            self._stored,
            None if person is None else person.show,
            None if person is None else person.returned,
        )

    def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if not self.context.is_token_valid():
            self._initialized = False  # another process may have renewed the tokens
        return super().async_auth_flow(request)

    async def _initialize(self) -> None:
        if self._person is None:
            if not await self._stored.restore():
                raise self._needed()
            login = self._stored.login
            self.context = replace(
                self.context,
                oauth_metadata=login.authorization,
                protected_resource_metadata=login.resource,
                token_expiry_time=login.expires,
            )
        await super()._initialize()

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        self._stored.learn(
            authorization=self.context.oauth_metadata,
            resource=self.context.protected_resource_metadata,
            client=self.context.client_info,
        )
        await super()._handle_token_response(response)

    async def _perform_authorization(self) -> httpx2.Request:
        if self._person is None:
            raise self._needed()
        return await super()._perform_authorization()

    def _needed(self) -> LoginNeeded:
        return LoginNeeded(
            f"a person has to log in first; run: interpstack mcp login FILE {self._name}"
        )


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
