"""A server whose clients need OAuth, with an authorization server of its own.

Run as `python guarded_server.py PORT GRANT`. With the grant `authorization_code`, a client logs in
as a person who agrees at once; with `client_credentials`, the client `machine` has the secret
`hidden`. Each token that is given out is noted in the file that `MCP_NOTES` names. A request to
`/forget` ends all access tokens, and one to `/forget?all` whole logins. A request to
`/change?token=503` lets `/token` answer with that status, one to `/change?challenges=["plain"]`
changes `code_challenge_methods_supported` in the metadata (`null` leaves it out), one to
`/change?metadata=404` answers with that status in their place, and one to `/change` undoes all.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import sys
import time
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

_METADATA = "/.well-known/oauth-authorization-server"


def note(text: str) -> None:
    with Path(os.environ["MCP_NOTES"]).open("a") as file:
        file.write(f"{text}\n")


class People:
    """Codes and tokens of people who log in, in memory."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        note("registered")
        self.clients[client_info.client_id or ""] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        back = str(params.redirect_uri)
        code = AuthorizationCode(
            code=secrets.token_urlsafe(),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id or "",
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(back, code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        note("logged in")
        return self._tokens(client.client_id or "", authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refresh[refresh_token.token]
        note("renewed")
        return self._tokens(client.client_id or "", refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def _tokens(self, client: str, resource: str | None) -> OAuthToken:
        access = AccessToken(
            token=secrets.token_urlsafe(), client_id=client, scopes=[], resource=resource
        )
        refresh = RefreshToken(
            token=secrets.token_urlsafe(), client_id=client, scopes=[], resource=resource
        )
        self.access[access.token], self.refresh[refresh.token] = access, refresh
        return OAuthToken(access_token=access.token, refresh_token=refresh.token, expires_in=3600)


class Changed:
    """A server whose answers are changed in a few places."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.changes: dict[str, str] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path")
        if path == "/change":
            self.changes = dict(Request(scope).query_params)
            await JSONResponse({})(scope, receive, send)
        elif path == "/token" and "token" in self.changes:
            status = int(self.changes["token"])
            await JSONResponse({"error": "invalid_grant"}, status)(scope, receive, send)
        elif path == _METADATA and "metadata" in self.changes:
            await JSONResponse({}, int(self.changes["metadata"]))(scope, receive, send)
        elif path == _METADATA and "challenges" in self.changes:
            await JSONResponse(await self._metadata(scope, receive))(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _metadata(self, scope: Any, receive: Any) -> Any:
        body = b""

        async def take(message: Any) -> None:
            nonlocal body
            body += message.get("body", b"")

        await self.app(scope, receive, take)
        field = "code_challenge_methods_supported"
        found = {**json.loads(body), field: json.loads(self.changes["challenges"])}
        return {name: value for name, value in found.items() if value is not None}


class Machines:
    """Tokens of a client that has a secret."""

    def __init__(self) -> None:
        self.access: set[str] = set()

    async def verify_token(self, token: str) -> AccessToken | None:
        known = token in self.access
        return AccessToken(token=token, client_id="machine", scopes=[]) if known else None

    async def token(self, request: Request) -> Response:
        given = await request.form()
        expected = base64.b64encode(b"machine:hidden").decode()
        if request.headers.get("authorization") != f"Basic {expected}":
            return JSONResponse({"error": "invalid_client"}, 401)
        if given.get("grant_type") != "client_credentials":
            return JSONResponse({"error": "unsupported_grant_type"}, 400)
        note("let in")
        token = secrets.token_urlsafe()
        self.access.add(token)
        return JSONResponse({"access_token": token, "token_type": "Bearer", "expires_in": 3600})


def made(port: int, grant: str) -> MCPServer:
    own = f"http://127.0.0.1:{port}"
    settings: dict[str, Any] = {"issuer_url": own, "resource_server_url": f"{own}/mcp"}
    if grant == "authorization_code":
        options = ClientRegistrationOptions(enabled=True)
        auth = AuthSettings(
            **settings, validate_token_resource=True, client_registration_options=options
        )
        people = People()
        server = MCPServer("guarded", auth=auth, auth_server_provider=people)

        async def forget(request: Request) -> Response:
            people.access.clear()
            if "all" in request.query_params:
                people.refresh.clear()
            return JSONResponse({})

        server.custom_route("/forget", ["POST"])(forget)
        return server
    machines = Machines()
    auth = AuthSettings(**settings, validate_token_resource=False)
    server = MCPServer("guarded", auth=auth, token_verifier=machines)

    async def metadata(_: Request) -> Response:
        return JSONResponse(
            {
                "issuer": own,
                "authorization_endpoint": f"{own}/authorize",
                "token_endpoint": f"{own}/token",
                "response_types_supported": ["code"],
            }
        )

    server.custom_route(_METADATA, ["GET"])(metadata)
    server.custom_route("/token", ["POST"])(machines.token)
    return server


def main() -> None:
    port = int(sys.argv[1])
    server = made(port, sys.argv[2])

    @server.tool()
    def whoami() -> str:
        """Tell who asks."""
        return "somebody who is allowed to"

    uvicorn.run(Changed(server.streamable_http_app()), port=port)


if __name__ == "__main__":
    main()
