"""States in Redis, or in a server that speaks its protocol, for any number of machines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import attrs

from interpstack import ConfigurationError
from interpstack.checks import expect
from interpstack_state.contract import (
    MAX_CLAIM_SECONDS,
    BlobStore,
    StoredBlob,
    check_claim,
    check_delete,
    check_idle,
    is_key,
)
from interpstack_state.errors import StateBusy, StateRejected, StateTaken, StoreUnavailable
from interpstack_state.per_process import PerProcess, first_line, needed

if TYPE_CHECKING:
    from redis import Redis

__all__ = ["RedisStore"]

#: Begins all scripts: the time of the server and the claim of the state, times in milliseconds.
#: Other programs may have damaged a state: an invalid time means now, and each claim ends.
_BEGIN: Final = f"""
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'hash' and kind ~= 'none' then return {{'foreign', kind}} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local token = redis.call('HGET', KEYS[1], 'token')
local function since(field)
    local passed = now - (tonumber(redis.call('HGET', KEYS[1], field)) or now)
    return math.abs(passed) <= {MAX_CLAIM_SECONDS * 1000} and passed or 0
end
local left = -since('until')
local function hold(milliseconds)
    redis.call('HSET', KEYS[1], 'token', ARGV[1], 'used', string.format('%.0f', now),
        'until', string.format('%.0f', now + milliseconds))
end
"""
_CLAIM: Final = """
if token and token ~= ARGV[1] and left > 0 then return {'busy', left, now + left} end
hold(ARGV[2])
local size = redis.call('HSTRLEN', KEYS[1], 'data')
if size > tonumber(ARGV[3]) then return {'large', size} end
return {'ok', redis.call('HGET', KEYS[1], 'data')}
"""
_RENEW: Final = """
if token ~= ARGV[1] then return {'taken'} end
hold(ARGV[2])
return {'ok'}
"""
_SAVE: Final = _RENEW.replace("hold", "redis.call('HSET', KEYS[1], 'data', ARGV[3]) hold")
_DELETE: Final = """
if not token then return {'none'} end
if token ~= ARGV[1] then return {'taken'} end
redis.call('DEL', KEYS[1])
return {'ok'}
"""
_LOOK: Final = """
if not token then return {'none'} end
return {'ok', redis.call('HSTRLEN', KEYS[1], 'data'),
    since('used'), left > 0 and 1 or 0}
