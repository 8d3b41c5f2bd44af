"""Logins in files that only their owner can read: tokens, and where to renew them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Final

import attrs
import platformdirs
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import BaseModel, ValidationError

from interpstack_mcp.oauth.settings import OAuth

__all__ = ["Login", "LoginFile", "login_file"]

_FORM: Final = 1
_FILE_BYTES: Final = 2**20


class Login(BaseModel):
    """A login at one server.

    Attributes:
        form: The form of the file.
        url: The server's address.
        client: The client that was registered or configured.
        tokens: The tokens.
        expires: When the access token expires, in seconds since the epoch; `None` if unknown.
        authorization: The authorization server's description of itself.
        resource: The server's description of itself.
    """

    form: int = _FORM
    url: str
    client: OAuthClientInformationFull | None = None
    tokens: OAuthToken | None = None
    expires: float | None = None
    authorization: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None

    def with_tokens(self, tokens: OAuthToken) -> Login:
        """The login after new tokens came."""
        seconds = tokens.expires_in
        expires = None if seconds is None else time.time() + seconds
        return self.model_copy(update={"tokens": tokens, "expires": expires})


@attrs.frozen
class LoginFile:
    """The file of a login.

    Attributes:
        path: Its path.
    """

    path: Path

    async def read(self) -> Login | None:
        """The login; `None` if there is none, or one of another form."""
        return await asyncio.to_thread(self._read)

    async def write(self, login: Login) -> None:
        """Replace the login, as a whole."""
        await asyncio.to_thread(self._write, login.model_dump_json(exclude_none=True))

    def remove(self) -> bool:
        """Forget the login, and return whether there was one."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        return True

    def _read(self) -> Login | None:
        try:
            with self.path.open("rb") as file:
                login = Login.model_validate_json(file.read(_FILE_BYTES))
        except (FileNotFoundError, ValidationError):
            return None
        return login if login.form == _FORM else None

    def _write(self, text: str) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, made = tempfile.mkstemp(dir=self.path.parent)  # only its owner can read it
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            Path(made).replace(self.path)
        except BaseException:
            Path(made).unlink(missing_ok=True)
            raise


def login_file(url: str, oauth: OAuth) -> LoginFile:
    """The file of the logins of one client at one server, in the user's own data.

    Args:
        url: The server's address.
        oauth: The client.
    """
    named = json.dumps([url, oauth.client_id])
    digest = hashlib.sha256(named.encode()).hexdigest()[:32]
    folder = platformdirs.user_data_path("interpstack", appauthor=False)
    return LoginFile(folder / "mcp" / f"{digest}.json")
