"""Logins in files."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from mcp.shared.auth import OAuthToken

from interpstack_mcp.oauth.settings import OAuth
from interpstack_mcp.oauth.tokens import Login, LoginFile, login_file


async def test_a_login_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = LoginFile(tmp_path / "new" / "folder" / "login.json")
    assert await file.read() is None
    before = time.time()
    login = Login(url="https://a").with_tokens(OAuthToken(access_token="a", expires_in=60))
    assert before + 60 <= (login.expires or 0) <= time.time() + 60
    await file.write(login)
    assert await file.read() == login
    assert file.remove()
    assert await file.read() is None


def names(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()]


def test_tokens_without_a_time_have_no_end() -> None:
    assert Login(url="https://a").with_tokens(OAuthToken(access_token="a")).expires is None


async def test_a_failed_write_leaves_the_old_login(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = LoginFile(tmp_path / "login.json")
    await file.write(Login(url="https://old"))

    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        await file.write(Login(url="https://new"))
    assert names(tmp_path) == ["login.json"]
    assert (await file.read() or Login(url="")).url == "https://old"


def test_each_client_at_each_server_has_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_, **__: tmp_path)
    cases = [("https://a", None), ("https://b", None), ("https://a", "me")]
    paths = {login_file(url, OAuth(client_id=client)).path for url, client in cases}
    assert len(paths) == 3
    assert all(path.is_relative_to(tmp_path / "mcp") for path in paths)
