"""Redis: keys under a prefix, and errors that say what failed."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_state import RedisStore, StateBusy, StateRejected, StoreUnavailable


def test_prefixes_keep_programs_apart(redis_server: Any) -> None:
    with (
        RedisStore(redis_server.url, prefix="apart-1:") as one,
        RedisStore(redis_server.url, prefix="apart-?:") as other,
    ):
        one.claim("a", "one", 9)
        assert other.claim("a", "two", 9) is None
        assert [found.key for found in one.blobs()] == ["a"]
        assert [found.key for found in other.blobs()] == ["a"]


def test_keys_of_other_programs_are_no_states(redis_server: Any) -> None:
    from redis import Redis

    with Redis.from_url(redis_server.url) as client:
        client.set("other:list", "text")
        client.hset("other:hash", "data", "text")
    with RedisStore(redis_server.url, prefix="other:") as store:
        for use in (store.claim, store.renew):
            with pytest.raises(StateRejected, match="a value of the type 'string' under its key"):
                use("list", "one", 9)
        with pytest.raises(StateRejected, match="delete the state to begin again"):
            store.delete("list", "one")
        assert not store.delete("hash", "one")
        assert [*store.blobs()] == []
        assert store.delete("list")
        assert store.claim("list", "one", 9) is None


def test_a_server_that_is_away_is_an_error_of_the_store() -> None:
    store = RedisStore("redis://:hunter2@127.0.0.1:1/0")
    with pytest.raises(StoreUnavailable, match="the states in Redis cannot be used") as caught:
        store.claim("a", "one", 9)
    assert "hunter2" not in str(caught.value) + repr(store)


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'interpstack\[redis\]'"):
        RedisStore("redis://nowhere").claim("a", "one", 9)


def test_a_wrong_url_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="takes a URL, as in redis://host:6379/0"):
        RedisStore(6379)  # type: ignore[arg-type]


@pytest.mark.parametrize("database", ["main", "1/2", "-1"])
def test_a_path_that_is_no_number_of_a_database_is_refused(database: str) -> None:
    with pytest.raises(ConfigurationError, match="a wrong scheme or number"):
        RedisStore(f"redis://nowhere:1/{database}").claim("a", "one", 9)


@pytest.mark.parametrize("option", ["decode_responses=True", "encoding=utf-16"])
def test_options_of_texts_do_not_change_what_a_store_reads(redis_server: Any, option: str) -> None:
    separator = "&" if "?" in redis_server.url else "?"
    with RedisStore(f"{redis_server.url}{separator}{option}", prefix=f"{option}:") as store:
        for blob in (b"text", b"\xff"):
            store.claim("a", "one", 9)
            store.save("a", "one", blob, 9)
            with pytest.raises(StateBusy):
                store.claim("a", "two", 9)
            assert store.claim("a", "one", 9) == blob
            assert [found.key for found in store.blobs()] == ["a"]


@pytest.mark.parametrize(
    ("field", "value"),
    [("until", "inf"), ("until", "nan"), ("until", "1e18"), ("used", "text"), ("used", "")],
)
def test_a_damaged_state_hides_no_other(redis_server: Any, field: str, value: str) -> None:
    from redis import Redis

    prefix = f"damaged-{field}-{value}:"
    with (
        RedisStore(redis_server.url, prefix=prefix) as store,
        Redis.from_url(redis_server.url) as client,
    ):
        for key in ("good", "bad"):
            store.claim(key, "one", 0)
        client.hset(f"{prefix}bad", field, value)
        client.hset(prefix.encode() + b"\xff", "token", "text")
        client.set(f"{prefix}text", "text")
        assert {one.key: one.claimed for one in store.blobs()} == {"good": False, "bad": False}
        assert store.claim("bad", "other", 0) is None
        assert store.expire(0) == 2


@pytest.mark.parametrize(
    "url",
    ["http://x", "redis://h:port/x", "redis://h:6379/0?nope=1", "redis://h:99999999999/0?db=x"],
)
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="the URL of a RedisStore is not valid"):
        RedisStore(url).claim("a", "one", 9)
