"""The session that ends when another one is too many."""

from __future__ import annotations

import asyncio
from typing import Any

from interpstack_mcp.serving.wire.sessions import BoundedSessions

HEADER = b"mcp-session-id"


class _Served:
    """An application with sessions; requests of the path `/slow` wait until they may end."""

    def __init__(self, most: int) -> None:
        self.busy: set[str] = set()
        self.ended: list[tuple[str, Any]] = []
        self.may_end = asyncio.Event()
        self.sessions = BoundedSessions(most, self.busy.__contains__, self._end, self._app)
        self._count = 0

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/slow":
            await self.may_end.wait()
        name = dict(scope["headers"]).get(HEADER)
        if name is None:
            self._count += 1
            name = f"s{self._count}".encode()
            scope["user"] = f"user of {name.decode()}"
        headers = [(HEADER, name)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _end(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["method"] == "DELETE"
        headers = dict(scope["headers"])
        assert headers[b"host"] == b"localhost"
        self.ended.append((headers[HEADER].decode(), scope["user"]))

    async def request(self, session: str = "", method: str = "POST", path: str = "/mcp") -> None:
        headers = [(HEADER, session.encode())] if session else []
        scope = {"type": "http", "method": method, "path": path, "headers": headers}

        async def nothing(*_: Any) -> Any:
            return None

        await self.sessions(scope, nothing, nothing)

    async def begin(self) -> list[str]:
        """Begin a session, and return those that have ended until then."""
        await self.sessions.make_room("localhost")
        await self.request()
        return [name for name, _ in self.ended]


async def test_the_session_idle_longest_ends_for_its_own_user() -> None:
    served = _Served(2)
    assert await served.begin() == await served.begin() == []
    await served.request("s1")
    assert await served.begin() == ["s2"]
    assert served.ended == [("s2", "user of s2")]
    assert await served.begin() == ["s2", "s1"]


async def test_a_session_with_an_open_request_or_running_code_does_not_end() -> None:
    served = _Served(2)
    await served.begin()
    await served.begin()
    open_request = asyncio.ensure_future(served.request("s1", path="/slow"))
    await asyncio.sleep(0)
    served.busy.add("s2")
    assert await served.begin() == []
    served.busy.clear()
    assert await served.begin() == ["s2", "s3"]
    served.may_end.set()
    await open_request


async def test_a_session_with_a_stream_of_events_ends_after_those_without_one() -> None:
    served = _Served(2)
    await served.begin()
    await served.begin()
    stream = asyncio.ensure_future(served.request("s1", method="GET", path="/slow"))
    await asyncio.sleep(0)
    assert await served.begin() == ["s2"]
    assert await served.begin() == ["s2", "s3"]
    stream.cancel()
    await asyncio.gather(stream, return_exceptions=True)


async def test_a_session_that_its_client_ends_leaves_room() -> None:
    served = _Served(2)
    await served.begin()
    await served.begin()
    await served.request("s2", method="DELETE")
    assert await served.begin() == []
