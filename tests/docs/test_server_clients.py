"""The example server: clients that leave, approve, ask too often, or are somebody else."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import attrs
import httpx
import pytest
from example_servers import Server, Servers
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

pytestmark = pytest.mark.timeout(900)  # workers start beside other tests


@attrs.frozen
class Place:
    """Two servers of one database, and what their tools have noted."""

    servers: Servers
    first: Server
    second: Server

    def effects(self, talk: str) -> list[str]:
        """The effects of a conversation, in order."""
        noted = (line.partition(" ") for line in self.servers.effects())
        return [what for where, _, what in noted if where == talk]

    def held(self, talk: str) -> int:
        """How many calls that wait for `release` a conversation has made."""
        log = self.servers.folder / "effects.held"
        lines = log.read_text().splitlines() if log.exists() else []
        return sum(json.loads(line)["what"] == talk for line in lines)

    async def wait_until_held(self, talk: str) -> None:
        while not self.held(talk):  # noqa: ASYNC110 - of another process, no event tells
            await asyncio.sleep(0.02)

    def release(self, talk: str) -> None:
        (self.servers.folder / f"effects.release-{talk}").touch()


@pytest.fixture(scope="module")
def started(
    request: pytest.FixtureRequest, postgres: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    settings = getattr(request, "param", {})
    with Servers.at(postgres.new_database(), tmp_path_factory.mktemp("servers")) as servers:
        first, second = servers.start(1, **settings), servers.start(1, **settings)
        for server in (first, second):
            server.wait()
        yield Place(servers, first, second)
        for server in (first, second):
            server.end()


@pytest.fixture
def place(started: Place) -> Place:
    return started


def _held(talk: str) -> str:
    """Code whose call in the middle ends when the test says so."""
    return f"""
    await tools.note({{what: "{talk} before"}});
    await tools.hold({{what: "{talk}"}});
    await tools.note({{what: "{talk} after"}});
    """


def _turn(number: int, code: str) -> dict[str, str]:
    return {"id": str(number), "text": json.dumps([code])}


@asynccontextmanager
async def _client(server: Server, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, timeout=60, headers=headers) as client:
        yield client


async def _count_cancelled(client: httpx.AsyncClient) -> float:
    """How many turns have ended as cancelled."""
    metrics = (await client.get("/metrics")).text
    found = re.search(r'agent_turns_total\{end="cancelled"\} (\S+)', metrics)
    return float(found[1]) if found else 0


async def _wait_for_cancel(client: httpx.AsyncClient, before: float) -> None:
    """Wait until another turn has ended as cancelled."""
    while await _count_cancelled(client) == before:  # noqa: ASYNC110 - of another process
        await asyncio.sleep(0.02)


def _socket(server: Server, thread: str, **options: Any) -> connect:
    return connect(f"{server.url.replace('http', 'ws')}/threads/{thread}/live", **options)


async def _until(socket: ClientConnection, *events: str) -> dict[str, Any]:
    """The first of these events; what comes before is progress."""
    while (message := json.loads(await socket.recv()))["event"] not in events:
        assert message["event"] == "progress"
    return message


async def test_a_client_of_events_that_leaves_cancels_its_turn(place: Place) -> None:
    turn = _turn(1, _held("events"))
    async with _client(place.first) as client:
        before = await _count_cancelled(client)
        headers = {"Accept": "text/event-stream"}
        async with client.stream("POST", "/threads/events/turns", json=turn, headers=headers):
            await place.wait_until_held("events")
        await _wait_for_cancel(client, before)
        assert (await client.get("/threads/events")).json()["unfinished"] == "1"
        place.release("events")
        answer = await client.post("/threads/events/turns", json=turn)
        assert answer.json() == {"answer": "done"}
        assert (await client.get("/threads/events")).json()["unfinished"] is None
    # The call that was recorded was not made again, the cancelled one was.
    assert (place.effects("events"), place.held("events")) == (["before", "after"], 2)


async def test_a_client_that_waits_for_no_events_leaves_its_turn_running(place: Place) -> None:
    turn = _turn(1, _held("plain"))
    async with _client(place.first) as client:
        asked = asyncio.create_task(client.post("/threads/plain/turns", json=turn))
        await place.wait_until_held("plain")
        asked.cancel()
        await asyncio.wait({asked})
        place.release("plain")
        answer = await client.post("/threads/plain/turns", json=turn)
        assert answer.json() == {"answer": "done"}
    assert (place.effects("plain"), place.held("plain")) == (["before", "after"], 1)


@pytest.mark.parametrize("end", ["leaves", "stops"])
async def test_a_socket_that_leaves_or_stops_cancels_its_turn(place: Place, end: str) -> None:
    turn = json.dumps(_turn(1, _held(end)))
    async with _client(place.first) as client:
        before = await _count_cancelled(client)
        async with _socket(place.first, end) as socket:
            await socket.send("{}")
            assert "send a turn" in (await _until(socket, "error"))["data"]["detail"]
            await socket.send(turn)
            await place.wait_until_held(end)
            await socket.send(json.dumps(_turn(2, "2")))
            assert "a turn runs" in (await _until(socket, "error"))["data"]["detail"]
            if end == "stops":
                await socket.send(json.dumps({"stop": True}))
                await _until(socket, "stopped")
        await _wait_for_cancel(client, before)
        place.release(end)
        async with _socket(place.second, end) as socket:
            await socket.send(turn)
            assert await _until(socket, "answer") == {"event": "answer", "data": {"answer": "done"}}
    assert (place.effects(end), place.held(end)) == (["before", "after"], 2)


async def test_a_turn_asks_and_continues_in_another_server(place: Place) -> None:
    buys = "for (const what of ['a boat', 'a car']) await tools.buy({what})"
    async with _client(place.first) as one, _client(place.second) as two:
        asked = (await one.post("/threads/t/turns", json=_turn(1, buys))).json()
        (question,) = asked["questions"]
        assert question["value"]["action_requests"][0]["args"] == {"what": "a boat"}
        assert (await two.get("/threads/t")).json()["questions"] == [question]
        assert (await two.post("/threads/t/turns", json=_turn(1, buys))).json() == asked
        other = await two.post("/threads/t/turns", json=_turn(2, "2"))
        assert (other.status_code, "waits for answers" in other.text) == (409, True)
        approve = {"decisions": [{"type": "approve"}]}

        async def answers(given: dict[str, Any]) -> httpx.Response:
            return await two.post("/threads/t/answers", json={"answers": given})

        unknown = await answers({"nothing": approve})
        assert (unknown.status_code, "'nothing'" in unknown.text) == (409, True)
        unfit = await answers({question["id"]: {"decisions": []}})
        assert unfit.status_code == 409
        assert place.effects("bought") == []
        (next_question,) = (await answers({question["id"]: approve})).json()["questions"]
        assert next_question["value"]["action_requests"][0]["args"] == {"what": "a car"}
        # The same answer once more: its question is no longer open.
        assert (await answers({question["id"]: approve})).status_code == 409
        assert place.effects("bought") == ["a boat"]
        edited = {"name": "buy", "args": {"what": "a bike"}}
        done = await answers(
            {next_question["id"]: {"decisions": [{"type": "edit", "edited_action": edited}]}}
        )
        assert done.json() == {"answer": "done"}
        assert (await two.get("/threads/t")).json()["questions"] == []
        metrics = (await one.get("/metrics")).text
    assert place.effects("bought") == ["a boat", "a bike"]
    assert 'agent_turns_total{end="asked"}' in metrics


async def test_the_page_comes_from_the_server_and_other_pages_may_not_use_its_socket(
    place: Place,
) -> None:
    server = place.first
    async with _client(server) as client:
        page = (await client.get("/")).text
        assert "default-src 'none'" in page
        for name in ("talk.js", "talk.css"):
            assert (name in page, (await client.get(f"/{name}")).status_code) == (True, 200)
    with pytest.raises(InvalidStatus, match="403"):
        await _socket(server, "t", origin="https://elsewhere.example").__aenter__()
    async with _socket(server, "t", origin=server.url):
        pass


@pytest.mark.parametrize(
    "started", [{"USER_HEADER": "X-User", "TURNS_PER_MINUTE": "2"}], indirect=True, ids=["users"]
)
async def test_users_have_threads_and_limits_of_their_own(started: Place) -> None:
    first, second = started.first, started.second
    async with _client(first) as nobody, _client(second, **{"X-User": "ann"}) as ann:
        refused = await nobody.post("/threads/t/turns", json=_turn(1, "1"))
        assert (refused.status_code, "X-User" in refused.text) == (401, True)
        with pytest.raises(InvalidStatus, match="401"):
            await _socket(first, "t").__aenter__()
        for number in (1, 2):
            assert (await ann.post("/threads/t/turns", json=_turn(number, "1"))).is_success
        # Another server counts the same turns.
        async with _client(first, **{"X-User": "ann"}) as elsewhere:
            late = await elsewhere.post("/threads/t/turns", json=_turn(3, "1"))
            assert (late.status_code, late.headers["retry-after"]) == (429, "30")
            assert "2 turns a minute" in late.text
        async with _socket(first, "t", additional_headers={"X-User": "ann"}) as socket:
            await socket.send(json.dumps(_turn(3, "1")))
            assert (await _until(socket, "error"))["data"]["wait"] == 30
        async with _client(first, **{"X-User": "bob"}) as bob:
            assert (await bob.get("/threads/t")).json()["messages"] == []
            assert (await bob.post("/threads/t/turns", json=_turn(1, "1"))).is_success
        metrics = (await nobody.get("/metrics")).text
    assert "agent_turns_limited_total 2.0" in metrics