"""
_EXPIRE: Final = """
if not token or left > 0 then return {'none'} end
if since('used') < tonumber(ARGV[1]) then return {'none'} end
redis.call('DEL', KEYS[1])
return {'ok'}
"""
_TIMEOUT_SECONDS: Final = 10
#: URLs whose path, except for that of a socket, is the number of a database, or empty.
_DATABASE: Final = re.compile(r"unix:.*|[a-z]+://[^/?#]*(/[0-9]*)?([?#].*)?", re.DOTALL)


@attrs.define(eq=False)
class RedisStore(BlobStore):
    """States in Redis, each in a hash.

    The server's configuration decides how durable states are. A server that evicts keys, or that
    fails over to a replica that lags behind, loses states and claims.

    Args:
        url: The server, as in `redis://host:6379/0`.
        prefix: The beginning of the keys in Redis.
        max_bytes: Bytes of the largest blob.
    """

    url: str = attrs.field(repr=False)
    prefix: str = attrs.field(default="interpstack:session:", kw_only=True)
    _client: PerProcess[Any] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        expect(self.url, str, "a RedisStore takes a URL, as in redis://host:6379/0")
        self._client = PerProcess(self._open, lambda client: client.close())

    def claim(self, key: str, token: str, seconds: float) -> bytes | None:
        check_claim(key, token, seconds)
        state, *rest = self._call(_CLAIM, key, token, _milliseconds(seconds), self.max_bytes)
        if state == b"busy":
            raise StateBusy(key, rest[0] / 1000, rest[1] / 1000)
        if state == b"large":
            self.check_size(rest[0])
        return rest[0] if rest else None

    def renew(self, key: str, token: str, seconds: float) -> None:
        check_claim(key, token, seconds)
        self._change(_RENEW, key, token, _milliseconds(seconds))

    def save(self, key: str, token: str, data: bytes, seconds: float) -> None:
        self.check_save(key, token, data, seconds)
        self._change(_SAVE, key, token, _milliseconds(seconds), data)

    def delete(self, key: str, token: str | None = None) -> bool:
        check_delete(key, token)
        if token is None:  # also if the key is not a hash, which another program has put there
            return bool(self._try(lambda client: client.delete(self.prefix + key)))
        return self._change(_DELETE, key, token) == b"ok"

    def blobs(self) -> Iterator[StoredBlob]:
        for key in self._keys():
            state, *rest = self._call(_LOOK, key)
            if state == b"ok":
                size, idle, claimed = rest
                yield StoredBlob(
                    key=key, size=size, idle_seconds=max(0.0, idle / 1000), claimed=bool(claimed)
                )

    def expire(self, idle_seconds: float) -> int:
        check_idle(idle_seconds)
        limit = _milliseconds(idle_seconds)
        return sum(self._call(_EXPIRE, key, limit)[0] == b"ok" for key in self._keys())

    def close(self) -> None:
        self._client.close()

    def _keys(self) -> Iterator[str]:
        """Keys of the states, each once."""
        pattern = "".join(f"\\{one}" if one in "*?[]\\^" else one for one in self.prefix) + "*"
        found = self._try(lambda client: set(client.scan_iter(pattern, count=1000, _type="hash")))
        keys = (key.decode("utf-8", "surrogateescape")[len(self.prefix) :] for key in found)
        yield from filter(is_key, keys)

    def _change(self, script: str, key: str, *values: Any) -> bytes:
        state: bytes = self._call(script, key, *values)[0]
        if state == b"taken":
            raise StateTaken(key)
        return state

    def _call(self, script: str, key: str, *values: Any) -> list[Any]:
        place = self.prefix + key
        found: list[Any] = self._try(
            lambda client: client.register_script(_BEGIN + script)([place], values)
        )
        if found[0] == b"foreign":
            raise StateRejected(
                f"state {key!r:.80} cannot be used: another program has put a value of the type "
                f"{found[1].decode()!r} under its key in Redis; delete the state to begin again"
            )
        return found

    def _try(self, call: Any) -> Any:
        client = self._client.get()
        from redis import RedisError

        try:
            return call(client)
        except RedisError as error:
            raise StoreUnavailable(
                f"the states in Redis cannot be used: {first_line(error)}"
            ) from error

    def _open(self) -> Redis:
        try:
            from redis import Redis
        except ImportError as error:
            raise needed("a RedisStore", "redis", error) from error
        try:
            client = Redis.from_url(
                self.url, socket_timeout=_TIMEOUT_SECONDS, socket_connect_timeout=_TIMEOUT_SECONDS
            )
            pool = client.connection_pool
            # How answers are read is the store's own matter: with text for bytes, a claim that
            # another process holds would be taken for a blob.
            pool.connection_kwargs.update(decode_responses=False, encoding="utf-8")
            # A connection refuses its options only when it is made, which is not yet opened.
            pool.connection_class(**pool.connection_kwargs)
        except (ValueError, TypeError) as error:
            # Errors of values quote parts of the URL, which may be of its password.
            raise _wrong_url(first_line(error) if isinstance(error, TypeError) else "") from error
        if not _DATABASE.fullmatch(self.url):  # the client would take database 0
            raise _wrong_url("")
        return client


def _wrong_url(reason: str) -> ConfigurationError:
    return ConfigurationError(
        "the URL of a RedisStore is not valid; it takes one as in redis://host:6379/0, with the "
        f"options of the Redis client; got {reason or 'a wrong scheme or number'}"
    )


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
